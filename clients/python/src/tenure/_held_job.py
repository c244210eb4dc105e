"""A job that this worker holds: collects the handler's log lines and progress until they are sent."""

from __future__ import annotations

import asyncio
import concurrent.futures
import logging
import threading
from collections import deque
from collections.abc import Callable, Coroutine, Generator
from dataclasses import dataclass
from typing import Any

from ._async_client import AsyncClient
from ._errors import TenureError
from ._lease_keeper import LeaseKeeper
from ._reporter import Outgoing, Reporter
from ._stop import StopSignal
from ._text import LINE_BYTES_MAX, MESSAGE_BYTES_MAX, NAME_BYTES_MAX, chunks, truncate
from ._transport import Content, backoff
from ._values import Holder, fresh_id
from ._wire import Asset, JobRecord, LogLineGiven

log = logging.getLogger("tenure.worker")

# Queued lines; more are dropped, and a line says how many.
_LINES_MAX = 10_000
# Limits of one append: half of what the server accepts, so that the line about dropped ones fits too.
_APPEND_LINES_MAX = 5_000
_APPEND_BYTES_MAX = 1 << 20


class Upload:
    """An upload that has begun. `await` it, or call `result()` in a plain function, to get the asset.

    The job's final report is sent after its uploads. One that failed unnoticed fails the attempt.
    """

    def __init__(self, future: concurrent.futures.Future[Asset]) -> None:
        self._future = future
        self.is_observed = False

    def __await__(self) -> Generator[Any, None, Asset]:
        self.is_observed = True
        return asyncio.wrap_future(self._future).__await__()

    def result(self, timeout: float | None = None) -> Asset:
        """Blocks until the asset is stored."""
        self.is_observed = True
        return self._future.result(timeout)

    @property
    def future(self) -> concurrent.futures.Future[Asset]:
        return self._future


@dataclass(frozen=True)
class WorkerHandles:
    """What jobs need of the worker's thread."""

    worker: str
    client: AsyncClient
    loop: asyncio.AbstractEventLoop
    lease_keeper: LeaseKeeper
    reporter: Reporter
    tasks: set[asyncio.Task[Any]]

    def spawn(self, work: Coroutine[Any, Any, Any]) -> None:
        """Starts a task of the worker's thread, from that thread."""
        task = self.loop.create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)


class HeldJob:
    """Output may be added from any thread; everything else happens on the worker's thread."""

    def __init__(self, record: JobRecord, fence: int, handles: WorkerHandles) -> None:
        self.record, self.fence = record, fence
        self.stop_signal = StopSignal()
        self.uploads: list[Upload] = []
        self._handles = handles
        self._lock = threading.Lock()
        self._lines: deque[LogLineGiven] = deque()
        self._dropped = 0
        self._progress: dict[str, Any] | None = None
        # A task is sending; if not, the next caller with output starts one.
        self._is_sending = False
        # The job has ended; later output is dropped.
        self._has_ended = False
        self._final_report: Outgoing | None = None

    def progress(self, percent: float, message: str | None) -> None:
        # Decimals and numbers of numpy cannot be written as JSON.
        members: dict[str, Any] = {"progress": min(100.0, max(0.0, float(percent)))}
        if message:
            members["message"] = truncate(message, MESSAGE_BYTES_MAX)

        def replace_progress() -> None:
            self._progress = members

        self._add(replace_progress)

    def log(self, stream: str, level: str, line: str) -> None:
        texts = chunks(line, LINE_BYTES_MAX)
        stream, level = _name_or(stream, "stdout"), _name_or(level, "info")

        def add_lines() -> None:
            for text in texts:
                if len(self._lines) < _LINES_MAX:
                    self._lines.append({"stream": stream, "level": level, "text": text})
                else:
                    self._dropped += 1

        self._add(add_lines)

    def upload(self, name: str, content: Content, asset_type: str | None) -> Upload:
        work = self._upload(name, content, asset_type)
        upload = Upload(asyncio.run_coroutine_threadsafe(work, self._handles.loop))
        self.uploads.append(upload)
        return upload

    def end(self, report: Outgoing) -> None:
        """Ends the job: the report is sent after all queued output, and the lease is renewed until then."""
        with self._lock:
            self._has_ended = True
            if self._is_sending:
                self._final_report = report
                return
        self._send_final(report)

    def abandon(self) -> None:
        """Ends the job without a report: its lease is lost or it was cancelled."""
        with self._lock:
            self._has_ended = True
            self._lines.clear()
            self._progress, self._dropped = None, 0
        self._handles.lease_keeper.remove((self.record.id, self.fence))

    @property
    def _holder(self) -> Holder:
        return Holder(self._handles.worker, self.fence)

    def _add(self, change: Callable[[], None]) -> None:
        with self._lock:
            if self._has_ended:
                return
            change()
            if self._is_sending:
                return
            self._is_sending = True
        self._handles.loop.call_soon_threadsafe(lambda: self._handles.spawn(self._send()))

    async def _send(self) -> None:
        """Sends until the queue is empty, then the final report if there is one."""
        while True:
            with self._lock:
                lines, progress, self._progress = self._take_lines(), self._progress, None
                if not lines and progress is None:
                    self._is_sending = False
                    report = self._final_report
                    break
            try:
                if progress is not None:
                    await self._send_progress(progress)
                if lines:
                    await self._append(lines)
            except Exception:
                # Without this task the final report would never be sent.
                log.exception("output dropped: job=%s lines=%d", self.record.id, len(lines))
        if report is not None:
            self._send_final(report)

    async def _send_progress(self, members: dict[str, Any]) -> None:
        # Meanwhile newer progress replaces what is queued.
        answered = asyncio.Event()
        outgoing = Outgoing.report(self.record.id, self.fence, "progress", members)
        outgoing.answered = answered.set
        self._handles.reporter.send(outgoing)
        await answered.wait()

    async def _append(self, lines: list[LogLineGiven]) -> None:
        """Appends lines; retries until the server answers or the lease is lost."""
        key = fresh_id()

        async def append() -> None:
            await self._handles.client.append_logs(self.record.id, lines, self._holder, key=key)

        try:
            await self._until_answered(append)
        except TenureError as error:
            log.warning("log lines dropped: job=%s lines=%d error=%s", self.record.id, len(lines), error)

    async def _upload(self, name: str, content: Content, asset_type: str | None) -> Asset:
        key = fresh_id()

        async def upload() -> Asset:
            client, holder = self._handles.client, self._holder
            return await client.upload(self.record.id, name, content, asset_type=asset_type, holder=holder, key=key)

        asset: Asset = await self._until_answered(upload)
        return asset

    async def _until_answered(self, send: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
        tries = 0
        while True:
            try:
                return await send()
            except TenureError as error:
                if not error.is_retryable or self.stop_signal.is_over:
                    raise
                tries += 1
                await asyncio.sleep(backoff(tries) if error.retry_after is None else error.retry_after)

    def _take_lines(self) -> list[LogLineGiven]:
        """As many queued lines as fit into one append."""
        lines: list[LogLineGiven] = []
        size = 0
        while self._lines and len(lines) < _APPEND_LINES_MAX:
            size += len(self._lines[0]["text"].encode()) + 64
            if size > _APPEND_BYTES_MAX:
                return lines
            lines.append(self._lines.popleft())
        if self._dropped and not self._lines:
            text = f"{self._dropped} lines were dropped: the queue was full"
            lines.append({"stream": "stderr", "level": "warn", "text": text})
            self._dropped = 0
        return lines

    def _send_final(self, report: Outgoing) -> None:
        self._handles.lease_keeper.remove((self.record.id, self.fence))
        if self.stop_signal.is_over:
            report.answered()
        else:
            self._handles.reporter.send(report)


def _name_or(name: str, default: str) -> str:
    """The default for a name that the server refuses, together with the lines that are sent with it."""
    return name if 0 < len(name.encode("utf-8", "replace")) <= NAME_BYTES_MAX and "\0" not in name else default
