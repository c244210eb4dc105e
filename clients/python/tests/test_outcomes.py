"""What a handler returns or raises, and what becomes of the job."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, TypedDict

import pytest
from pydantic import BaseModel

from tenure import Cancelled, Job, Partial, Permanent, Reject, Release, Transient, Worker
from tenure._held_job import HeldJob
from tenure._payload import convert
from tenure.testing import running
from tests.conftest import DEADLINE, until


class Model(BaseModel):
    n: int


@dataclass
class Record:
    n: int
    names: list[str] | None = None


class Members(TypedDict):
    n: int


async def of_model(job: Job[Model]) -> int:
    return job.payload.n


def of_record(job: Job[Record]) -> int:
    return job.payload.n


def of_members(job: Job[Members]) -> int:
    return job.payload["n"]


def unique(name: str) -> str:
    unique.count += 1  # type: ignore[attr-defined]
    return f"{name}-{unique.count}"  # type: ignore[attr-defined]


unique.count = 0  # type: ignore[attr-defined]


@pytest.fixture
def finish(client, work):
    """Runs one job with a handler and returns it when it is finished."""

    def run(handler: Any, payload: Any = None, *, type_: str | None = None, **creation: Any) -> Any:
        type_ = type_ or unique("t")
        work(type_, handler)
        return client.wait(client.create(type_, payload, **creation).id, DEADLINE)

    return run


@pytest.mark.parametrize("handler", [of_model, of_record, of_members])
def test_a_payload_has_the_type_of_the_annotation(finish, handler):
    job = finish(handler, {"n": 3})
    assert (job.state, job.result) == ("succeeded", 3)


@pytest.mark.parametrize("handler", [of_model, of_record, of_members])
@pytest.mark.parametrize("payload", [{"n": "three"}, {}, [1]])
def test_a_bad_payload_fails_permanently(finish, handler, payload):
    job = finish(handler, payload)
    assert (job.state, job.error.code, job.error.class_, job.error.stage) == (
        "failed",
        "BAD_PAYLOAD",
        "permanent",
        "input",
    )


def test_one_bad_payload_fails_alone(client, work):
    type_ = unique("t")
    jobs = client.create_many([{"type": type_, "payload": {"n": n}} for n in (1, "two", 3)])
    work(type_, of_record)
    assert [client.wait(job.id, DEADLINE).result for job in jobs] == [1, None, 3]


def test_a_payload_that_does_not_convert_names_the_place():
    with pytest.raises(ValueError, match="names: 0: expected str, got int"):
        convert(Record, {"n": 1, "names": [1]})


def test_a_result_may_be_a_dataclass_or_none(finish):
    assert finish(lambda job: Record(1)).result == {"n": 1, "names": None}
    assert finish(lambda job: None).result is None


def test_a_result_that_is_not_json_fails_permanently(finish):
    job = finish(lambda job: object())
    assert (job.state, job.error.code, job.error.stage) == ("failed", "BAD_RESULT", "output")


def test_a_result_that_the_server_refuses_fails_permanently(finish):
    job = finish(lambda job: "x" * (2 << 20))
    assert (job.state, job.error.code) == ("failed", "REPORT_REFUSED")


def test_a_transient_failure_is_retried(finish):
    def flaky(job: Job[Any]) -> int:
        if job.attempt < 3:
            raise Transient("BUSY", "try later", details={"n": job.attempt})
        return job.attempt

    job = finish(flaky)
    assert (job.state, job.result, job.retry_count) == ("succeeded", 3, 2)


def test_retry_after_replaces_the_backoff(client, work):
    def busy(job: Job[Any]) -> None:
        raise Transient("BUSY", "try later", retry_after="1h")

    type_ = unique("t")
    work(type_, busy)
    id_ = client.create(type_).id
    job = until(lambda: (found := client.get(id_)).retry_count and found)
    assert (job.state, job.error.code) == ("queued", "BUSY")
    assert [each.what for each in client.explain(id_).waiting_for] == ["backoff"]


@pytest.mark.parametrize("fail", [Transient, Permanent, Release])
def test_a_handler_pauses_a_resource(client, work, fail):
    def busy(job: Job[Any]) -> None:
        raise fail(*(() if fail is Release else ("BUSY",)), pause=("openai", "1h"))

    client.call("POST", "/api/resources/openai/resume", {})
    work("metered", busy)
    client.create("metered")
    buckets = until(lambda: client.call("GET", "/api/resources/openai")["buckets"])
    assert until(lambda: client.call("GET", "/api/resources/openai")["buckets"][0]["paused_until"]), buckets


def test_a_permanent_failure_is_not_retried(finish):
    async def refuse(job: Job[Any]) -> None:
        raise Permanent("BROKEN", ValueError("why"), stage="fetch", reason_code="policy_violation")

    job = finish(refuse)
    assert (job.state, job.attempt) == ("failed", 1)
    assert (job.error.text, job.error.class_, job.error.stage) == ("BROKEN: why", "permanent", "fetch")


def test_a_raised_exception_is_a_transient_failure(finish):
    def broken(job: Job[Any]) -> None:
        raise KeyError("gone")

    job = finish(broken, max_attempts=2)
    assert (job.state, job.attempt, job.error.code, job.error.class_) == ("dead_lettered", 2, "KeyError", "transient")


@pytest.mark.parametrize("error", [SystemExit(3), StopIteration(), asyncio.CancelledError()])
def test_no_exception_stops_the_worker(finish, error):
    def broken(job: Job[Any]) -> str:
        if job.attempt == 1:
            raise error
        return "again"

    assert finish(broken).result == "again"


def test_an_async_handler_that_exits_fails_alone(finish):
    async def exits(job: Job[Any]) -> str:
        if job.attempt == 1:
            raise SystemExit(3)
        return "again"

    assert finish(exits).result == "again"


def test_an_async_handler_that_lets_a_foreign_cancel_through_fails(finish):
    async def cancelled(job: Job[Any]) -> None:
        other = asyncio.ensure_future(asyncio.Event().wait())
        other.cancel()
        await other

    job = finish(cancelled, max_attempts=2)
    assert (job.state, job.attempt, job.error.code, job.error.class_) == (
        "dead_lettered",
        2,
        "CancelledError",
        "transient",
    )


def test_a_rejected_job_is_not_retried(finish):
    def refuse(job: Job[Any]) -> None:
        raise Reject("not allowed")

    job = finish(refuse, type_="moderated", user_id="u1")
    assert (job.state, job.attempt) == ("rejected", 1)


def test_a_partial_result_is_kept(finish):
    def half(job: Job[Any]) -> None:
        raise Partial("HALF", "one of two", result={"rows": 1})

    job = finish(half, type_="export")
    assert (job.state, job.result, job.error.text) == ("partial", {"rows": 1}, "HALF: one of two")


def test_a_released_job_continues_at_its_checkpoint(finish):
    fences = []

    async def steps(job: Job[Any]) -> Any:
        fences.append(job.fence)
        if job.checkpoint is None:
            raise Release(checkpoint={"page": 7}, delay="10ms")
        return job.checkpoint["page"]

    job = finish(steps)
    assert (job.state, job.result, job.retry_count) == ("succeeded", 7, 0)
    assert fences[0] < fences[1]


def test_cancelled_without_a_request_is_refused_and_fails_the_attempt(finish):
    def cancels(job: Job[Any]) -> str:
        if job.attempt == 1:
            raise Cancelled()
        return "done"

    assert finish(cancels).result == "done"


def test_output_is_sent_in_order_before_the_result(client, finish):
    def talk(job: Job[Any]) -> None:
        for n in range(500):
            job.log(f"line {n}")
            job.progress(n / 5, f"step {n}")
        job.log("bad", stream="stderr", level="error")

    job = finish(talk)
    lines = client.logs(job.id, after=490).rows
    assert [line.n for line in lines] == list(range(491, 502))
    assert [line.text for line in lines] == [*(f"line {n}" for n in range(490, 500)), "bad"]
    assert (lines[-1].stream, lines[-1].level) == ("stderr", "error")
    steps = [event.payload["progress"] for event in client.history(job.id, telemetry=True) if "prog" in event.type]
    assert steps == sorted(steps)
    assert steps[-1] == pytest.approx(499 / 5)


@pytest.mark.parametrize("number", [Decimal("12.5"), Fraction(25, 2), "12.5"])
def test_progress_may_be_any_number(client, finish, number):
    job = finish(lambda job: job.progress(number))
    steps = [event.payload["progress"] for event in client.history(job.id, telemetry=True) if "prog" in event.type]
    assert steps == [12.5]


def test_progress_that_is_no_number_fails_the_attempt(finish):
    job = finish(lambda job: job.progress("half"), max_attempts=1)
    assert (job.state, job.error.code) == ("dead_lettered", "ValueError")


def test_output_that_cannot_be_sent_does_not_keep_the_result(finish, monkeypatch, caplog):
    async def broken(self: HeldJob, members: Any) -> None:
        raise RuntimeError("not sent")

    def talk(job: Job[Any]) -> str:
        job.progress(1)
        return "done"

    monkeypatch.setattr(HeldJob, "_send_progress", broken)
    assert finish(talk).result == "done"
    assert "output dropped" in caplog.text


def test_a_line_that_is_too_long_is_split(client, finish):
    job = finish(lambda job: job.log("ü" * 40_000))
    assert [len(line.text.encode()) for line in client.logs(job.id)] == [65_536, 14_464]


def test_a_full_queue_is_sent_in_appends_that_the_server_accepts():
    held = HeldJob(None, 1, None)  # type: ignore[arg-type]
    held._is_sending = True
    for n in range(10_007):
        held.log("stdout", "info", f"line {n}")
    appends = [held._take_lines() for _ in range(3)]
    assert [len(lines) for lines in appends] == [5000, 5001, 0]
    assert appends[1][-1]["text"] == "7 lines were dropped: the queue was full"


@pytest.mark.parametrize("name", ["", "x" * 256, "ü" * 128, "a\0b"])
def test_a_line_with_a_name_that_the_server_refuses_has_the_default(client, finish, name):
    job = finish(lambda job: job.log("kept", stream=name, level=name))
    assert [(line.text, line.stream, line.level) for line in client.logs(job.id)] == [("kept", "stdout", "info")]


def test_assets_are_stored_before_the_result(client, finish, tmp_path: Path):
    file = tmp_path / "note.txt"
    file.write_bytes(b"from a file")

    async def paint(job: Job[Any]) -> Any:
        picture = await job.asset("image.png", b"\x89PNG")
        job.asset("note.txt", file, asset_type="remark")
        return picture.url

    job = finish(paint)
    assets = {asset.asset_type: asset for asset in client.assets(job.id)}
    assert job.result == assets["png"].url
    assert client.download(job.id, assets["remark"].id) == b"from a file"
    assert b"".join(client.download_chunks(job.id, assets["png"].id)) == b"\x89PNG"


def test_a_plain_function_waits_for_its_upload(finish):
    job = finish(lambda job: job.asset("a.csv", b"1,2").result(DEADLINE).asset_type)
    assert job.result == "csv"


def test_an_upload_that_failed_unnoticed_fails_the_attempt(finish, tmp_path: Path):
    job = finish(lambda job: job.asset("gone.txt", tmp_path / "gone.txt") and None, max_attempts=1)
    assert (job.state, job.error.code) == ("dead_lettered", "FileNotFoundError")


def test_an_upload_is_stored_although_the_handler_raises(client, finish):
    def fails(job: Job[Any]) -> None:
        job.asset("why.txt", b"because")
        raise Permanent("BROKEN")

    job = finish(fails)
    assert (job.error.code, [client.download(job.id, asset.id) for asset in client.assets(job.id)]) == (
        "BROKEN",
        [b"because"],
    )


def test_an_upload_without_an_answer_ends_with_the_job(client, work, proxy):
    """The handler has returned; its upload hangs, and the job is cancelled."""
    answered = threading.Event()

    def rule(seen: Any) -> str | None:
        if seen.path.startswith("/api/jobs/") and "/assets" in seen.path:
            answered.wait(DEADLINE)
            return "refuse"
        return None

    type_ = unique("t")
    proxy.rule = rule
    id_ = client.create("brief", queue=type_).id
    work("brief", lambda job: job.asset("a.txt", b"1") and None, url=proxy.url, queues=[type_], slots=1)
    proxy.until(lambda seen: any("/assets" in each.path for each in seen))
    client.cancel(id_, "hard")
    next_ = client.create("brief", queue=type_, payload="next")
    # The only slot is free again.
    until(lambda: client.get(next_.id).attempt == 1)
    answered.set()


def test_the_time_for_an_upload_grows_with_its_size(client, monkeypatch, tmp_path: Path):
    file = tmp_path / "large"
    with file.open("wb") as handle:
        handle.truncate(1 << 20)
    sent = []
    send = client._transport.send
    monkeypatch.setattr(client._transport, "send", lambda request: sent.append(request) or send(request))
    job = client.create(unique("t"))
    for content in (b"", file):
        client.upload(job.id, "large", content)
    assert [request.timeout for request in sent if request.content is not None] == [30, 94]


def test_handlers_run_in_parallel_up_to_the_slots(client, work):
    together = threading.Barrier(4)
    type_ = unique("t")
    work(type_, lambda job: together.wait(DEADLINE) >= 0, slots=4)
    jobs = client.create_many([{"type": type_}] * 4)
    assert all(client.wait(job.id, DEADLINE).result for job in jobs)


@pytest.fixture
def finish_batch(client, shared):
    """Runs three jobs with a batch handler and returns them when they are finished."""

    def run(handler: Any) -> Any:
        worker = Worker(url=shared.url, slots=3, drain="5s")
        worker.on_batch("grouped")(handler)
        with running(worker):
            jobs = client.create_many([{"type": "grouped", "payload": {"n": n}} for n in (1, 2, 3)])
            return [client.wait(job.id, DEADLINE) for job in jobs]

    return run


def test_a_batch_handler_gets_a_group_and_each_job_its_own_result(client, finish_batch):
    async def sizes(jobs: list[Job[Record]]) -> list[Any]:
        for job in jobs:
            job.log(f"job {job.payload.n} of {len(jobs)}")
        return [len(jobs), Permanent("BROKEN", "no"), None]

    jobs = finish_batch(sizes)
    assert [job.outcome for job in jobs] == ["succeeded", "failed", "succeeded"]
    assert [job.result for job in jobs] == [3, None, None]
    assert [client.logs(job.id).rows[0].text for job in jobs] == ["job 1 of 3", "job 2 of 3", "job 3 of 3"]


def test_an_error_of_a_batch_handler_fails_all_its_jobs(finish_batch):
    def fails(jobs: list[Job[Any]]) -> None:
        raise KeyError("gone")

    assert [job.error.code for job in finish_batch(fails)] == ["KeyError"] * 3


@pytest.mark.parametrize("result", [["one"], "abc", {"a": 1}])
def test_a_batch_handler_returns_one_result_for_each_job(finish_batch, result):
    assert [job.error.code for job in finish_batch(lambda jobs: result)] == ["BAD_RESULT"] * 3
    assert [job.state for job in finish_batch(lambda jobs: None)] == ["succeeded"] * 3


def test_a_job_without_a_group_is_a_list_of_one(client, shared):
    type_ = unique("t")
    worker = Worker(url=shared.url, drain="5s")
    worker.on_batch(type_)(lambda jobs: [job.payload for job in jobs])
    with running(worker):
        jobs = client.create_many([{"type": type_, "payload": n} for n in range(4)])
        assert [client.wait(job.id, DEADLINE).result for job in jobs] == [0, 1, 2, 3]


def test_a_worker_without_handlers_does_not_run():
    with pytest.raises(ValueError, match="needs a handler"):
        asyncio.run(Worker().serve())


def test_an_annotation_that_cannot_be_read_is_refused():
    def handler(job: Job[Missing]) -> None: ...  # type: ignore[name-defined]  # noqa: F821

    with pytest.raises(TypeError, match="module level"):
        Worker().on("t")(handler)
