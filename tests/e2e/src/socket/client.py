"""The same as client.mjs, with Python's client."""

import json
import os
import sys
import threading

import socketio

lock = threading.Lock()
client = socketio.Client(reconnection=False)
answers = 0
namespace = "/"


def send(message):
    with lock:
        sys.stdout.write(json.dumps(message) + "\n")
        sys.stdout.flush()


def connect(options):
    global namespace
    url, _, path = options["url"].rpartition("/")
    namespace = "/" + path
    client.on("connect", lambda: send({"connected": True}), namespace=namespace)
    client.on("connect_error", lambda why=None: send({"connect_error": (why or {}).get("message", "")}), namespace=namespace)
    client.on("disconnect", lambda reason=None: send({"disconnected": str(reason)}), namespace=namespace)
    client.on("*", lambda event, data=None: send({"event": event, "data": data}), namespace=namespace)
    try:
        client.connect(url, auth=options["auth"], namespaces=[namespace], transports=options.get("transports"), wait_timeout=60)
    except socketio.exceptions.ConnectionError:
        pass


def emit(args):
    global answers
    number = answers
    answers += 1
    data = args[1] if len(args) == 2 else tuple(args[1:])
    client.emit(args[0], data, namespace=namespace, callback=lambda answer=None: send({"answer": number, "data": answer}))


for line in sys.stdin:
    for name, data in json.loads(line).items():
        if name == "connect":
            connect(data)
        elif name == "emit":
            for args in data:
                emit(args)
        elif name == "disconnect":
            client.disconnect()
os._exit(0)
