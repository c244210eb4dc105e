"""Coalescing: creations that are requested while another one is in flight leave together, with the next request.

The answers set the pace, not a timer: a call that finds nothing in flight leaves at once, and the calls that come
meanwhile leave as one batch when the answer is there.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from ._errors import Problem, TenureError, Unreachable
from ._json import dump
from ._wire import JobRecord

# A larger job gains nothing from company and would delay the others.
JOB_BYTES_MAX = 256 << 10
# A server accepts several times as much, unless it is configured otherwise.
_BATCH_BYTES_MAX = 4 << 20
_BATCH_JOBS_MAX = 1000
# Yields between an answer and the next request, so that the callers that were answered can ask again.
_YIELDS = 5

Created = JobRecord | TenureError | None
"""The answer about one job of a batch; `None`: it must be sent alone. It may have been created."""


@dataclass(frozen=True)
class KeyedJob:
    """A job to create as JSON, with its idempotency key: it can be sent any number of times, alone or in a batch."""

    body: bytes
    key: str | None

    @property
    def size(self) -> int:
        """An upper limit of its size in a batch."""
        return len(self.body) + 2 * len(self.key or "") + 32


def batch_body(jobs: Iterable[KeyedJob]) -> bytes:
    """The body of a batch.

    >>> batch_body([KeyedJob(b'{"type":"a"}', "k"), KeyedJob(b'{"type":"b"}', None)])
    b'{"jobs":[{"idempotency_key":"k","type":"a"},{"type":"b"}]}'
    """
    return b'{"jobs":[' + b",".join(map(_batch_item, jobs)) + b"]}"


def _batch_item(job: KeyedJob) -> bytes:
    if job.key is None:
        return job.body
    # The body is an object with at least a type.
    return b'{"idempotency_key":' + dump("key", job.key) + b"," + job.body[1:]


@dataclass(eq=False)
class _AsyncEntry:
    job: KeyedJob
    answer: asyncio.Future[Created]


@dataclass(eq=False)
class _Entry:
    job: KeyedJob
    answer: Created = None
    # Set when the answer is there, and when this caller must send the next request.
    woken: threading.Event = field(default_factory=threading.Event)
    must_send: bool = True


E = TypeVar("E", _AsyncEntry, _Entry)


class _Queue(Generic[E]):
    """The creations that wait for their request."""

    def __init__(self) -> None:
        self.waiting: deque[E] = deque()
        self.bytes_max = _BATCH_BYTES_MAX

    def take(self) -> list[E]:
        """The entries of the next request, as many as fit, at least one if any waits."""
        taken: list[E] = []
        size = 16
        while self.waiting and len(taken) < _BATCH_JOBS_MAX:
            size += self.waiting[0].job.size
            if taken and size > self.bytes_max:
                break
            taken.append(self.waiting.popleft())
        return taken

    def answers_after(self, error: TenureError, count: int) -> Sequence[Created]:
        """What a refused batch means for each of its jobs."""
        if isinstance(error, Unreachable):
            return [error] * count
        if isinstance(error, Problem):
            if error.status in (401, 403, 421, 429, 503):
                return [error] * count
            if error.status == 413:
                self.bytes_max = error.members.get("limit", self.bytes_max)
        # One of them may be the cause.
        return [None] * count


def _per_job(results: Sequence[JobRecord | Problem]) -> Sequence[Created]:
    # Servers of version 0.1 refuse the key of a job in a batch, but not of a job alone.
    return [None if isinstance(each, Problem) and each.code == "malformed" else each for each in results]


class AsyncCoalescer:
    """Sends the creations of one client from a task, so that no call depends on the caller of another one."""

    def __init__(
        self,
        single: Callable[[KeyedJob], Awaitable[JobRecord]],
        batch: Callable[[Sequence[KeyedJob]], Awaitable[Sequence[JobRecord | Problem]]],
    ) -> None:
        self._single, self._batch = single, batch
        self._queue = _Queue[_AsyncEntry]()
        self._task: asyncio.Task[None] | None = None

    async def send(self, job: KeyedJob) -> Created:
        """Sends a job once, with the next request."""
        entry = _AsyncEntry(job, asyncio.get_running_loop().create_future())
        self._queue.waiting.append(entry)
        if self._task is None:
            self._task = asyncio.create_task(self._run())
        return await entry.answer

    async def _run(self) -> None:
        taken: list[_AsyncEntry] = []
        try:
            while taken := self._queue.take():
                # A job whose caller is gone is not sent.
                taken = [entry for entry in taken if not entry.answer.done()]
                answers = await self._request([entry.job for entry in taken])
                for entry, answer in zip(taken, answers, strict=True):
                    if not entry.answer.done():
                        entry.answer.set_result(answer)
                for _ in range(_YIELDS):
                    await asyncio.sleep(0)
        finally:
            self._task = None
            for entry in (*taken, *self._queue.waiting):
                if not entry.answer.done():
                    entry.answer.set_result(None)
            self._queue.waiting.clear()

    async def _request(self, jobs: Sequence[KeyedJob]) -> Sequence[Created]:
        try:
            if len(jobs) <= 1:
                return [await self._single(job) for job in jobs]
            return _per_job(await self._batch(jobs))
        except TenureError as error:
            return [error] if len(jobs) == 1 else self._queue.answers_after(error, len(jobs))


class Coalescer:
    """Sends the creations of one client from the threads of its callers: the first that waits sends for all."""

    def __init__(
        self,
        single: Callable[[KeyedJob], JobRecord],
        batch: Callable[[Sequence[KeyedJob]], Sequence[JobRecord | Problem]],
    ) -> None:
        self._single, self._batch = single, batch
        self._queue = _Queue[_Entry]()
        self._lock = threading.Lock()
        self._is_in_flight = False

    def send(self, job: KeyedJob) -> Created:
        """Sends a job once, with the next request."""
        entry = _Entry(job)
        with self._lock:
            self._queue.waiting.append(entry)
            is_in_flight, self._is_in_flight = self._is_in_flight, True
        if is_in_flight:
            self._wait(entry)
        if entry.must_send:
            self._send_waiting()
        return entry.answer

    def _wait(self, entry: _Entry) -> None:
        try:
            entry.woken.wait()
        except BaseException:  # an interrupt; another caller sends the rest
            with self._lock:
                if entry in self._queue.waiting:
                    self._queue.waiting.remove(entry)
                    if entry.woken.is_set():
                        self._wake_next()
            raise

    def _wake_next(self) -> None:
        self._is_in_flight = bool(self._queue.waiting)
        if self._is_in_flight:
            self._queue.waiting[0].woken.set()

    def _send_waiting(self) -> None:
        with self._lock:
            taken = self._queue.take()
        answers: Sequence[Created] = [None] * len(taken)
        try:
            answers = self._request([entry.job for entry in taken])
        finally:
            for entry, answer in zip(taken, answers, strict=True):
                entry.answer, entry.must_send = answer, False
                entry.woken.set()
            with self._lock:
                self._wake_next()

    def _request(self, jobs: Sequence[KeyedJob]) -> Sequence[Created]:
        try:
            if len(jobs) == 1:
                return [self._single(jobs[0])]
            return _per_job(self._batch(jobs))
        except TenureError as error:
            return [error] if len(jobs) == 1 else self._queue.answers_after(error, len(jobs))
