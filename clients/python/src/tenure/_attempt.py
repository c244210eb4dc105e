"""One attempt: reads the payload, runs the handler on the loop of `serve`, and turns what it does into a report."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import logging
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from ._errors import ProtocolError
from ._fail import Fail, Permanent, Release, Transient
from ._held_job import HeldJob
from ._job import Job
from ._payload import convert, payload_type
from ._reporter import Outgoing
from ._stop import Stop, settle
from ._trace import span_of

log = logging.getLogger("tenure.worker")

# How long a handler may run after it got `Stop.SHUTDOWN`.
SHUTDOWN_GRACE = 1.0


@dataclass(frozen=True)
class Handler:
    """A function for jobs of a type."""

    function: Callable[[Job[Any]], Any]
    payload_type: Any
    is_async: bool

    @classmethod
    def of(cls, function: Callable[[Job[Any]], Any]) -> Handler:
        is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)
        return cls(function, payload_type(function, Job), is_async)

    def start(self, job: Job[Any]) -> asyncio.Future[Any]:
        """Starts the function: as a task, or in a thread. The future has its result, or what it raised as a value."""
        if self.is_async:
            return asyncio.ensure_future(_settled(self.function(job)))
        return _in_thread(self.function, job)


async def _settled(work: Awaitable[Any]) -> Any:
    try:
        return await work
    except (Exception, SystemExit) as error:
        return _Raised(error)


@dataclass(frozen=True)
class _Raised:
    error: BaseException


def _in_thread(function: Callable[[Job[Any]], Any], job: Job[Any]) -> asyncio.Future[Any]:
    """The thread is a daemon, so that a function that does not return cannot keep a drained process alive."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()
    context = contextvars.copy_context()

    def run() -> None:
        try:
            result = context.run(function, job)
        except BaseException as error:
            result = _Raised(error)
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle, future, result)

    threading.Thread(target=run, name=f"tenure-{job.type}", daemon=True).start()
    return future


async def run_attempt(handler: Handler, held: HeldJob) -> Outgoing | None:
    """Runs one attempt and returns its final report; `None` if its lease is lost."""
    with span_of(held.record) as ended:
        verb, members = await _outcome(handler, held)
        ended(verb, members.get("error", {}).get("code"))
    if held.stop_signal.is_over:
        return None
    try:
        return Outgoing.final(held.record.id, held.fence, verb, members)
    except ProtocolError as error:
        return Outgoing.final(held.record.id, held.fence, *_report_of(_bad_result(error)))


async def _outcome(handler: Handler, held: HeldJob) -> tuple[str, dict[str, Any]]:
    try:
        job = Job(held, convert(handler.payload_type, held.record.payload))
    except Exception as error:
        return _report_of(Permanent("BAD_PAYLOAD", error, stage="input"))
    result = await _after_uploads(held, await _run_until_stopped(handler, job, held))
    if isinstance(result, _Raised):
        return _report_of(_failure_of(job, result.error))
    return "succeed", {} if result is None else {"result": result}


async def _run_until_stopped(handler: Handler, job: Job[Any], held: HeldJob) -> Any:
    work = handler.start(job)
    stop = asyncio.ensure_future(_must_stop(held))
    try:
        await asyncio.wait({work, stop}, return_when=asyncio.FIRST_COMPLETED)
        # A handler that waits for the signal sees it before it is cancelled.
        await asyncio.sleep(0)
    finally:
        stop.cancel()
    if not work.done():
        await _end_early(handler, work, held)
    if not work.done():
        return _Raised(Release())
    if work.cancelled():
        # Without a stop, the handler let the cancel of something else through.
        is_stopped = held.stop_signal.now is not None
        return _Raised(Release() if is_stopped else asyncio.CancelledError("handler cancelled, but not by the worker"))
    return work.result()


async def _end_early(handler: Handler, work: asyncio.Future[Any], held: HeldJob) -> None:
    """Cancels an async handler. A plain function cannot be cancelled: its slot is free when it returns."""
    if handler.is_async:
        work.cancel()
    if held.stop_signal.is_over:
        await asyncio.wait({work})
    elif handler.is_async:
        await asyncio.wait({work}, timeout=SHUTDOWN_GRACE)


async def _must_stop(held: HeldJob) -> None:
    """Waits until the handler must be cancelled."""
    stop = await held.stop_signal.wait_async(Stop.SHUTDOWN)
    if not stop.is_over:
        stronger = asyncio.ensure_future(held.stop_signal.wait_async(Stop.HARD_CANCEL))
        await asyncio.wait({stronger}, timeout=SHUTDOWN_GRACE)
        stronger.cancel()


async def _after_uploads(held: HeldJob, result: Any) -> Any:
    """Waits for the uploads until the handler would have to stop. One that failed unnoticed fails the attempt."""
    uploads = [(upload, asyncio.wrap_future(upload.future)) for upload in held.uploads]
    if not uploads:
        return result
    settled: asyncio.Future[Any] = asyncio.gather(*(future for _, future in uploads), return_exceptions=True)
    stop: asyncio.Future[Any] = asyncio.ensure_future(_must_stop(held))
    await asyncio.wait({settled, stop}, return_when=asyncio.FIRST_COMPLETED)
    stop.cancel()
    if not settled.done():
        # With its uploads.
        settled.cancel()
        return result if isinstance(result, _Raised) else _Raised(Release())
    for upload, future in uploads:
        error = None if future.cancelled() else future.exception()
        if error is None or upload.is_observed:
            continue
        if not isinstance(result, _Raised):
            return _Raised(error)
        log.warning("asset not uploaded: job=%s error=%s", held.record.id, error)
    return result


def _failure_of(job: Job[Any], error: BaseException) -> Fail:
    if isinstance(error, Fail):
        return error
    log.error("handler raised: job=%s type=%s attempt=%d", job.id, job.type, job.attempt, exc_info=error)
    return Transient(type(error).__name__, error, stage="exec")


def _bad_result(error: ProtocolError) -> Fail:
    return Permanent("BAD_RESULT", error, stage="output")


def _report_of(fail: Fail) -> tuple[str, dict[str, Any]]:
    return fail.verb, fail.members
