"""The worker: claims jobs, runs their handlers, renews leases and reports results."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from . import _claim_loop
from ._attempt import Handler
from ._claim_loop import Settings
from ._job import Job
from ._span import Span, seconds
from ._text import truncate
from ._transport import Server

F = TypeVar("F", bound=Callable[..., Any])
H = TypeVar("H", bound=Callable[[Job[Any]], Any])
B = TypeVar("B", bound=Callable[[list[Job[Any]]], Any])


class Worker:
    """A worker: add handlers with `on`, then call `run`, or `await serve()`.

    Without `url` and `key` it uses `TENURE_URL` and `TENURE_KEY`. `slots` is the number of jobs that run at the same
    time, by default one for each core. `drain` limits how long handlers may run after a shutdown has begun; then they
    get `Stop.SHUTDOWN`, have one second to return, and their jobs are released.

    >>> worker = Worker(slots=8)
    >>> @worker.on("greet")
    ... def greet(job: Job[dict[str, str]]) -> str:
    ...     return f"Hello {job.payload['name']}"
    >>> worker.types
    ['greet']
    """

    def __init__(
        self,
        *,
        url: str | None = None,
        key: str | None = None,
        slots: int | None = None,
        name: str | None = None,
        queues: Iterable[str] = (),
        wait: Span = "20s",
        drain: Span | None = None,
    ) -> None:
        self._url, self._key = url, key
        self.slots = slots or os.cpu_count() or 1
        self.name = name or _default_name()
        """Must be unique among running workers."""
        self.queues = tuple(queues)
        """The worker takes jobs from these queues only; from any if there are none."""
        self._wait = seconds(wait)
        self._drain = None if drain is None else seconds(drain)
        self._handlers: dict[str, Handler] = {}
        # Reentrant: a signal handler calls `stop`, perhaps while its thread holds the lock.
        self._lock = threading.RLock()
        self._is_stopping = False
        self._run: _Run | None = None

    @property
    def types(self) -> list[str]:
        """The types of jobs that have a handler."""
        return sorted(self._handlers)

    def on(self, *types: str) -> Callable[[H], H]:
        """Makes a function the handler for jobs of these types. Its return value is the job's result.

        An async function runs on the loop of `serve`, a plain one in a thread. The payload has the type in the
        annotation of its first parameter, such as `Job[Prompt]`.
        """
        return self._adds(types, is_batch=False)

    def on_batch(self, *types: str) -> Callable[[B], B]:
        """Makes a function the handler for groups of jobs of these types, whose configuration has `batch`.

        It gets the list of the jobs of a group and returns a list with a result, or a `Fail`, for each of them. What it
        raises is the failure of all; `None` is success without results. Each job has its own lease, stop signal and
        output, and takes a slot: with fewer slots than the `size` of a group, groups are smaller. A job without a group
        is a list of one.

        >>> worker = Worker(slots=100)
        >>> @worker.on_batch("embed")
        ... def embed(jobs: list[Job[dict[str, str]]]) -> list[int]:
        ...     return [len(job.payload["text"]) for job in jobs]
        """
        return self._adds(types, is_batch=True)

    def _adds(self, types: Iterable[str], *, is_batch: bool) -> Callable[[F], F]:
        def add(handler: F) -> F:
            prepared = Handler.of(handler, is_batch=is_batch)
            for type_ in types:
                self._handlers[type_] = prepared
            return handler

        return add

    def run(self) -> None:
        """Runs until SIGTERM or SIGINT, then drains. A second signal ends the process at once."""

        def begin_drain(number: int, frame: Any) -> None:
            for each in previous:
                signal.signal(each, signal.SIG_DFL)
            self.stop()

        previous = {each: signal.signal(each, begin_drain) for each in (signal.SIGTERM, signal.SIGINT)}
        try:
            asyncio.run(self.serve())
        finally:
            for each, handler in previous.items():
                signal.signal(each, handler)

    async def serve(self) -> None:
        """Runs until `stop` is called, then drains. Raises if the server refuses this worker's claims.

        While the server cannot be reached, the worker keeps trying. If this task is cancelled, handlers get
        `Stop.SHUTDOWN` and their jobs are released.
        """
        run = _Run(self._settings())
        with self._lock:
            if self._run is not None:
                raise RuntimeError("this worker runs already")
            self._run = run
            if self._is_stopping:
                run.stop()
        try:
            await run.serve()
        finally:
            with self._lock:
                self._run, self._is_stopping = None, False

    def stop(self) -> None:
        """Begins the drain: no more claims, running handlers finish. May be called from any thread."""
        with self._lock:
            self._is_stopping = True
            if self._run is not None:
                self._run.stop()

    def _settings(self) -> Settings:
        if not self._handlers:
            raise ValueError("a worker needs a handler: add one with `on`")
        server = Server.find(self._url, self._key)
        handlers = dict(self._handlers)
        return Settings(server, self.name, self.queues, self.slots, self._wait, self._drain, handlers)


class _Run:
    """One run of a worker: its thread, and the events that end it."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._loop: asyncio.AbstractEventLoop | None = None
        self._draining, self._stop_now = False, False
        self._events: tuple[asyncio.Event, asyncio.Event] | None = None

    def stop(self, at_once: bool = False) -> None:
        self._draining, self._stop_now = True, self._stop_now or at_once
        loop = self._loop
        if loop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(self._apply)

    async def serve(self) -> None:
        loop = asyncio.get_running_loop()
        ended: asyncio.Future[None] = loop.create_future()

        def run() -> None:
            error: BaseException | None = None
            try:
                asyncio.run(self._work(loop))
            except BaseException as raised:
                error = raised
            loop.call_soon_threadsafe(_settle, ended, error)

        threading.Thread(target=run, name="tenure-worker", daemon=True).start()
        try:
            await asyncio.shield(ended)
        except asyncio.CancelledError:
            self.stop(at_once=True)
            await ended
            raise

    async def _work(self, handler_loop: asyncio.AbstractEventLoop) -> None:
        self._events = asyncio.Event(), asyncio.Event()
        self._loop = asyncio.get_running_loop()
        # `stop` may have been called before there was a loop.
        self._apply()
        await _claim_loop.run(self._settings, handler_loop, *self._events)

    def _apply(self) -> None:
        assert self._events is not None
        draining, stop_now = self._events
        if self._draining:
            draining.set()
        if self._stop_now:
            stop_now.set()


def _settle(ended: asyncio.Future[None], error: BaseException | None) -> None:
    if ended.done():
        return
    if error is None:
        ended.set_result(None)
    else:
        ended.set_exception(error)


def _default_name() -> str:
    """Host name, process id and a random part."""
    return f"{truncate(socket.gethostname() or 'worker', 200)}-{os.getpid()}-{os.urandom(4).hex()}"
