"""A Socket.IO client on strings, as peer.mjs is, with Python's client."""

import json
import os
import sys
import threading

import socketio

lock = threading.Lock()
client = socketio.Client(reconnection=False)
answers = 0
where = "/"


def say(what):
    with lock:
        sys.stdout.write(json.dumps(what) + "\n")
        sys.stdout.flush()


def connect(told):
    global where
    url, _, path = told["url"].rpartition("/")
    where = "/" + path
    client.on("connect", lambda: say({"connected": True}), namespace=where)
    client.on("connect_error", lambda why=None: say({"connect_error": (why or {}).get("message", "")}), namespace=where)
    client.on("disconnect", lambda reason=None: say({"disconnected": str(reason)}), namespace=where)
    client.on("*", lambda event, data=None: say({"event": event, "data": data}), namespace=where)
    try:
        client.connect(url, auth=told["auth"], namespaces=[where], transports=told.get("transports"), wait_timeout=60)
    except socketio.exceptions.ConnectionError:
        pass


def emit(args):
    global answers
    number = answers
    answers += 1
    data = args[1] if len(args) == 2 else tuple(args[1:])
    client.emit(args[0], data, namespace=where, callback=lambda answer=None: say({"answer": number, "data": answer}))


for line in sys.stdin:
    for what, data in json.loads(line).items():
        if what == "connect":
            connect(data)
        elif what == "emit":
            for args in data:
                emit(args)
        elif what == "disconnect":
            client.disconnect()
os._exit(0)
