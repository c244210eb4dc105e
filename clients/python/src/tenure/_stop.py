"""The stop signal of a job: why its handler should stop."""

from __future__ import annotations

import asyncio
import enum
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")


class Stop(enum.IntEnum):
    """Why a handler should stop, from the weakest reason to the strongest."""

    SOFT_CANCEL = 1
    """A cancel was requested: save a checkpoint and raise `Cancelled`, or finish, and the result counts."""
    SHUTDOWN = 2
    """The worker shuts down and its drain time is over: raise `Release`. After a second the job is released."""
    HARD_CANCEL = 3
    """The server has ended the attempt: cancelled, dead-lettered or timed out. An async handler is cancelled."""
    LEASE_LOST = 4
    """The lease is lost: another worker may hold the job. An async handler is cancelled."""

    @property
    def is_over(self) -> bool:
        """Whether the handler's result no longer counts."""
        return self >= Stop.HARD_CANCEL


def settle(future: asyncio.Future[T], value: T) -> None:
    """Sets the result of a future that may have been cancelled."""
    if not future.done():
        future.set_result(value)


def _settle_all(futures: list[asyncio.Future[Stop]], stop: Stop) -> None:
    for future in futures:
        settle(future, stop)


@dataclass(frozen=True, eq=False)
class _Waiting:
    """A task that waits for a signal of some strength."""

    loop: asyncio.AbstractEventLoop
    at_least: Stop
    future: asyncio.Future[Stop]


class StopSignal:
    """Carries a `Stop` to waiting threads and tasks. It may become stronger and is never taken back."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._now: Stop | None = None
        self._listeners: list[Callable[[Stop], None]] = []
        self._waiting: list[_Waiting] = []

    @property
    def now(self) -> Stop | None:
        return self._now

    @property
    def is_over(self) -> bool:
        return self._now is not None and self._now.is_over

    def strengthen(self, stop: Stop) -> None:
        with self._lock:
            if self._now is not None and self._now >= stop:
                return
            self._now = stop
            listeners = list(self._listeners)
            reached = [each for each in self._waiting if stop >= each.at_least]
        for listener in listeners:
            listener(stop)
        # All tasks of a loop wake in the same turn: a handler that waits sees the signal before it is cancelled.
        for loop in {each.loop for each in reached}:
            futures = [each.future for each in reached if each.loop is loop]
            # The loop is closed if the worker has ended.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(_settle_all, futures, stop)

    def wait(self, at_least: Stop, timeout: float | None) -> Stop | None:
        """Blocks the thread until the signal has this strength; `None` after the timeout."""
        reached = threading.Event()
        listener = self._listen(lambda stop: reached.set() if stop >= at_least else None)
        try:
            return self._now if reached.wait(timeout) else None
        finally:
            self._listeners.remove(listener)

    async def wait_async(self, at_least: Stop) -> Stop:
        """Waits until the signal has this strength."""
        loop = asyncio.get_running_loop()
        waiting = _Waiting(loop, at_least, loop.create_future())
        with self._lock:
            if self._now is not None and self._now >= at_least:
                return self._now
            self._waiting.append(waiting)
        try:
            return await waiting.future
        finally:
            with self._lock:
                self._waiting.remove(waiting)

    def _listen(self, listener: Callable[[Stop], None]) -> Callable[[Stop], None]:
        with self._lock:
            self._listeners.append(listener)
            now = self._now
        if now is not None:
            listener(now)
        return listener
