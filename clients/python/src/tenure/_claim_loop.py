"""The loop of the worker's thread: claims jobs, starts them on the loop of `serve`, and drains.

It has a separate thread, so that a blocked handler cannot delay heartbeats and reports.
"""

from __future__ import annotations

import asyncio
import logging
import re
import socket
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import metadata
from typing import Any

from ._async_client import AsyncClient
from ._attempt import SHUTDOWN_GRACE, Handler, run_attempts
from ._errors import Problem, TenureError
from ._fail import Permanent
from ._held_job import HeldJob, WorkerHandles
from ._json import UnreadableJob
from ._lease_keeper import LeaseKeeper, LocalLease, key_of, send_heartbeats
from ._reporter import Outgoing, Reporter
from ._span import span_text
from ._transport import Server, backoff
from ._values import fresh_id
from ._wire import JobRecord

log = logging.getLogger("tenure.worker")

_CLAIM_MAX = 1000
_CONFIRM_TRIES = 3
# How long a draining worker waits for the answers to its last reports.
_ANSWER_TIMEOUT = 30.0

Leased = tuple[JobRecord, LocalLease]


@dataclass(frozen=True)
class Settings:
    server: Server
    name: str
    queues: tuple[str, ...]
    slots: int
    wait: float
    drain: float | None
    handlers: Mapping[str, Handler]


@dataclass(eq=False)
class Counter:
    """A number that tasks of one loop can wait for."""

    value: int
    _waiting: set[asyncio.Future[None]] = field(default_factory=set)

    def add(self, count: int) -> None:
        self.value += count
        for waiting in self._waiting:
            if not waiting.done():
                waiting.set_result(None)

    async def until(self, condition: Callable[[int], bool]) -> int:
        while not condition(self.value):
            changed = asyncio.get_running_loop().create_future()
            self._waiting.add(changed)
            try:
                await changed
            finally:
                self._waiting.discard(changed)
        return self.value


async def run(
    settings: Settings, handler_loop: asyncio.AbstractEventLoop, draining: asyncio.Event, stop_now: asyncio.Event
) -> None:
    """Claims and runs jobs until `draining` is set, then drains. Raises if the server refuses the claims."""
    async with AsyncClient(settings.server.url, key=settings.server.key) as client:
        lease_keeper, reporter = LeaseKeeper(client, settings.name), Reporter(client, settings.name)
        loop, tasks = asyncio.get_running_loop(), set[asyncio.Task[Any]]()
        handles = WorkerHandles(settings.name, client, loop, lease_keeper, reporter, tasks)
        handles.spawn(lease_keeper.run())
        handles.spawn(reporter.run())
        claim_loop = ClaimLoop(settings, handles, handler_loop)
        try:
            await claim_loop.claim_until(draining)
        except TenureError as error:
            log.error("claims refused, worker stops: error=%s", error)
            raise
        finally:
            await claim_loop.drain(stop_now)
            for task in list(tasks):
                task.cancel()


def about(slots: int) -> str:
    """What a worker says about itself with each claim: `slots=8; host="gpu-1"; version="tenure-python/0.1.0"`."""
    host = re.sub(r'[^!-~]|[";=]', "", socket.gethostname())[:100]
    try:
        version = metadata.version("tenure")
    except metadata.PackageNotFoundError:
        version = "unknown"
    return f'slots={slots}; host="{host}"; version="tenure-python/{version}"'


class ClaimLoop:
    def __init__(self, settings: Settings, handles: WorkerHandles, handler_loop: asyncio.AbstractEventLoop) -> None:
        self._settings, self._handles, self._handler_loop = settings, handles, handler_loop
        self._free_slots = Counter(settings.slots)
        # Jobs whose final report is not answered yet.
        self._open_jobs = Counter(0)
        self._wait_max = settings.wait
        self._about = about(settings.slots)

    async def claim_until(self, draining: asyncio.Event) -> None:
        drain = asyncio.ensure_future(draining.wait())
        try:
            while not drain.done():
                free = asyncio.ensure_future(self._free_slots.until(lambda free: free > 0))
                await asyncio.wait({drain, free}, return_when=asyncio.FIRST_COMPLETED)
                if drain.done():
                    free.cancel()
                    return
                await self._claim_once(drain)
        finally:
            drain.cancel()

    async def _claim_once(self, drain: asyncio.Future[Any]) -> None:
        claim = self._new_claim()
        claiming = asyncio.ensure_future(self._send_claim(claim))
        await asyncio.wait({drain, claiming}, return_when=asyncio.FIRST_COMPLETED)
        if not claiming.done():
            claiming.cancel()
            with suppress(asyncio.CancelledError, TenureError):
                await claiming
            await self._release_unanswered(claim)
            return
        for group in self._groups(claiming.result()):
            self._start_jobs(group)

    def _new_claim(self) -> dict[str, Any]:
        claim: dict[str, Any] = {"worker": self._settings.name, "types": sorted(self._settings.handlers)}
        if self._settings.queues:
            claim["queues"] = list(self._settings.queues)
        claim |= {"max": min(self._free_slots.value, _CLAIM_MAX), "wait": span_text(self._wait_max)}
        return claim | {"request_id": fresh_id(), "start": True}

    async def _send_claim(self, claim: Mapping[str, Any]) -> list[Leased]:
        """Sends a claim until it is answered, always with the same request id: the server repeats a lost answer."""
        tries = 0
        while True:
            sent_at = time.monotonic()
            try:
                jobs = await self._handles.client._claim_each(claim, self._wait_max, self._about)
            except TenureError as error:
                if not error.is_retryable:
                    raise
                tries += 1
                log.warning("claim not answered: tries=%d error=%s", tries, error)
                await asyncio.sleep(backoff(tries) if error.retry_after is None else error.retry_after)
                continue
            claimed = self._with_leases(jobs, sent_at)
            shortest = min((lease.span for _, lease in claimed), default=float("inf"))
            # Leases are still fresh when the answer arrives.
            self._wait_max = min(self._wait_max, shortest / 2)
            is_fresh = tries == 0 and time.monotonic() - sent_at <= shortest / 2
            return claimed if is_fresh else await self._confirm_leases(claimed)

    def _with_leases(self, jobs: list[JobRecord | UnreadableJob], sent_at: float) -> list[Leased]:
        claimed = []
        for job in jobs:
            if isinstance(job, UnreadableJob):
                log.warning("claimed job cannot be read: job=%s error=%s", job.id, job.why)
                fail = Permanent("BAD_PAYLOAD", job.why, stage="input")
                self._report(job.id, job.fence, fail.verb, fail.members)
            elif job.lease is None:
                log.error("claimed job has no lease: job=%s", job.id)
            else:
                claimed.append((job, LocalLease.granted(job.lease, sent_at)))
        return claimed

    async def _confirm_leases(self, claimed: list[Leased]) -> list[Leased]:
        """After a long or repeated claim it is unknown when the leases began: a heartbeat confirms those that live."""
        keys = [key_of(job) for job, _ in claimed]
        for tries in range(1, _CONFIRM_TRIES + 1) if keys else ():
            sent_at = time.monotonic()
            try:
                results = await send_heartbeats(self._handles.client, self._settings.name, keys, _ANSWER_TIMEOUT)
            except TenureError as error:
                log.warning("leases not confirmed: jobs=%d error=%s", len(keys), error)
                await asyncio.sleep(backoff(tries))
                continue
            return [
                (job, LocalLease.confirmed(job.lease, sent_at))
                for (job, _), result in zip(claimed, results, strict=True)
                if job.lease and not isinstance(result, Problem)
            ]
        # Not started: their leases expire.
        return []

    def _groups(self, claimed: list[Leased]) -> list[list[Leased]]:
        """The jobs that one call of a handler gets: for a batch handler those of one group, else one."""
        groups: dict[object, list[Leased]] = {}
        for job, lease in claimed:
            handler = self._settings.handlers.get(job.type)
            is_grouped = handler is not None and handler.is_batch and job.group is not None
            groups.setdefault((job.type, job.group) if is_grouped else job.id, []).append((job, lease))
        return list(groups.values())

    def _start_jobs(self, jobs: list[Leased]) -> None:
        """Starts the handler; a job without a handler or a slot is released."""
        group: list[HeldJob] = []
        handler = self._settings.handlers.get(jobs[0][0].type)
        for record, lease in jobs:
            job_id, fence = key_of(record)
            if handler is None or self._free_slots.value == 0:
                log.warning("job released, no handler or no slot: job=%s type=%s", job_id, record.type)
                self._report(job_id, fence, "release", {})
            elif lease.is_expired:
                log.warning("lease expired before the job started: job=%s fence=%d", job_id, fence)
            else:
                held = HeldJob(record, fence, self._handles)
                self._free_slots.add(-1)
                self._open_jobs.add(1)
                self._handles.lease_keeper.add(held, lease)
                group.append(held)
        if handler is not None and group:
            self._handles.spawn(self._attempts(handler, group))

    async def _attempts(self, handler: Handler, group: list[HeldJob]) -> None:
        reports: list[Outgoing | None] = [None] * len(group)
        try:
            work = run_attempts(handler, group)
            reports = await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._handler_loop))
        finally:
            for held, report in zip(group, reports, strict=True):
                if report is None:
                    held.abandon()
                    self._open_jobs.add(-1)
                else:
                    report.answered = lambda: self._open_jobs.add(-1)
                    held.end(report)
            # At once, so that the next claim can get a whole group.
            self._free_slots.add(len(group))

    def _report(self, job: str, fence: int, verb: str, members: Mapping[str, Any]) -> None:
        """Sends the final report of a job that was not started."""
        outgoing = Outgoing.final(job, fence, verb, members)
        outgoing.answered = lambda: self._open_jobs.add(-1)
        self._open_jobs.add(1)
        self._handles.reporter.send(outgoing)

    async def _release_unanswered(self, claim: dict[str, Any]) -> None:
        """Repeats an unanswered claim, and releases the jobs that it got."""
        again = {**claim, "max": 1, "wait": "0s"}
        try:
            jobs = await asyncio.wait_for(self._handles.client._claim_each(again, 0, self._about), 5)
        except (TenureError, asyncio.TimeoutError):
            return
        for job in jobs:
            key = (job.id, job.fence) if isinstance(job, UnreadableJob) else key_of(job)
            self._report(*key, "release", {})

    async def drain(self, stop_now: asyncio.Event) -> None:
        """Waits for handlers up to the drain limit, then for the answers to their reports."""
        finished = asyncio.ensure_future(self._free_slots.until(lambda free: free == self._settings.slots))
        stop = asyncio.ensure_future(stop_now.wait())
        await asyncio.wait({finished, stop}, timeout=self._settings.drain, return_when=asyncio.FIRST_COMPLETED)
        stop.cancel()
        if not finished.done():
            finished.cancel()
            self._handles.lease_keeper.stop_all()
        try:
            timeout = 2 * SHUTDOWN_GRACE + _ANSWER_TIMEOUT
            await asyncio.wait_for(self._open_jobs.until(lambda count: count == 0), timeout)
        except asyncio.TimeoutError:
            log.warning("worker stopped with unanswered reports; their leases expire")
