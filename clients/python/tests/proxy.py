"""A TCP proxy between client and server that can cut connections, and drop, double or replace answers by rule."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit


@dataclass
class Seen:
    """A request as the proxy saw it."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any

    def verbs(self) -> list[str]:
        return [report["verb"] for report in self.body["reports"]] if self.path == "/api/reports" else []


Rule = Callable[[Seen], str | bytes | None]
"""What happens to a request: `None` (passes), `lose` (the server gets it, its answer is lost), `refuse` (the connection
closes before the server gets it), `double` (the server gets it twice), or the bytes of an answer."""


@dataclass
class Proxy:
    target: str
    rule: Rule = lambda _: None
    seen: list[Seen] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._is_cut = False
        self._changed = threading.Condition()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Proxy:
        return self

    def __exit__(self, *_: object) -> None:
        self.cut()
        self._listener.close()

    def cut(self) -> None:
        """No request is answered from now on, including those in flight."""
        with self._changed:
            self._is_cut = True
            self._changed.notify_all()

    def heal(self) -> None:
        with self._changed:
            self._is_cut = False
            self._changed.notify_all()

    def until(self, condition: Callable[[list[Seen]], Any], timeout: float = 20.0) -> Any:
        """Waits until the requests so far satisfy the condition, and returns its value."""
        with self._changed:
            assert self._changed.wait_for(lambda: condition(self.seen), timeout), [each.path for each in self.seen]
            return condition(self.seen)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError, ValueError), connection, connection.makefile("rb") as reader:
            while (message := read_message(reader)) is not None:
                head, body = message
                lines = head.decode().split("\r\n")
                method, path, _ = lines[0].split(" ")
                headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines[1:] if line)}
                is_json = headers.get("content-type") == "application/json"
                seen = Seen(method, path, headers, json.loads(body) if is_json else body)
                with self._changed:
                    self.seen.append(seen)
                    self._changed.notify_all()
                    is_cut = self._is_cut
                action = "refuse" if is_cut else self.rule(seen)
                if not self._act(action, connection, head + b"\r\n\r\n" + body):
                    return

    def _act(self, action: str | bytes | None, connection: socket.socket, request: bytes) -> bool:
        if action == "refuse":
            return False
        if isinstance(action, bytes):
            connection.sendall(action)
            return True
        if action == "double":
            self._forward(request, None)
        return self._forward(request, None if action == "lose" else connection) and action != "lose"

    def _forward(self, request: bytes, connection: socket.socket | None) -> bool:
        """Passes a request to the server and its answer back, in pieces; false if the connection was cut."""
        address = urlsplit(self.target)
        head, _, rest = request.partition(b"\r\n\r\n")
        head = b"\r\n".join(line for line in head.split(b"\r\n") if not line.lower().startswith(b"connection:"))
        with socket.create_connection((address.hostname, address.port or 80)) as upstream:
            upstream.sendall(head + b"\r\nconnection: close\r\n\r\n" + rest)
            threading.Thread(target=self._close_when_cut, args=(upstream,), daemon=True).start()
            is_first = True
            while piece := upstream.recv(65536):
                if self._is_cut:
                    return False
                if connection is not None:
                    # The connection to the client stays open.
                    piece = piece.replace(b"connection: close\r\n", b"", 1) if is_first else piece
                    connection.sendall(piece)
                is_first = False
        return not self._is_cut and not is_first

    def _close_when_cut(self, upstream: socket.socket) -> None:
        with self._changed:
            while not self._is_cut and upstream.fileno() >= 0:
                self._changed.wait(0.1)
        with contextlib.suppress(OSError):
            upstream.shutdown(socket.SHUT_RDWR)


def read_message(reader: Any) -> tuple[bytes, bytes] | None:
    lines = []
    while (line := reader.readline()) not in (b"\r\n", b""):
        lines.append(line.rstrip(b"\r\n"))
    if not lines:
        return None
    fields = [line.split(b": ", 1) for line in lines[1:]]
    length = next((int(value) for name, value in fields if name.lower() == b"content-length"), 0)
    return b"\r\n".join(lines), reader.read(length)


def answer(status: int, body: Any, *headers: str) -> bytes:
    """An answer with a JSON body."""
    content = json.dumps(body).encode()
    lines = [f"HTTP/1.1 {status} Any", "content-type: application/json", f"content-length: {len(content)}", *headers]
    return "\r\n".join([*lines, "", ""]).encode() + content


def problem(status: int, code: str, *headers: str) -> bytes:
    return answer(status, {"code": code, "status": status, "title": code, "detail": "scripted"}, *headers)
