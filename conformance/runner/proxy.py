"""The proxy between a worker and the server: records every request, and applies the faults of the scenario."""

from __future__ import annotations

import asyncio
import socket
import struct
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

from .http import Address, Request, answer, exchange, read_request, status_of

FAULTS = {
    "delay_request": "the server gets it `ms` later",
    "delay_answer": "the worker gets it `ms` later",
    "drop_request": "the server does not get it; the connection stays open without an answer",
    "drop_answer": "the server gets the request; the connection stays open without an answer",
    "double_request": "the server gets it twice, the worker the second answer",
    "double_answer": "the worker gets the answer twice",
    "reset_request": "the server does not get it; the connection is reset",
    "reset_answer": "the server gets the request; the connection is reset",
    "answer": "the server does not get it; the worker gets `status`, `body` and `headers`",
}


@dataclass
class Fault:
    """What happens to the next `times` requests of a kind, after the first `skip`."""

    on: str
    do: str
    times: int = 1
    skip: int = 0
    ms: int = 0
    status: int = 503
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.do not in FAULTS:
            raise ValueError(f"unknown fault {self.do!r}: one of {', '.join(FAULTS)}")

    def applies(self, kinds: set[str]) -> bool:
        """Whether it applies to this request, which is then counted."""
        if self.on not in kinds or self.times == 0:
            return False
        if self.skip > 0:
            self.skip -= 1
            return False
        self.times -= 1
        return True


@dataclass
class Seen:
    """A request as the proxy saw it."""

    kinds: set[str]
    request: Request
    at: float
    fault: str | None = None
    status: int | None = None
    """Of the server's answer, also if the worker did not get it."""


class Reset(Exception):
    """Resets the connection to the worker."""


class Proxy:
    def __init__(self, target: Callable[[], Address], faults: list[Fault]) -> None:
        self._target, self._faults = target, faults
        self.seen: list[Seen] = []
        self._is_connected = asyncio.Event()
        self._is_connected.set()
        self._connections: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        self._listener = await asyncio.start_server(self._accept, "127.0.0.1", 0)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._listener.sockets[0].getsockname()[1]}"

    async def close(self) -> None:
        self._listener.close()
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    def cut(self) -> None:
        """From now on nothing passes, in either direction; connections stay open."""
        self._is_connected.clear()

    def heal(self) -> None:
        """New requests pass; what was sent meanwhile is lost."""
        self._is_connected.set()

    def count(self, kind: str) -> int:
        return sum(kind in seen.kinds for seen in self.seen)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(self._serve(reader, writer))
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while request := await read_request(reader):
                seen = Seen(kinds_of(request), request, time.monotonic())
                self.seen.append(seen)
                answer = await _unless_closed(reader, self._answer(seen))
                if answer is None:
                    return
                writer.write(answer)
                await writer.drain()
        except Reset:
            linger = struct.pack("ii", 1, 0)
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            writer.transport.abort()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def _answer(self, seen: Seen) -> bytes:
        """What the worker gets; does not return if it gets nothing."""
        await self._stop_while_cut()
        fault = next((fault for fault in self._faults if fault.applies(seen.kinds)), None)
        do = seen.fault = fault.do if fault else None
        if fault and do == "answer":
            return answer(fault.status, fault.body, fault.headers)
        await self._before(do, fault)
        raw = await self._forward(seen)
        if do == "double_request":
            raw = await self._forward(seen)
        await self._stop_while_cut()
        await self._after(do, fault)
        return raw * 2 if do == "double_answer" else raw

    async def _before(self, do: str | None, fault: Fault | None) -> None:
        if do == "reset_request":
            raise Reset
        if do == "drop_request":
            await asyncio.Event().wait()
        if fault and do == "delay_request":
            await asyncio.sleep(fault.ms / 1000)

    async def _after(self, do: str | None, fault: Fault | None) -> None:
        if do == "reset_answer":
            raise Reset
        if do == "drop_answer":
            await asyncio.Event().wait()
        if fault and do == "delay_answer":
            await asyncio.sleep(fault.ms / 1000)

    async def _stop_while_cut(self) -> None:
        if not self._is_connected.is_set():
            await self._is_connected.wait()
            raise Reset

    async def _forward(self, seen: Seen) -> bytes:
        raw = await exchange(self._target(), seen.request)
        seen.status = status_of(raw)
        return raw


async def _unless_closed(reader: asyncio.StreamReader, work: Coroutine[Any, Any, bytes]) -> bytes | None:
    """The result of the work; `None` if the worker has closed the connection before."""
    task = asyncio.ensure_future(work)
    try:
        while not task.done():
            if reader.at_eof() or reader.exception():
                return None
            await asyncio.wait({task}, timeout=0.02)
        return task.result()
    finally:
        task.cancel()


def kinds_of(request: Request) -> set[str]:
    """What a request is: `claim`, `create`, `batch`, `logs`, `assets`, the verbs of its reports, or `other`."""
    parts = request.path.partition("?")[0].strip("/").split("/")
    match (request.method, *parts):
        case ("POST", "api", "claims"):
            return {"claim"}
        case ("POST", "api", "reports"):
            return {report["verb"] for report in request.json()["reports"]}
        case ("POST", "api", "jobs"):
            return {"create"}
        case ("POST", "api", "jobs", "batch"):
            return {"batch"}
        case ("POST", "api", "jobs", _, verb):
            return {verb}
    return {"other"}
