"""The asynchronous client. generate.py writes the blocking one from this file."""

from __future__ import annotations

import builtins
import json as jsonlib
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from ._coalesce import JOB_BYTES_MAX, AsyncCoalescer, KeyedJob, batch_body
from ._errors import Problem, ProtocolError, TenureError, Unreachable
from ._json import UnreadableJob, decode, dump, read_claimed
from ._span import Span, seconds, span_text
from ._sse import EventReader, SentEvent
from ._transport import (
    Answer,
    AsyncTransport,
    Content,
    Request,
    Server,
    backoff,
    request,
    retry_pause,
    upload_timeout,
)
from ._values import FinalStatus, Holder, Page, fresh_id, generated_key, present, time_text
from ._wire import (
    Account,
    ActionResults,
    ApiKey,
    Asset,
    AuditLine,
    CancelMode,
    DeadLetter,
    DeadLetterFilter,
    ErasureProgress,
    Event,
    Explanation,
    Health,
    HeartbeatAnswer,
    JobFilter,
    JobRecord,
    JobRequest,
    JobType,
    Lifecycle,
    LifecycleSummary,
    LogCount,
    LogLine,
    LogLineGiven,
    NewBatchJob,
    NewKey,
    NewSchedule,
    NewWebhookFilter,
    PausedQueue,
    Queue,
    Readiness,
    ReasonCode,
    RedriveResults,
    Report,
    Resource,
    Schedule,
    SequenceStatus,
    SetResourceLimits,
    Stats,
    StreamToken,
    Webhook,
    WhatIf,
    WorkerStatus,
)

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

T = TypeVar("T")

# A stream without data for this long, not even a comment, is reopened.
_SILENCE_MAX = 60.0
# A stream that gives nothing for this long after its connection broke is an error.
_OUTAGE_MAX = 60.0
# The longest time between two looks at the deadline of `wait`.
_WAIT_STEP = 1.0
# The time between two looks at a request in SQL that no node has taken in. That takes milliseconds while one runs.
_LOOK_PAUSE = 0.1


class AsyncClient:
    """A client for asyncio of a Tenure server.

    Without arguments it uses `TENURE_URL` and `TENURE_KEY`. Calls that are safe to repeat are retried while the server
    is unreachable or overloaded. Concurrent calls of `create` travel together unless `coalesce` is false.

    >>> job = await client.create("hello", {"name": "Ada"})
    >>> (await client.get(job.id)).state
    'queued'
    """

    def __init__(self, url: str | None = None, *, key: str | None = None, coalesce: bool = True) -> None:
        self._server = Server.find(url, key)
        self._transport = AsyncTransport(self._server)
        self._coalescer = AsyncCoalescer(self._create_single, self._create_batch) if coalesce else None

    @property
    def url(self) -> str:
        """The server's address, without a trailing slash."""
        return self._server.url

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.url!r})"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, type_: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Closes the connections."""
        await self._transport.aclose()

    # Jobs

    async def create(
        self,
        type: str,
        payload: Any = None,
        *,
        key: str | None = None,
        derive_key: bool = False,
        queue: str | None = None,
        priority: int | None = None,
        run_at: datetime | str | None = None,
        delay: Span | None = None,
        max_attempts: int | None = None,
        lifecycle: str | None = None,
        user_id: str | None = None,
        correlation_id: str | None = None,
        traceparent: str | None = None,
    ) -> JobRecord:
        """Creates a job, or returns the one that has its key, with `replayed`.

        Without `key` the client makes one, so that it can repeat a call whose answer was lost. With `derive_key` it
        sends none: the lifecycle derives the key, and a lost call is not repeated.

        >>> first = await client.create("hello", key="order-42")
        >>> again = await client.create("hello", key="order-42")
        >>> again.id == first.id, again.replayed
        (True, True)
        """
        body = {"type": type, "payload": payload, "queue": queue, "priority": priority}
        body |= {"run_at": time_text(run_at), "delay": None if delay is None else span_text(delay)}
        body |= {"max_attempts": max_attempts, "lifecycle": lifecycle, "user_id": user_id}
        body |= {"correlation_id": correlation_id}
        key = None if derive_key else key or generated_key()
        job = KeyedJob(dump("job", present(body)), key)
        # A batch carries jobs with a key and without a trace context.
        if self._coalescer and key and not traceparent and len(job.body) <= JOB_BYTES_MAX:
            return await self._create_coalesced(self._coalescer, job)
        headers = {"traceparent": traceparent} if traceparent else {}
        return _created(await self._repeated(_creation(job, headers)))

    async def create_many(self, jobs: Iterable[NewBatchJob]) -> builtins.list[JobRecord | Problem]:
        """Creates up to 10,000 jobs; each is created or refused independently, and the results are in order.

        A job without `idempotency_key` gets one; `None` lets the lifecycle derive it.

        >>> [job, problem] = await client.create_many([{"type": "hello"}, {"type": "no\\nname"}])
        >>> job.type, problem.code
        ('hello', 'malformed')
        """
        keyed = [_keyed(job) for job in jobs]
        sent = replace(_batch(keyed), is_keyed_inside=all(job.key for job in keyed))
        return _results(JobRecord, await self._repeated(sent), len(keyed))

    async def get(self, job: str) -> JobRecord | JobRequest:
        """One job; or a request in SQL that is not taken in yet, refused, or merged, with the `state` `None`."""
        return _found((await self._repeated(request("GET", "/api/jobs/{}", job))).json())

    async def list(
        self, *, limit: int | None = None, cursor: str | None = None, **filter: Unpack[JobFilter]
    ) -> Page[JobRecord | JobRequest]:
        """Jobs, newest first; with `phase="refused"` requests in SQL that were refused.

        >>> page = await client.list(type="hello", state="queued", limit=1)
        >>> [job.type for job in page]
        ['hello']
        """
        return await self._page(_found, "jobs", "/api/jobs", query={**filter, "limit": limit, "cursor": cursor})

    async def history(self, job: str, *, telemetry: bool = False) -> builtins.list[Event]:
        """A job's events in order, on request with its heartbeats and progress."""
        query: dict[str, Any] = {"telemetry": telemetry or None}
        events: builtins.list[Event] = []
        while True:
            page = await self._page(Event, "events", "/api/jobs/{}/events", job, query=query)
            events += page.rows
            if page.next_cursor is None:
                return events
            query["cursor"] = page.next_cursor

    async def replay(self, job: str, seq: int) -> JobRecord:
        """The job as it was after this many transitions."""
        return await self._get(JobRecord, "/api/jobs/{}/replay", job, query={"seq": seq})

    async def explain(self, job: str) -> Explanation:
        """Why a job is in its state, and what can happen next."""
        return await self._get(Explanation, "/api/jobs/{}/explain", job)

    async def stream_token(self, job: str) -> StreamToken:
        """A token with which a browser opens the stream of this job, and nothing else.

        It is valid for 5 minutes, and for reconnects of the stream.

        >>> job = await client.create("hello")
        >>> (await client.stream_token(job.id)).token[:4]
        'tns_'
        """
        return await self._change(StreamToken, "/api/jobs/{}/stream-token", job)

    async def cancel(self, job: str, mode: CancelMode = "soft", reason: str | None = None) -> JobRecord:
        """Cancels a job, or asks its worker to stop."""
        return await self._change(JobRecord, "/api/jobs/{}/cancel", job, json={"mode": mode, "reason": reason})

    async def amend(
        self,
        job: str,
        *,
        payload: Any = None,
        priority: int | None = None,
        run_at: datetime | str | None = None,
        if_seq: int | None = None,
    ) -> JobRecord:
        """Changes values of a job that no worker holds. `if_seq`: refused unless this is the job's `seq`."""
        body = present({"payload": payload, "priority": priority, "run_at": time_text(run_at)})
        headers = {} if if_seq is None else {"if-match": str(if_seq)}
        sent = request("PATCH", "/api/jobs/{}", job, json=body, key=fresh_id(), headers=headers)
        return decode(JobRecord, (await self._repeated(sent)).json())

    async def retry(self, job: str) -> JobRecord:
        """Creates a new job like this finished one."""
        return await self._change(JobRecord, "/api/jobs/{}/retry", job)

    async def signal(self, job: str, name: str, payload: Any = None) -> JobRecord:
        """Sends a signal that the job's lifecycle declares."""
        body = {} if payload is None else {"payload": payload}
        return await self._change(JobRecord, "/api/jobs/{}/signals/{}", job, name, json=body)

    async def delete(self, job: str) -> None:
        """Deletes a finished job, with everything that belongs to it."""
        await self._repeated(request("DELETE", "/api/jobs/{}", job))

    async def dead_letter(self, job: str, reason_code: ReasonCode, detail: str) -> JobRecord:
        """Gives a job up, with a reason such as `policy_violation`."""
        body = {"reason_code": reason_code, "detail": detail}
        return await self._change(JobRecord, "/api/jobs/{}/dead-letter", job, json=body)

    async def logs(self, job: str, after: int = 0, limit: int | None = None) -> Page[LogLine]:
        """The lines of a job's log after the one with this number."""
        return await self._page(LogLine, "lines", "/api/jobs/{}/logs", job, query={"after": after, "limit": limit})

    async def append_logs(
        self, job: str, lines: Sequence[LogLineGiven], holder: Holder | None = None, *, key: str | None = None
    ) -> int:
        """Appends to a job's log, as its holder, its owner or an operator. Returns the number of its lines."""
        body = {**_holder(holder), "lines": lines}
        return (await self._change(LogCount, "/api/jobs/{}/logs", job, json=body, key=key)).lines

    async def assets(self, job: str, *, limit: int | None = None, cursor: str | None = None) -> Page[Asset]:
        """A job's assets, newest first."""
        query = {"limit": limit, "cursor": cursor}
        return await self._page(Asset, "assets", "/api/jobs/{}/assets", job, query=query)

    async def asset(self, job: str, asset: str) -> Asset:
        """One asset."""
        return await self._get(Asset, "/api/jobs/{}/assets/{}", job, asset)

    async def upload(
        self,
        job: str,
        name: str,
        content: Content,
        *,
        asset_type: str | None = None,
        holder: Holder | None = None,
        key: str | None = None,
    ) -> Asset:
        """Uploads an asset under a file name. Its type is the extension of the name, or `file`.

        Each try may take 30 seconds, and one second more for each 16 KiB.
        """
        extension = name.rpartition(".")[2] if "." in name else ""
        query = {"asset_type": asset_type or extension or "file", "name": name, **_holder(holder)}
        timeout = upload_timeout(content)
        sent = request("POST", "/api/jobs/{}/assets", job, query=query, content=content, timeout=timeout)
        answer = await self._repeated(replace(sent, key=key or fresh_id()))
        return decode(Asset, answer.json())

    async def register_asset(
        self,
        job: str,
        asset_type: str,
        url: str,
        *,
        storage_path: str | None = None,
        file_size: int | None = None,
        holder: Holder | None = None,
    ) -> Asset:
        """Registers an asset whose content is elsewhere."""
        body = {"asset_type": asset_type, "url": url, "storage_path": storage_path, "file_size": file_size}
        return await self._change(Asset, "/api/jobs/{}/assets", job, json={**body, **_holder(holder)})

    async def download(self, job: str, asset: str) -> bytes:
        """The content of an uploaded asset."""
        return (await self._repeated(request("GET", "/api/jobs/{}/assets/{}/content", job, asset))).body

    async def download_chunks(self, job: str, asset: str) -> AsyncIterator[bytes]:
        """The content of an uploaded asset in pieces. A download that breaks off is an error."""
        sent = request("GET", "/api/jobs/{}/assets/{}/content", job, asset)
        async with self._transport.stream(sent) as (_, pieces):
            async for piece in pieces:
                yield piece

    # Following

    async def follow(self, job: str) -> AsyncIterator[LogLine | FinalStatus]:
        """Follows a job: its log from the start, then its final status. Resumes after a broken connection.

        A request in SQL is followed as the job that it becomes or that answers it; its refusal is raised.

        >>> job = await client.create("hello")
        >>> await client.append_logs(job.id, [{"text": "on its way"}])
        1
        >>> async for seen in client.follow(job.id):
        ...     print(seen.text)
        ...     break
        on its way
        """
        found = job
        while True:
            try:
                async for sent in self._feed(request("GET", "/api/jobs/{}/stream", found), None):
                    if sent.name == "log":
                        yield decode(LogLine, jsonlib.loads(sent.text))
                    elif sent.name == "status":
                        yield decode(FinalStatus, jsonlib.loads(sent.text))
                        return
                return
            except Problem as problem:
                found = await self._job_behind(job, found, problem)

    async def wait(self, job: str, timeout: Span | None = None) -> JobRecord:
        """Waits until a job is finished and returns it. After the timeout, raises `TimeoutError`.

        Without a timeout it waits also while the server cannot be reached. For a request in SQL it waits for the job
        that it becomes or that answers it; its refusal is raised.
        """
        found = job
        deadline = None if timeout is None else time.monotonic() + seconds(timeout)
        path, tries = "/api/jobs/{}/stream", 0
        while True:
            silence = _SILENCE_MAX if deadline is None else min(_SILENCE_MAX, deadline - time.monotonic())
            if silence <= 0:
                raise TimeoutError(f"job {job} has not finished in time")
            # No log has this many lines, so that the first event is the final status.
            sent = request("GET", path, found, query={"after": "9" * 18}, headers=_SSE, timeout=silence)
            try:
                if await self._is_final(sent):
                    return await self._get(JobRecord, "/api/jobs/{}", found)
                tries = 0
            except TenureError as error:
                failure = error
                if not error.is_retryable:
                    try:
                        found = await self._job_behind(job, found, error, deadline)
                        continue
                    except TenureError as behind:
                        if not behind.is_retryable:
                            raise
                        failure = behind
                tries += 1
                await self._transport.sleep(min(silence, failure.retry_after or backoff(tries)))

    async def events(
        self,
        after: str | None = None,
        *,
        type: str | None = None,
        lifecycle: str | None = None,
        job_id: str | None = None,
        correlation_id: str | None = None,
        user_id: str | None = None,
    ) -> AsyncIterator[tuple[Event, str]]:
        """Follows the journal after a cursor, or from its beginning: each event, and the cursor after it.

        >>> async for event, cursor in client.events(type="job_queued"):
        ...     print(event.from_, event.to)
        ...     break
        None queued
        """
        query = {"type": type, "lifecycle": lifecycle, "job_id": job_id, "correlation_id": correlation_id}
        sent = request("GET", "/api/events", query={**query, "user_id": user_id})
        async for event in self._feed(sent, after):
            if event.id is not None:
                yield decode(Event, jsonlib.loads(event.text)), event.id

    async def journal(self, after: str | None = None, *, limit: int | None = None, **filter: str | None) -> Page[Event]:
        """A page of the journal after a cursor, with the filters of `events`. Its `next_cursor` is always set."""
        return await self._page(Event, "events", "/api/events", query={"after": after, "limit": limit, **filter})

    async def follow_audit(self, after: str | None = None) -> AsyncIterator[tuple[AuditLine, str]]:
        """Follows the audit log after a cursor, or from its beginning."""
        async for event in self._feed(request("GET", "/api/audit"), after):
            if event.id is not None:
                yield decode(AuditLine, jsonlib.loads(event.text)), event.id

    # Workers. None of these calls is retried here; the worker decides.

    async def claim(
        self,
        worker: str,
        *,
        types: Sequence[str] = (),
        queues: Sequence[str] = (),
        max: int = 1,
        wait: Span = 0,
        request_id: str | None = None,
        start: bool = False,
    ) -> builtins.list[JobRecord]:
        """Claims jobs, and waits for them. The same `request_id` again returns the same jobs."""
        body = {"worker": worker, "types": _names(types), "queues": _names(queues), "max": max}
        body |= {"wait": span_text(wait), "request_id": request_id, "start": start}
        return [_readable(job) for job in await self._claim_each(present(body), seconds(wait))]

    async def report(self, worker: str, job: str, fence: int, verb: str, **members: Any) -> JobRecord:
        """Reports about one job; for heartbeats there is `heartbeat`."""
        body = {"worker": worker, "fence": fence, **members}
        answer = await self._transport.send(request("POST", "/api/jobs/{}/{}", job, verb, json=body))
        return decode(JobRecord, answer.json())

    async def heartbeat(self, worker: str, job: str, fence: int) -> HeartbeatAnswer:
        """Keeps a lease alive."""
        body = {"worker": worker, "fence": fence}
        answer = await self._transport.send(request("POST", "/api/jobs/{}/heartbeat", job, json=body))
        return decode(HeartbeatAnswer, answer.json())

    async def reports(self, worker: str, reports: Sequence[Report]) -> builtins.list[dict[str, Any] | Problem]:
        """Reports about up to 10,000 jobs, each independently. The results are in order, as JSON."""
        sent = request("POST", "/api/reports", json={"worker": worker, "reports": reports})
        return _results(dict, await self._transport.send(sent), len(reports))

    async def workers(self) -> Page[WorkerStatus]:
        """The workers that were seen, when, and what they hold."""
        return await self._page(WorkerStatus, "workers", "/api/workers")

    # Operators

    async def dead_letters(
        self,
        *,
        dismissed: bool = False,
        limit: int | None = None,
        cursor: str | None = None,
        **filter: Unpack[DeadLetterFilter],
    ) -> Page[DeadLetter]:
        """Dead letters: open ones, or those that were dismissed."""
        query = {**filter, "dismissed": dismissed or None, "limit": limit, "cursor": cursor}
        return await self._page(DeadLetter, "dead_letters", "/api/dead-letters", query=query)

    async def redrive(
        self,
        ids: Sequence[str] | None = None,
        *,
        max_per_second: float | None = None,
        cursor: str | None = None,
        **filter: Unpack[DeadLetterFilter],
    ) -> RedriveResults:
        """Creates a new job for each of these dead letters: those with these ids, or those that match the filter."""
        which = {"filter": filter} if ids is None else {"ids": ids}
        body = {**which, "max_per_second": max_per_second, "cursor": cursor}
        return await self._change(RedriveResults, "/api/dead-letters/redrive", json=body)

    async def dismiss(self, job: str, reason: str) -> DeadLetter:
        """Dismisses a dead letter, with a reason."""
        return await self._change(DeadLetter, "/api/dead-letters/{}/dismiss", job, json={"reason": reason})

    async def act(
        self,
        action: str,
        *,
        mode: CancelMode | None = None,
        all: bool = False,
        dry_run: bool = False,
        cursor: str | None = None,
        **filter: Unpack[JobFilter],
    ) -> ActionResults:
        """Cancels, retries or deletes every job that matches, at most 10,000 in a call. `dry_run` only counts.

        The server refuses an empty filter unless `all` is true.

        >>> (await client.act("cancel", type="nothing", dry_run=True)).matched
        0
        """
        body = {"action": action, "filter": filter, "mode": mode, "cursor": cursor}
        return await self._change(ActionResults, "/api/jobs/actions", json={**body, "all": all, "dry_run": dry_run})

    async def queues(self) -> Page[Queue]:
        """The queues and the number of their jobs."""
        return await self._page(Queue, "queues", "/api/queues")

    async def pause_queue(self, name: str) -> PausedQueue:
        """Stops claims from a queue."""
        return await self._change(PausedQueue, "/api/queues/{}/pause", name)

    async def resume_queue(self, name: str) -> PausedQueue:
        """Allows claims from a queue again."""
        return await self._change(PausedQueue, "/api/queues/{}/resume", name)

    async def resources(self, *, limit: int | None = None, cursor: str | None = None) -> Page[Resource]:
        """The declared resources of flow control, each with its busiest buckets."""
        return await self._page(Resource, "resources", "/api/resources", query={"limit": limit, "cursor": cursor})

    async def resource(self, name: str, *, key: str | None = None) -> Resource:
        """One resource, with its busiest buckets, or only that of a key."""
        return await self._get(Resource, "/api/resources/{}", name, query={"key": key})

    async def set_resource(self, name: str, **limits: Unpack[SetResourceLimits]) -> Resource:
        """Overrides limits of a resource; `None` is no limit. Those that are not given are as in the configuration."""
        return await self._put(Resource, "/api/resources/{}", name, json=limits)

    async def reset_resource(self, name: str) -> Resource:
        """Returns to the limits of the configuration."""
        return decode(Resource, (await self._repeated(request("DELETE", "/api/resources/{}", name))).json())

    async def pause_resource(self, name: str, *, key: str | None = None, duration: Span | None = None) -> Resource:
        """Grants no leases that use a resource, or the bucket of a key: for this time, or until it is resumed."""
        body = {"key": key, "for": None if duration is None else span_text(duration)}
        return await self._change(Resource, "/api/resources/{}/pause", name, json=body)

    async def resume_resource(self, name: str, *, key: str | None = None) -> Resource:
        """Ends the pauses of a resource, or of the bucket of a key."""
        return await self._change(Resource, "/api/resources/{}/resume", name, json={"key": key})

    async def sequences(
        self, *, halted: bool = False, limit: int | None = None, cursor: str | None = None
    ) -> Page[SequenceStatus]:
        """Sequences with unfinished jobs, or only those that a failure has halted."""
        query = {"halted": halted or None, "limit": limit, "cursor": cursor}
        return await self._page(SequenceStatus, "sequences", "/api/sequences", query=query)

    async def resume_sequence(self, type: str, key: str) -> SequenceStatus:
        """Resumes a halted sequence with its next job."""
        return await self._change(SequenceStatus, "/api/sequences/{}/{}/resume", type, key)

    async def lifecycles(self) -> Page[LifecycleSummary]:
        """The lifecycles, each in its newest version."""
        return await self._page(LifecycleSummary, "lifecycles", "/api/lifecycles")

    async def lifecycle(self, name: str) -> Lifecycle:
        """One lifecycle."""
        return await self._get(Lifecycle, "/api/lifecycles/{}", name)

    async def diagram(self, lifecycle: str) -> str:
        """A lifecycle as a drawing (SVG)."""
        return await self._text("/api/lifecycles/{}/diagram.svg", lifecycle)

    async def try_lifecycle(self, name: str, source: str, *, since: Span | None = None) -> WhatIf:
        """What another version of a lifecycle, given as the text of its file, would change. Changes nothing.

        `since`: how far back finished jobs are replayed, by default a day.
        """
        body = {"source": source, "since": None if since is None else span_text(since)}
        return await self._change(WhatIf, "/api/lifecycles/{}/what-if", name, json=body)

    async def types(self) -> Page[JobType]:
        """The types of jobs."""
        return await self._page(JobType, "types", "/api/types")

    async def credits(self, user: str, *, limit: int | None = None, cursor: str | None = None) -> Account:
        """A user's account, and a page of its ledger."""
        query = {"limit": limit, "cursor": cursor}
        return await self._get(Account, "/api/accounts/{}/credits", user, query=query)

    async def grant(self, user: str, amount: int, reason: str) -> Account:
        """Grants a user credits."""
        body = {"grant": amount, "reason": reason}
        return await self._change(Account, "/api/accounts/{}/credits", user, json=body)

    async def erase_user(self, user: str, reason: str) -> ErasureProgress:
        """Erases a user: deletes the finished jobs now, the others when they are finished."""
        return await self._change(ErasureProgress, "/api/users/{}/erase", user, json={"reason": reason})

    async def audit(self, *, limit: int | None = None, cursor: str | None = None) -> Page[AuditLine]:
        """The audit log."""
        return await self._page(AuditLine, "audit", "/api/audit", query={"limit": limit, "cursor": cursor})

    async def schedules(self) -> Page[Schedule]:
        """The schedules, each with its next times and its description in words."""
        return await self._page(Schedule, "schedules", "/api/schedules")

    async def schedule(self, id: str) -> Schedule:
        """One schedule."""
        return await self._get(Schedule, "/api/schedules/{}", id)

    async def create_schedule(self, **schedule: Unpack[NewSchedule]) -> Schedule:
        """Creates a schedule.

        >>> nightly = await client.create_schedule(id="nightly", cron="0 3 * * *", job={"type": "backup"})
        >>> nightly.job.type
        'backup'
        """
        return await self._change(Schedule, "/api/schedules", json=schedule)

    async def replace_schedule(self, schedule: str, **values: Unpack[NewSchedule]) -> Schedule:
        """Replaces the times, the job and the policies of a schedule."""
        return await self._put(Schedule, "/api/schedules/{}", schedule, json=values)

    async def run_schedule(self, id: str) -> JobRecord:
        """Creates the job of a schedule now; its times stay."""
        return await self._change(JobRecord, "/api/schedules/{}/run", id)

    async def pause_schedule(self, id: str) -> Schedule:
        """Stops a schedule until it is resumed."""
        return await self._change(Schedule, "/api/schedules/{}/pause", id)

    async def resume_schedule(self, id: str) -> Schedule:
        """Continues a schedule with its next time."""
        return await self._change(Schedule, "/api/schedules/{}/resume", id)

    async def delete_schedule(self, id: str) -> None:
        """Deletes a schedule; its jobs remain."""
        await self._repeated(request("DELETE", "/api/schedules/{}", id))

    async def webhooks(self) -> Page[Webhook]:
        """The webhooks, without their secrets."""
        return await self._page(Webhook, "webhooks", "/api/webhooks")

    async def webhook(self, id: str) -> Webhook:
        """One webhook, without its secret."""
        return await self._get(Webhook, "/api/webhooks/{}", id)

    async def create_webhook(
        self, url: str, *, id: str | None = None, filter: NewWebhookFilter | None = None
    ) -> Webhook:
        """Creates a webhook. Only this answer has its secret, so the call is not retried."""
        body = present({"url": url, "id": id, "filter": filter})
        return await self._once(Webhook, "/api/webhooks", json=body)

    async def enable_webhook(self, id: str) -> Webhook:
        """Enables a disabled webhook; it continues with the first event that was not delivered."""
        return await self._change(Webhook, "/api/webhooks/{}/enable", id)

    async def disable_webhook(self, id: str) -> Webhook:
        """Stops the deliveries of a webhook until it is enabled."""
        return await self._change(Webhook, "/api/webhooks/{}/disable", id)

    async def replay_webhook(self, id: str, *, after: int | None = None, since: Span | None = None) -> Webhook:
        """Sends events of a webhook again: those after a position of the journal, or from this long ago on."""
        body = {"after": after, "since": None if since is None else span_text(since)}
        return await self._change(Webhook, "/api/webhooks/{}/replay", id, json=body)

    async def delete_webhook(self, id: str) -> None:
        """Deletes a webhook."""
        await self._repeated(request("DELETE", "/api/webhooks/{}", id))

    async def keys(self) -> Page[ApiKey]:
        """The keys, without their secrets."""
        return await self._page(ApiKey, "keys", "/api/keys")

    async def create_key(self, **key: Unpack[NewKey]) -> ApiKey:
        """Creates a key. Only this answer has its secret, in `key`, so the call is not retried."""
        return await self._once(ApiKey, "/api/keys", json=key)

    async def rotate_key(self, id: str, overlap: Span | None = None) -> ApiKey:
        """Gives a key a new secret; earlier ones stay valid for the overlap, by default 1 h. Not retried."""
        body = {} if overlap is None else {"overlap": span_text(overlap)}
        return await self._once(ApiKey, "/api/keys/{}/rotate", id, json=body)

    async def revoke_key(self, id: str) -> None:
        """Revokes a key."""
        await self._repeated(request("DELETE", "/api/keys/{}", id))

    async def stats(self) -> Stats:
        """Counts, rates and times, per lifecycle, state and type."""
        return await self._get(Stats, "/api/stats")

    async def health(self) -> Health:
        """Checks that the process runs."""
        return await self._get(Health, "/healthz")

    async def ready(self) -> Readiness:
        """Checks that the store answers."""
        return await self._get(Readiness, "/readyz")

    async def metrics(self) -> str:
        """The metrics, in the format of Prometheus."""
        return await self._text("/metrics")

    async def call(self, method: str, path: str, json: Any = None, *, key: str | None = None) -> Any:
        """Any call, such as one of a lifecycle API: the answer's JSON. It is retried like the others.

        >>> (await client.call("GET", "/healthz"))["status"]
        'ok'
        """
        body = None if json is None else dump("request", json)
        return (await self._repeated(Request(method, path, body=body, key=key))).json()

    # Requests

    async def _repeated(self, request: Request) -> Answer:
        """Sends a request, and retries a few times where that may help and is safe."""
        tries = 1
        while True:
            try:
                return await self._transport.send(request)
            except TenureError as error:
                pause = retry_pause(error, request.is_repeatable, tries)
                if pause is None:
                    raise
            await self._transport.sleep(pause)
            tries += 1

    async def _get(self, type_: type[T], path: str, *values: str, **more: Any) -> T:
        return decode(type_, (await self._repeated(request("GET", path, *values, **more))).json())

    async def _text(self, path: str, *values: str) -> str:
        return (await self._repeated(request("GET", path, *values))).body.decode()

    async def _page(
        self, type_: type[T] | Callable[[Any], T], rows: str, path: str, *values: str, **more: Any
    ) -> Page[T]:
        answer = (await self._repeated(request("GET", path, *values, **more))).json()
        read = partial(decode, type_) if isinstance(type_, type) else type_
        return Page([read(row) for row in answer[rows]], answer.get("next_cursor"))

    async def _change(
        self,
        type_: type[T],
        path: str,
        *values: str,
        json: Mapping[str, Any] | None = None,
        key: str | None = None,
    ) -> T:
        """A call that changes something, with a fresh key, so that it can be retried."""
        sent = request("POST", path, *values, json=present(json or {}), key=key or fresh_id())
        return decode(type_, (await self._repeated(sent)).json())

    async def _put(self, type_: type[T], path: str, *values: str, json: Mapping[str, Any]) -> T:
        """Replaces something. A member that is `None` is sent."""
        sent = request("PUT", path, *values, json=json, key=fresh_id())
        return decode(type_, (await self._repeated(sent)).json())

    async def _once(self, type_: type[T], path: str, *values: str, json: Any) -> T:
        """A call whose repeated answer would not have the secret."""
        return decode(type_, (await self._repeated(request("POST", path, *values, json=json))).json())

    async def _create_coalesced(self, coalescer: AsyncCoalescer, job: KeyedJob) -> JobRecord:
        """Retried by the rules of every other call."""
        tries = 1
        while True:
            answer = await coalescer.send(job)
            if answer is None:
                return _created(await self._repeated(_creation(job)))
            if not isinstance(answer, TenureError):
                return answer
            pause = retry_pause(answer, True, tries)
            if pause is None:
                raise answer
            await self._transport.sleep(pause)
            tries += 1

    async def _create_single(self, job: KeyedJob) -> JobRecord:
        return _created(await self._transport.send(_creation(job)))

    async def _create_batch(self, jobs: Sequence[KeyedJob]) -> builtins.list[JobRecord | Problem]:
        return _results(JobRecord, await self._transport.send(_batch(jobs)), len(jobs))

    async def _claim_each(
        self, body: Mapping[str, Any], wait: float, about: str | None = None
    ) -> builtins.list[JobRecord | UnreadableJob]:
        headers = {} if about is None else {"tenure-worker": about}
        sent = request("POST", "/api/claims", json=body, timeout=wait + 10, headers=headers)
        answer = await self._transport.send(sent)
        return read_claimed(answer.body)

    async def _reports_within(self, body: bytes, count: int, timeout: float) -> builtins.list[dict[str, Any] | Problem]:
        """For the worker, which reads the answers to heartbeats and refusals: of jobs it gets only the ids."""
        sent = Request("POST", "/api/reports", body=body, timeout=timeout).minimal()
        return _results(dict, await self._transport.send(sent), count)

    async def _job_behind(self, id: str, sought: str, error: TenureError, deadline: float | None = None) -> str:
        """After the stream of `sought` was not found: the job that a request in SQL became, or that answers it."""
        if not isinstance(error, Problem) or error.status != 404:
            raise error
        while True:
            found = await self.get(id)
            if isinstance(found, JobRecord):
                return found.id
            if found.problem is not None:
                raise found.problem
            if found.phase != "intake":
                # The job that answers it is deleted, or the caller may not see it.
                if found.job_id is None or found.job_id == sought:
                    raise error
                return found.job_id
            if deadline is not None and time.monotonic() > deadline:
                raise TimeoutError(f"request {id} has not been taken in in time")
            await self._transport.sleep(_LOOK_PAUSE)

    async def _is_final(self, sent: Request) -> bool:
        """Reads a job's stream for about a second; whether it has reported the final status."""
        opened, reader = time.monotonic(), EventReader()
        async with self._transport.stream(sent) as (status, pieces):
            if status == 204:
                return True
            async for piece in pieces:
                if any(event.name == "status" for event in reader.push(piece)):
                    return True
                if time.monotonic() - opened > _WAIT_STEP:
                    return False
        raise Unreachable("stream broke off")

    async def _feed(self, sent: Request, last_id: str | None) -> AsyncIterator[SentEvent]:
        """The events of a stream; ends when the server ends it. Reconnects behind the last event."""
        tries, broken_at = 0, 0.0
        while True:
            reader = EventReader(last_id)
            headers = _SSE if last_id is None else {**_SSE, "last-event-id": last_id}
            error: TenureError = Unreachable("stream breaks off repeatedly")
            try:
                opening = replace(sent, headers=headers, timeout=_SILENCE_MAX)
                async with self._transport.stream(opening) as (status, pieces):
                    if status == 204:
                        return
                    async for piece in pieces:
                        tries = 0
                        for event in reader.push(piece):
                            last_id = event.id
                            yield event
            except TenureError as why:
                error = why
            broken_at = broken_at if tries else time.monotonic()
            tries += 1
            if not error.is_retryable or time.monotonic() - broken_at > _OUTAGE_MAX:
                raise error
            await self._transport.sleep(error.retry_after or reader.retry or backoff(tries))


_SSE = {"accept": "text/event-stream"}


def _found(value: Any) -> JobRecord | JobRequest:
    """A request in SQL has no state."""
    is_request = isinstance(value, dict) and value.get("id") is not None and value.get("state") is None
    return decode(JobRequest, value) if is_request else decode(JobRecord, value)


def _names(names: Sequence[str]) -> list[str] | None:
    return list(names) or None


def _holder(holder: Holder | None) -> dict[str, Any]:
    return {"worker": holder.worker, "fence": holder.fence} if holder else {}


def _readable(job: JobRecord | UnreadableJob) -> JobRecord:
    if isinstance(job, UnreadableJob):
        raise ProtocolError(f"job {job.id} cannot be read: {job.why}")
    return job


def _keyed(job: NewBatchJob) -> KeyedJob:
    key = job.get("idempotency_key") if "idempotency_key" in job else generated_key()
    return KeyedJob(dump("job", {name: each for name, each in job.items() if name != "idempotency_key"}), key)


def _creation(job: KeyedJob, headers: Mapping[str, str] | None = None) -> Request:
    return Request("POST", "/api/jobs", body=job.body, key=job.key, headers=headers or {})


def _batch(jobs: Sequence[KeyedJob]) -> Request:
    return Request("POST", "/api/jobs/batch", body=batch_body(jobs))


def _created(answer: Answer) -> JobRecord:
    job = decode(JobRecord, answer.json())
    is_replayed = answer.status == 200 or answer.headers.get("idempotent-replayed") == "true"
    return replace(job, replayed=True) if is_replayed else job


def _results(type_: type[T], answer: Answer, count: int) -> list[T | Problem]:
    """The results of a batch, one for each item, in order."""
    results = (answer.json() or {}).get("results", [])
    if len(results) != count:
        raise ProtocolError(f"{len(results)} answers to a batch of {count}")
    return [Problem(each["error"]) if "error" in each else decode(type_, each["ok"]) for each in results]
