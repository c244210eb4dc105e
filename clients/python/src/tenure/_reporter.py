"""Sends reports in batches: all that wait are sent together. Each is sent until it has a definite answer."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ._async_client import AsyncClient
from ._errors import Problem, TenureError
from ._json import dump
from ._transport import backoff

log = logging.getLogger("tenure.worker")

_BATCH_MAX = 1000
# A server accepts several times as much.
_BATCH_BYTES_MAX = 4 << 20
_TIMEOUT = 30.0

Result = dict[str, Any] | Problem


def batch_of_reports(worker: str, texts: Sequence[bytes]) -> bytes:
    """The body of `POST /api/reports`."""
    return b'{"worker":' + dump("worker", worker) + b',"reports":[' + b",".join(texts) + b"]}"


@dataclass(eq=False)
class Outgoing:
    """A serialized report. `answered` is called once, when it has a definite answer or is dropped."""

    job: str
    fence: int
    verb: str
    text: bytes
    # If a final report is refused, the attempt is failed with this class.
    failure_class: str | None = None
    answered: Callable[[], None] = lambda: None

    @classmethod
    def report(cls, job: str, fence: int, verb: str, members: Mapping[str, Any]) -> Outgoing:
        """Raises `ProtocolError` if a member cannot be written as JSON."""
        report = {"job": job, "fence": fence, "verb": verb, **members}
        return cls(job, fence, verb, dump("report", report))

    @classmethod
    def final(cls, job: str, fence: int, verb: str, members: Mapping[str, Any]) -> Outgoing:
        """The report that ends a job."""
        outgoing = cls.report(job, fence, verb, members)
        is_transient = verb in ("release", "cancel-confirm") or (
            verb == "fail" and members.get("error", {}).get("class") == "transient"
        )
        outgoing.failure_class = "transient" if is_transient else "permanent"
        return outgoing

    def as_failure(self, problem: TenureError) -> Outgoing | None:
        """The failure of the attempt because its report was refused."""
        if self.failure_class is None:
            return None
        message = f"the server refused `{self.verb}`: {problem}"
        error = {"code": "REPORT_REFUSED", "message": message, "class": self.failure_class, "stage": "output"}
        failure = Outgoing.report(self.job, self.fence, "fail", {"error": error})
        failure.answered = self.answered
        return failure


class Reporter:
    """A queue of reports and the task that sends them. Used from the worker's thread only."""

    def __init__(self, client: AsyncClient, worker: str) -> None:
        self._client, self._worker = client, worker
        self._waiting: deque[Outgoing] = deque()
        self._wake = asyncio.Event()
        self._size_max = _BATCH_MAX

    def send(self, outgoing: Outgoing) -> None:
        self._waiting.append(outgoing)
        self._wake.set()

    async def run(self) -> None:
        tries = 0
        while True:
            await self._wake.wait()
            if not self._waiting:
                self._wake.clear()
                continue
            pause = await self._send_batch(self._take_batch(), tries + 1)
            tries = 0 if pause is None else tries + 1
            if pause:
                await asyncio.sleep(pause)

    def _take_batch(self) -> list[Outgoing]:
        """The first waiting reports, as many as fit; one over the size limit is sent alone."""
        batch: list[Outgoing] = []
        size = 0
        while self._waiting and len(batch) < self._size_max:
            size += len(self._waiting[0].text)
            if batch and size > _BATCH_BYTES_MAX:
                break
            batch.append(self._waiting.popleft())
        return batch

    async def _send_batch(self, batch: list[Outgoing], tries: int) -> float | None:
        """Returns the pause before the next batch; reports without a definite answer are put back to the front."""
        try:
            body = batch_of_reports(self._worker, [outgoing.text for outgoing in batch])
            results = await self._client._reports_within(body, len(batch), _TIMEOUT)
        except TenureError as error:
            return self._handle_error(batch, error, tries)
        self._size_max = _BATCH_MAX
        return self._handle_results(batch, results, tries)

    def _handle_error(self, batch: list[Outgoing], error: TenureError, tries: int) -> float | None:
        if error.is_retryable:
            log.warning("reports not answered: reports=%d error=%s", len(batch), error)
            if isinstance(error, Problem) and error.status != 503:
                # One of them may cause the error: send each alone.
                self._size_max = 1
            self._waiting.extendleft(reversed(batch))
            return backoff(tries) if error.retry_after is None else error.retry_after
        if len(batch) > 1:
            # One of them makes the server refuse the batch: send each alone until one is answered.
            self._size_max = 1
            self._waiting.extendleft(reversed(batch))
            return None
        return self._handle_results(batch, [error], tries)

    def _handle_results(
        self, batch: list[Outgoing], results: Sequence[dict[str, Any] | TenureError], tries: int
    ) -> float | None:
        again: list[Outgoing] = []
        pause: float | None = None
        for outgoing, result in zip(batch, results, strict=True):
            if isinstance(result, TenureError):
                if result.is_retryable and outgoing.failure_class:
                    pause = backoff(tries) if result.retry_after is None else result.retry_after
                    again.append(outgoing)
                    continue
                failure = _after_refusal(outgoing, result)
                if failure:
                    again.append(failure)
                    continue
            outgoing.answered()
        self._waiting.extendleft(reversed(again))
        return pause


def _after_refusal(outgoing: Outgoing, error: TenureError) -> Outgoing | None:
    """Logs a definite refusal; a final report that still has its lease is replaced by a failure."""
    if isinstance(error, Problem) and error.is_lease_conflict:
        log.warning("report refused, lease lost: job=%s verb=%s error=%s", outgoing.job, outgoing.verb, error)
        return None
    level = logging.ERROR if outgoing.failure_class else logging.DEBUG
    log.log(level, "report refused: job=%s verb=%s error=%s", outgoing.job, outgoing.verb, error)
    return outgoing.as_failure(error)
