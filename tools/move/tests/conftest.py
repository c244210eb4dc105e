"""A Redis, the scripts as processes, and a proxy that acts between Tenure's answer and its receipt."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path

import pytest
from tenure.testing import Server

TOOLS = Path(__file__).resolve().parent.parent
PACKAGES = Path(os.environ["MOVE_PACKAGES"])
START_SECONDS_MAX = 30
DATABASES = count()


@pytest.fixture
def tenure():
    """With the time of the machine, which the times of moved jobs refer to."""
    with Server(store="embedded") as server:
        yield server


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("redis")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    command = ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        wait_for(lambda: accepts(port))
        yield f"redis://127.0.0.1:{port}"
        process.kill()


@pytest.fixture
def redis_url(redis_server):
    """A database of Redis for this test alone."""
    return f"{redis_server}/{next(DATABASES)}"


def accepts(port):
    try:
        socket.create_connection(("127.0.0.1", port)).close()
    except OSError:
        return False
    return True


def wait_for(condition):
    deadline = time.monotonic() + START_SECONDS_MAX
    while not (value := condition()):
        assert time.monotonic() < deadline, "condition not met in time"
        time.sleep(0.02)
    return value


class Proxy(ThreadingHTTPServer):
    """Forwards requests. `action` runs after the n-th answer of the server, before the script receives it."""

    def __init__(self, target, nth, action):
        super().__init__(("127.0.0.1", 0), Forward)
        self.target, self.nth, self.action = target, nth, action
        self.answered = count(1)
        self.url = f"http://127.0.0.1:{self.server_port}"
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Forward(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        headers = {name: value for name, value in self.headers.items() if name.lower() not in ("host", "connection")}
        request = urllib.request.Request(self.server.target + self.path, body, headers, method="POST")
        try:
            answer = urllib.request.urlopen(request)
        except urllib.error.HTTPError as error:
            answer = error
        with answer:
            content = answer.read()
        if next(self.server.answered) == self.server.nth:
            self.server.action()
        self.send_response(answer.status)
        self.send_header("content-type", answer.headers["content-type"])
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        pass


class Script:
    """One of the scripts with its options, to be run any number of times."""

    def __init__(self, name, *options, packages=PACKAGES):
        program = sys.executable if name.endswith(".py") else "node"
        self.command = [program, str(TOOLS / name), *options]
        self.folder, self.environment = packages, {}

    def start(self, tenure, *more):
        environment = {**os.environ, **self.environment, "TENURE_URL": tenure}
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        return subprocess.Popen([*self.command, *more], cwd=self.folder, env=environment, **pipes)

    def run(self, tenure, *more):
        """The exit code, the summary, and the reason for each job that stays."""
        process = self.start(tenure, *more)
        output, errors = process.communicate(timeout=60)
        lines = [line.removeprefix("left ") for line in errors.splitlines() if line.startswith("left ")]
        return process.returncode, output.strip() or errors, dict(line.split(": ", 1) for line in lines)

    def run_and_interfere(self, tenure, nth, action):
        """Like `run`, through a proxy; `action` gets the process."""
        with Proxy(tenure, nth, lambda: action(process)) as proxy:
            process = self.start(proxy.url)
            _, errors = process.communicate(timeout=60)
            proxy.shutdown()
        return process.returncode, errors
