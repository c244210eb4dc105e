"""Attempts: reads the payload, runs the handler on the loop of `serve`, and turns what it does into a report.

A handler of a batch has one attempt of each of its jobs.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import logging
import threading
from collections.abc import Awaitable, Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from ._errors import ProtocolError
from ._fail import Fail, Permanent, Release, Transient
from ._held_job import HeldJob
from ._job import Job
from ._payload import convert, payload_type
from ._reporter import Outgoing
from ._stop import Stop, StopSignal, settle
from ._trace import span_of

log = logging.getLogger("tenure.worker")

# How long a handler may run after it got `Stop.SHUTDOWN`.
SHUTDOWN_GRACE = 1.0


@dataclass(frozen=True)
class Handler:
    """A function for jobs of a type: for one job, or for a list of them."""

    function: Callable[[Any], Any]
    payload_type: Any
    is_async: bool
    is_batch: bool

    @classmethod
    def of(cls, function: Callable[[Any], Any], *, is_batch: bool) -> Handler:
        is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)
        return cls(function, payload_type(function, Job, is_batch=is_batch), is_async, is_batch)

    def start(self, jobs: list[Job[Any]]) -> asyncio.Future[Any]:
        """Starts the function: as a task, or in a thread. The future has its result, or what it raised as a value."""
        argument = jobs if self.is_batch else jobs[0]
        if self.is_async:
            return asyncio.ensure_future(_settled(self.function(argument)))
        return _in_thread(self.function, argument, f"tenure-{jobs[0].type}")


async def _settled(work: Awaitable[Any]) -> Any:
    try:
        return await work
    except (Exception, SystemExit) as error:
        return _Raised(error)


@dataclass(frozen=True)
class _Raised:
    error: BaseException


def _in_thread(function: Callable[[Any], Any], argument: Any, name: str) -> asyncio.Future[Any]:
    """The thread is a daemon, so that a function that does not return cannot keep a drained process alive."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()
    context = contextvars.copy_context()

    def run() -> None:
        try:
            result = context.run(function, argument)
        except BaseException as error:
            result = _Raised(error)
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle, future, result)

    threading.Thread(target=run, name=name, daemon=True).start()
    return future


async def run_attempts(handler: Handler, group: Sequence[HeldJob]) -> list[Outgoing | None]:
    """Runs one attempt of each job in one call of the handler. Returns the final reports, `None` for a lost lease."""
    with ExitStack() as spans:
        ends = [spans.enter_context(span_of(held.record)) for held in group]
        outcomes = await _outcomes(handler, group)
        for ended, (verb, members) in zip(ends, outcomes, strict=True):
            ended(verb, members.get("error", {}).get("code"))
    return [_final_report(held, *outcome) for held, outcome in zip(group, outcomes, strict=True)]


def _final_report(held: HeldJob, verb: str, members: dict[str, Any]) -> Outgoing | None:
    if held.stop_signal.is_over:
        return None
    try:
        return Outgoing.final(held.record.id, held.fence, verb, members)
    except ProtocolError as error:
        return Outgoing.final(held.record.id, held.fence, *_report_of(_bad_result(error)))


async def _outcomes(handler: Handler, group: Sequence[HeldJob]) -> list[tuple[str, dict[str, Any]]]:
    read = [_read(handler, held) for held in group]
    jobs = [job for job in read if isinstance(job, Job)]
    results = iter(await _run_until_stopped(handler, jobs) if jobs else [])
    ends = (_outcome(held, job, next(results)) for held, job in zip(group, read, strict=True) if isinstance(job, Job))
    ended = iter(await asyncio.gather(*ends))
    return [next(ended) if isinstance(job, Job) else _report_of(job) for job in read]


def _read(handler: Handler, held: HeldJob) -> Job[Any] | Fail:
    try:
        return Job(held, convert(handler.payload_type, held.record.payload))
    except Exception as error:
        return Permanent("BAD_PAYLOAD", error, stage="input")


async def _outcome(held: HeldJob, job: Job[Any], result: Any) -> tuple[str, dict[str, Any]]:
    result = await _after_uploads(held, result)
    if isinstance(result, _Raised):
        return _report_of(_failure_of(job, result.error))
    return "succeed", {} if result is None else {"result": result}


async def _run_until_stopped(handler: Handler, jobs: list[Job[Any]]) -> list[Any]:
    """Runs the handler; one result for each job, or what was raised."""
    work = handler.start(jobs)
    stop: asyncio.Future[Any] = asyncio.gather(*(_must_stop(job.stop_signal) for job in jobs))
    waited: set[asyncio.Future[Any]] = {work, stop}
    try:
        await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
        # A handler that waits for the signal sees it before it is cancelled.
        await asyncio.sleep(0)
    finally:
        stop.cancel()
    if not work.done():
        await _end_early(handler, work, jobs)
    if not work.done():
        return [_Raised(Release()) for _ in jobs]
    if work.cancelled():
        return [_after_cancel(job) for job in jobs]
    result = work.result()
    return _results(result, len(jobs)) if handler.is_batch else [result]


def _after_cancel(job: Job[Any]) -> _Raised:
    # Without a stop, the handler let the cancel of something else through.
    error = asyncio.CancelledError("handler cancelled, but not by the worker")
    return _Raised(Release() if job.is_stopped else error)


def _results(result: Any, count: int) -> list[Any]:
    """What a handler of a batch returned or raised, for each job."""
    if result is None or isinstance(result, _Raised):
        return [result] * count
    if not isinstance(result, (list, tuple)) or len(result) != count:
        why = f"a batch handler returns a list with one result for each of its {count} jobs"
        return [_Raised(Permanent("BAD_RESULT", why, stage="output"))] * count
    return [_Raised(each) if isinstance(each, BaseException) else each for each in result]


async def _end_early(handler: Handler, work: asyncio.Future[Any], jobs: list[Job[Any]]) -> None:
    """Cancels an async handler. A plain function cannot be cancelled: its slot is free when it returns."""
    if handler.is_async:
        work.cancel()
    if all(job.stop_signal.is_over for job in jobs):
        await asyncio.wait({work})
    elif handler.is_async:
        await asyncio.wait({work}, timeout=SHUTDOWN_GRACE)


async def _must_stop(signal: StopSignal) -> None:
    """Waits until the handler must be cancelled."""
    stop = await signal.wait_async(Stop.SHUTDOWN)
    if not stop.is_over:
        stronger = asyncio.ensure_future(signal.wait_async(Stop.HARD_CANCEL))
        await asyncio.wait({stronger}, timeout=SHUTDOWN_GRACE)
        stronger.cancel()


async def _after_uploads(held: HeldJob, result: Any) -> Any:
    """Waits for the uploads until the handler would have to stop. One that failed unnoticed fails the attempt."""
    uploads = [(upload, asyncio.wrap_future(upload.future)) for upload in held.uploads]
    if not uploads:
        return result
    settled: asyncio.Future[Any] = asyncio.gather(*(future for _, future in uploads), return_exceptions=True)
    stop: asyncio.Future[Any] = asyncio.ensure_future(_must_stop(held.stop_signal))
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
