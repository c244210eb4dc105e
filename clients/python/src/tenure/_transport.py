"""Requests, their answers, and when a request is repeated."""

from __future__ import annotations

import asyncio
import ipaddress
import os
import random
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import httpx

from ._errors import Problem, ProtocolError, TenureError, Unreachable
from ._json import dump, parse

CALL_TIMEOUT = 30.0
_CONNECT_TIMEOUT = 10.0
_TRIES = 4
# A longer `Retry-After` is not waited for; the caller gets the refusal.
_PATIENCE = 5.0
_CHUNK_BYTES = 128 << 10
# The slowest connection on which an upload succeeds.
_UPLOAD_BYTES_PER_SECOND = 16 << 10

Content = bytes | os.PathLike[str]
"""The content of an upload: bytes, or the path of a file, which is read while it is sent."""


@dataclass(frozen=True)
class Request:
    """A request, ready to be sent any number of times."""

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    content: Content | None = None
    key: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    timeout: float | None = CALL_TIMEOUT
    # Each part of the body has its own idempotency key.
    is_keyed_inside: bool = False

    @property
    def is_repeatable(self) -> bool:
        """Whether sending it twice does the same as sending it once."""
        return self.key is not None or self.is_keyed_inside or self.method in ("GET", "DELETE")

    def minimal(self) -> Request:
        """The body of the answer is not needed, or only its ids."""
        return replace(self, headers={**self.headers, "prefer": "return=minimal"})


def request(
    method: str,
    path: str,
    *values: str,
    query: Mapping[str, Any] | None = None,
    json: Any = None,
    **more: Any,
) -> Request:
    """A request; each `{}` of the path is replaced by a value. Members of the query that are `None` are left out."""
    path = path.format(*(quote(value, safe="") for value in values))
    pairs = {name: _query_text(value) for name, value in (query or {}).items() if value is not None}
    body = None if json is None else dump("request", json)
    return Request(method, path, pairs, body, **more)


def upload_timeout(content: Content) -> float:
    """How long an upload may take: longer for more content.

    >>> upload_timeout(b""), upload_timeout(bytes(1 << 20))
    (30.0, 94.0)
    """
    try:
        size = os.stat(content).st_size if isinstance(content, os.PathLike) else len(content)
    except OSError:  # the upload reports it
        size = 0
    return CALL_TIMEOUT + size / _UPLOAD_BYTES_PER_SECOND


def _query_text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


@dataclass(frozen=True)
class Answer:
    """An answer with a status of success."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        return parse(self.body)


def backoff(tries: int) -> float:
    """The wait after this many failed tries in seconds: doubling from 0.1 to 5, half of it random."""
    whole = min(5.0, 0.1 * 2.0 ** min(tries - 1, 10))
    return whole * (0.5 + random.random() / 2)


def retry_pause(error: TenureError, is_repeatable: bool, tries: int) -> float | None:
    """How long to wait before the next try; `None` if another try is not safe or does not help."""
    if isinstance(error, Problem):
        may = error.status == 503 and (error.retry_after or 0) <= _PATIENCE
    else:
        may = error.is_retryable and is_repeatable
    if not may or tries >= _TRIES:
        return None
    return backoff(tries) if error.retry_after is None else error.retry_after


@dataclass(frozen=True)
class Server:
    """The address of a server, and the key to use there."""

    url: str
    key: str | None

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"{self.url!r} is not an address: write http://host:port")

    def __repr__(self) -> str:
        return f"Server({self.url!r})"

    @classmethod
    def find(cls, url: str | None, key: str | None) -> Server:
        """Uses `TENURE_URL`, and `TENURE_KEY` or the file that `TENURE_KEY_FILE` names, for what is not given."""
        url = url or os.environ.get("TENURE_URL") or "http://127.0.0.1:7117"
        key = key or os.environ.get("TENURE_KEY")
        if not key and (file := os.environ.get("TENURE_KEY_FILE")):
            key = Path(file).read_text(encoding="utf-8").strip()
        return cls(url.rstrip("/"), key or None)

    def settings(self) -> dict[str, Any]:
        """The arguments of an httpx client."""
        headers = {"user-agent": "tenure-python"}
        if self.key:
            headers["authorization"] = f"Bearer {self.key}"
        url = self.url
        if self.key:
            # httpx would send the user and password of the URL instead of the key.
            parts = urlsplit(url)
            url = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
        return {
            "base_url": url,
            "headers": headers,
            # Without TLS no certificates are needed, and a proxy is no help on this machine.
            "verify": self.url.startswith("https:"),
            "trust_env": not _is_loopback(urlsplit(self.url).hostname or ""),
            # Without a limit, so that uploads cannot keep heartbeats waiting for a connection.
            "limits": httpx.Limits(max_connections=None, max_keepalive_connections=100),
        }


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class AsyncTransport:
    """One pool of connections, for asyncio."""

    def __init__(self, server: Server) -> None:
        self._http = httpx.AsyncClient(**server.settings())

    async def send(self, request: Request) -> Answer:
        """Sends a request once. A status that is no success is an error."""
        arguments = _arguments(request)
        if isinstance(request.content, os.PathLike):
            arguments["content"] = _read_chunks_async(request.content)
        try:
            response = await asyncio.wait_for(self._http.request(**arguments), request.timeout)
        except (httpx.RequestError, asyncio.TimeoutError) as error:
            raise _unreachable(error) from error
        return _answer(response)

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[tuple[int, AsyncIterator[bytes]]]:
        """Sends a request once and gives the status and the body in pieces."""
        try:
            async with self._http.stream(**_arguments(request)) as response:
                if not response.is_success:
                    await response.aread()
                    raise _refusal(response)
                yield response.status_code, response.aiter_bytes()
        except httpx.RequestError as error:
            raise _unreachable(error) from error

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def aclose(self) -> None:
        await self._http.aclose()


class Transport:
    """One pool of connections, for threads."""

    def __init__(self, server: Server) -> None:
        self._http = httpx.Client(**server.settings())

    def send(self, request: Request) -> Answer:
        """Sends a request once. A status that is no success is an error."""
        arguments = _arguments(request)
        if isinstance(request.content, os.PathLike):
            arguments["content"] = _read_chunks(request.content)
        try:
            return _answer(self._http.request(**arguments))
        except httpx.RequestError as error:
            raise _unreachable(error) from error

    @contextmanager
    def stream(self, request: Request) -> Iterator[tuple[int, Iterator[bytes]]]:
        """Sends a request once and gives the status and the body in pieces."""
        try:
            with self._http.stream(**_arguments(request)) as response:
                if not response.is_success:
                    response.read()
                    raise _refusal(response)
                yield response.status_code, response.iter_bytes()
        except httpx.RequestError as error:
            raise _unreachable(error) from error

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)

    def close(self) -> None:
        self._http.close()


def _arguments(request: Request) -> dict[str, Any]:
    headers = dict(request.headers)
    if request.key is not None:
        headers["idempotency-key"] = request.key
    if request.body is not None:
        headers["content-type"] = "application/json"
    if request.content is not None:
        headers["content-type"] = "application/octet-stream"
        size = os.stat(request.content).st_size if isinstance(request.content, os.PathLike) else None
        headers |= {} if size is None else {"content-length": str(size)}
    return {
        "method": request.method,
        "url": request.path,
        # An empty mapping would remove the query of a path that has one.
        "params": request.query or None,
        "content": request.body if request.content is None else request.content,
        "headers": headers,
        "timeout": httpx.Timeout(request.timeout, connect=_CONNECT_TIMEOUT),
    }


async def _read_chunks_async(path: os.PathLike[str]) -> AsyncIterator[bytes]:
    chunks = _read_chunks(path)
    while chunk := await asyncio.to_thread(next, chunks, b""):
        yield chunk


def _read_chunks(path: os.PathLike[str]) -> Iterator[bytes]:
    with open(path, "rb") as file:
        while chunk := file.read(_CHUNK_BYTES):
            yield chunk


def _answer(response: httpx.Response) -> Answer:
    if not response.is_success:
        raise _refusal(response)
    return Answer(response.status_code, response.headers, response.content)


def _refusal(response: httpx.Response) -> TenureError:
    header = response.headers.get("retry-after", "")
    retry_after = float(header) if header.isdecimal() else None
    try:
        return Problem(response.json(), retry_after)
    except (KeyError, TypeError, ValueError):
        # A proxy reports that the server is down.
        kind = Unreachable if response.is_server_error else ProtocolError
        return kind(f"HTTP {response.status_code} without a problem document")


def _unreachable(error: Exception) -> Unreachable:
    return Unreachable(f"server cannot be reached: {error or type(error).__name__}")
