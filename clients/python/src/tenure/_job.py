"""What a handler gets: the payload, the attempt's ids, and methods for progress, logs, assets and the stop signal."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from ._held_job import HeldJob, Upload
from ._span import Span, seconds
from ._stop import Stop, StopSignal
from ._transport import Content
from ._wire import JobRecord

P = TypeVar("P")


class Job(Generic[P]):
    """A job, as its handler gets it. `P` is the type of the payload."""

    def __init__(self, held: HeldJob, payload: P) -> None:
        self._held = held
        self.payload = payload

    @property
    def record(self) -> JobRecord:
        """The job as the server returned it to the claim."""
        return self._held.record

    @property
    def id(self) -> str:
        """The id, the same in every attempt."""
        return self.record.id

    @property
    def type(self) -> str:
        return self.record.type

    @property
    def attempt(self) -> int:
        """The attempt, from 1."""
        return self.record.attempt

    @property
    def fence(self) -> int:
        """The number of this lease. It only grows: a system that has seen a higher one can reject this one."""
        return self._held.fence

    @property
    def checkpoint(self) -> Any:
        """The checkpoint of the previous attempt, if it set one."""
        return self.record.checkpoint

    @property
    def correlation_id(self) -> str:
        return self.record.correlation_id

    @property
    def traceparent(self) -> str | None:
        """The W3C trace context to continue."""
        return self.record.traceparent

    def progress(self, percent: float, message: str | None = None) -> None:
        """Reports progress from 0 to 100. Does not wait; replaces progress that is not sent yet."""
        self._held.progress(percent, message)

    def log(self, line: str, *, stream: str = "stdout", level: str = "info") -> None:
        """Adds a line to the job's log. Does not wait."""
        self._held.log(stream, level, line)

    def asset(self, name: str, content: Content, *, asset_type: str | None = None) -> Upload:
        """Begins to upload an asset: bytes, or the path of a file. Its type is the extension of the name, or `file`.

        Does not wait. To get the asset, `await` the upload or call its `result()`.
        """
        return self._held.upload(name, content, asset_type)

    @property
    def stop_signal(self) -> StopSignal:
        return self._held.stop_signal

    @property
    def stop_cause(self) -> Stop | None:
        """Why the handler should stop, if it should."""
        return self._held.stop_signal.now

    @property
    def is_stopped(self) -> bool:
        """Whether the handler should stop."""
        return self.stop_cause is not None

    async def stopped(self, at_least: Stop = Stop.SOFT_CANCEL) -> Stop:
        """Waits until the handler should stop for this reason or a stronger one, and returns why."""
        return await self._held.stop_signal.wait_async(at_least)

    def wait_stopped(self, timeout: Span | None = None, at_least: Stop = Stop.SOFT_CANCEL) -> Stop | None:
        """The same for plain functions: blocks up to the timeout, and then returns `None`."""
        return self._held.stop_signal.wait(at_least, None if timeout is None else seconds(timeout))
