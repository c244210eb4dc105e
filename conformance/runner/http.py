"""HTTP/1.1 messages: what the proxy passes on, and the runner's own calls of the server."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import Any

Address = tuple[str, int]


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    headers: dict[str, str]
    """By lower-case name."""
    body: bytes

    def encoded(self) -> bytes:
        """For a connection that is used once."""
        hop = {"connection", "transfer-encoding", "content-length", "expect"}
        kept = {name: value for name, value in self.headers.items() if name not in hop}
        kept |= {"connection": "close", "content-length": str(len(self.body))}
        lines = [f"{self.method} {self.path} HTTP/1.1", *(f"{name}: {value}" for name, value in kept.items())]
        return "\r\n".join([*lines, "", ""]).encode("latin-1") + self.body

    def json(self) -> Any:
        """The body, if it is JSON."""
        if not self.headers.get("content-type", "").startswith("application/json"):
            return None
        return json.loads(self.body)


async def read_request(reader: asyncio.StreamReader) -> Request | None:
    """The next request of a connection; `None` at its end."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.decode("latin-1").rstrip("\r\n").split("\r\n")
    method, path, _ = first.split(" ")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    if headers.get("transfer-encoding") == "chunked":
        return Request(method, path, headers, await _read_chunks(reader))
    return Request(method, path, headers, await reader.readexactly(int(headers.get("content-length", 0))))


async def _read_chunks(reader: asyncio.StreamReader) -> bytes:
    body = b""
    while size := int((await reader.readuntil(b"\r\n")).split(b";")[0], 16):
        body += (await reader.readexactly(size + 2))[:-2]
    while await reader.readuntil(b"\r\n") != b"\r\n":
        pass
    return body


async def exchange(address: Address, request: Request) -> bytes:
    """Sends a request on a new connection; the whole answer as it came, without the header `connection`."""
    reader, writer = await asyncio.open_connection(*address)
    try:
        writer.write(request.encoded())
        await writer.drain()
        answer = await reader.read(-1)
    finally:
        writer.close()
    if not answer:
        raise ConnectionResetError("no answer")
    return answer.replace(b"connection: close\r\n", b"", 1)


def answer(status: int, body: Any, headers: dict[str, str]) -> bytes:
    """An answer with a JSON body, or with another body if it is a text."""
    is_text = isinstance(body, str)
    content = (body if is_text else json.dumps(body)).encode()
    kind = "text/html" if is_text else "application/problem+json"
    fields = {"content-type": kind, "content-length": str(len(content)), **headers}
    lines = [f"HTTP/1.1 {status} Scripted", *(f"{name}: {value}" for name, value in fields.items())]
    return "\r\n".join([*lines, "", ""]).encode() + content


def status_of(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


async def call(
    address: Address, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None
) -> tuple[int, bytes]:
    """One call of the server: status and body."""
    given = {"host": "{}:{}".format(*address), "content-type": "application/json", **(headers or {})}
    content = b"" if body is None else json.dumps(body).encode()
    raw = await exchange(address, Request(method, path, given, content))
    head, _, rest = raw.partition(b"\r\n\r\n")
    if b"transfer-encoding: chunked" in head.lower():
        reader = asyncio.StreamReader()
        reader.feed_data(rest)
        reader.feed_eof()
        rest = await _read_chunks(reader)
    return status_of(raw), rest
