"""The stop signal of a job: why its handler should stop."""

from __future__ import annotations

import asyncio
import enum
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

T = TypeVar("T")


class Stop(enum.IntEnum):
    """Why a handler should stop, from the weakest reason to the strongest."""

    SOFT_CANCEL = 1
    """A cancel was requested: save a checkpoint and raise `Cancelled`, or finish, and the result counts."""
    SHUTDOWN = 2
    """The worker shuts down and its drain time is over: raise `Release`. After a second the job is released."""
    HARD_CANCEL = 3
    """The job has ended already: cancelled, dead-lettered or timed out. An async handler is cancelled."""
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


class StopSignal:
    """Carries a `Stop` to waiting threads and tasks. It may become stronger and is never taken back."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._now: Stop | None = None
        self._listeners: list[Callable[[Stop], None]] = []

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
        for listener in listeners:
            listener(stop)

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
        reached: asyncio.Future[Stop] = loop.create_future()

        def notify(stop: Stop) -> None:
            if stop >= at_least:
                # The loop is closed if the worker has ended.
                with suppress(RuntimeError):
                    loop.call_soon_threadsafe(settle, reached, stop)

        listener = self._listen(notify)
        try:
            return await reached
        finally:
            self._listeners.remove(listener)

    def _listen(self, listener: Callable[[Stop], None]) -> Callable[[Stop], None]:
        with self._lock:
            self._listeners.append(listener)
            now = self._now
        if now is not None:
            listener(now)
        return listener
