"""Leases: cancelled, lost, kept by a blocked loop; broken connections, restarts, drains."""

from __future__ import annotations

import asyncio
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from tenure import Cancelled, Client, Job, Problem, Release, Stop, Worker
from tenure._stop import StopSignal
from tenure.testing import Server, running
from tests.conftest import CONFIG, DEADLINE, until
from tests.proxy import answer, problem


def verbs(seen: list[Any], verb: str) -> int:
    return sum(each.verbs().count(verb) for each in seen)


def test_a_soft_cancel_is_honoured(client, work):
    async def wait(job: Job[Any]) -> None:
        raise Cancelled(checkpoint={"why": (await job.stopped()).name})

    started = client.create("brief", queue="soft")
    work("brief", wait, queues=["soft"])
    until(lambda: client.get(started.id).state == "running")
    client.cancel(started.id, reason="enough")
    job = client.wait(started.id, DEADLINE)
    assert (job.state, job.checkpoint) == ("cancelled", {"why": "SOFT_CANCEL"})


def test_a_result_counts_although_a_soft_cancel_was_requested(client, work):
    started = client.create("brief", queue="ignored")
    work("brief", lambda job: job.wait_stopped(DEADLINE).name, queues=["ignored"])
    until(lambda: client.get(started.id).state == "running")
    client.cancel(started.id)
    job = client.wait(started.id, DEADLINE)
    assert (job.state, job.result) == ("succeeded", "SOFT_CANCEL")


def test_a_hard_cancel_stops_the_handler(client, work):
    stops: queue.Queue[Any] = queue.Queue()

    async def endless(job: Job[Any]) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            stops.put(job.stop_cause)

    started = client.create("brief", queue="hard")
    work("brief", endless, queues=["hard"])
    until(lambda: client.get(started.id).state == "running")
    client.cancel(started.id, "hard")
    assert stops.get(timeout=DEADLINE) is Stop.HARD_CANCEL
    assert client.get(started.id).state == "cancelled"


def test_every_task_that_waits_for_the_signal_wakes_in_the_same_turn():
    """Otherwise a handler might be cancelled before it sees the signal that it waits for."""

    async def wait() -> None:
        signal_ = StopSignal()
        tasks = [asyncio.ensure_future(signal_.wait_async(stop)) for stop in (Stop.SHUTDOWN, Stop.HARD_CANCEL)]
        await asyncio.sleep(0)
        threading.Thread(target=signal_.strengthen, args=(Stop.LEASE_LOST,)).start()
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        assert [task.result() for task in tasks] == [Stop.LEASE_LOST, Stop.LEASE_LOST]

    asyncio.run(wait())


def test_a_partition_stops_the_handler_before_another_worker_begins(client, work, proxy):
    """The cut worker stops when its lease ends by its own clock; the job is taken over later."""
    times: dict[str, float] = {}
    causes: list[Any] = []

    began = threading.Event()

    async def first(job: Job[Any]) -> None:
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            times["stopped"] = time.monotonic()
            causes.append(job.stop_cause)

    def second(job: Job[Any]) -> str:
        times["taken over"] = time.monotonic()
        return "second"

    started = client.create("brief", queue="cut")
    work("brief", first, queues=["cut"], url=proxy.url, drain="0s")
    assert began.wait(DEADLINE)
    proxy.cut()
    work("brief", second, queues=["cut"])
    job = client.wait(started.id, DEADLINE)
    assert (job.result, causes) == ("second", [Stop.LEASE_LOST])
    assert times["stopped"] < times["taken over"]
    proxy.heal()


def test_a_blocked_loop_keeps_its_lease(client, work, proxy):
    async def block(job: Job[Any]) -> int:
        # Blocks the loop for longer than a lease lasts without heartbeats.
        proxy.until(lambda seen: verbs(seen, "heartbeat") >= 3)
        return job.attempt

    started = client.create("brief", queue="blocked")
    work("brief", block, queues=["blocked"], url=proxy.url)
    assert client.wait(started.id, DEADLINE).result == 1


def test_a_lost_claim_answer_is_repeated(client, work, proxy):
    lost = []

    def rule(seen: Any) -> str | None:
        if seen.path == "/api/claims" and not lost and started:
            lost.append(seen.body["request_id"])
            return "lose"
        return None

    started = client.create("lost-claim")
    proxy.rule = rule
    work("lost-claim", lambda job: job.attempt, url=proxy.url)
    assert client.wait(started.id, DEADLINE).result == 1
    claims = [seen.body["request_id"] for seen in proxy.seen if seen.path == "/api/claims"]
    assert claims[:2] == [lost[0], lost[0]]


@pytest.mark.parametrize("action", ["lose", "double"])
def test_a_lost_or_doubled_report_counts_once(client, work, proxy, action):
    done = []

    def rule(seen: Any) -> str | None:
        if "succeed" in seen.verbs() and not done:
            done.append(seen)
            return action
        return None

    proxy.rule = rule
    work(f"report-{action}", lambda job: "done", url=proxy.url)
    job = client.wait(client.create(f"report-{action}").id, DEADLINE)
    assert (job.result, job.attempt) == ("done", 1)
    assert [event.type for event in client.history(job.id)].count("job_succeeded") == 1


def test_the_worker_waits_as_long_as_the_server_asks(client, work, proxy):
    refused: list[float] = []
    accepted: list[float] = []

    def rule(seen: Any) -> bytes | None:
        if "succeed" in seen.verbs():
            if not refused:
                refused.append(time.monotonic())
                return problem(503, "overloaded", "retry-after: 1")
            accepted.append(time.monotonic())
        return None

    proxy.rule = rule
    work("overloaded", lambda job: "done", url=proxy.url)
    assert client.wait(client.create("overloaded").id, DEADLINE).result == "done"
    assert accepted[0] - refused[0] >= 1


def test_an_unreadable_job_fails_alone(client, work, proxy):
    jobs = client.create_many([{"type": "unreadable"}, {"type": "unreadable"}])
    broken: list[str] = []

    def rule(seen: Any) -> bytes | None:
        if seen.path != "/api/claims" or broken:
            return None
        claimed = client.call("POST", "/api/claims", seen.body)["jobs"]
        claimed[0]["entered"] = 5
        broken.append(claimed[0]["id"])
        return answer(200, {"jobs": claimed})

    proxy.rule = rule
    work("unreadable", lambda job: "done", url=proxy.url)
    finished = [client.wait(job.id, DEADLINE) for job in jobs]
    assert {job.id: job.outcome for job in finished}.pop(broken[0]) == "failed"
    assert sorted(job.outcome for job in finished) == ["failed", "succeeded"]


def test_the_worker_stops_if_its_claims_are_refused(proxy):
    proxy.rule = lambda seen: problem(403, "forbidden")
    worker = Worker(url=proxy.url)
    worker.on("t")(lambda job: None)
    with pytest.raises(Problem, match="forbidden"):
        asyncio.run(worker.serve())


def test_a_worker_survives_a_restart_of_the_server():
    with Server(CONFIG, store="embedded") as server:
        gate = threading.Event()
        worker = Worker(url=server.url, slots=2)
        worker.on("t")(lambda job: gate.wait(DEADLINE) and job.attempt)
        with running(worker):
            before = server.client.create("t")
            until(lambda: server.client.get(before.id).state == "running")
            server.kill()
            gate.set()
            server.start()
            after = server.client.create("t")
            assert server.client.wait(before.id, DEADLINE).result == 1
            assert server.client.wait(after.id, DEADLINE).outcome == "succeeded"


def test_a_draining_worker_finishes_its_jobs(client, work):
    began, gate = threading.Event(), threading.Event()

    def slow(job: Job[Any]) -> str:
        began.set()
        gate.wait(DEADLINE)
        return "finished"

    worker = Worker(url=client.url, slots=1)
    worker.on("drained")(slow)
    jobs = [client.create("drained"), client.create("drained")]
    with running(worker):
        began.wait(DEADLINE)
        worker.stop()
        gate.set()
    assert sorted(client.get(job.id).state for job in jobs) == ["queued", "succeeded"]


def test_after_the_drain_limit_jobs_are_released(client):
    began = threading.Barrier(3)

    async def saves(job: Job[Any]) -> None:
        await asyncio.to_thread(began.wait, DEADLINE)
        raise Release(checkpoint=(await job.stopped(Stop.SHUTDOWN)).name)

    async def ignores(job: Job[Any]) -> None:
        await asyncio.to_thread(began.wait, DEADLINE)
        await asyncio.Event().wait()

    worker = Worker(url=client.url, slots=2, drain="10ms")
    worker.on("saves")(saves)
    worker.on("ignores")(ignores)
    jobs = [client.create("saves"), client.create("ignores")]
    with running(worker):
        began.wait(DEADLINE)
    found = [client.get(job.id) for job in jobs]
    assert [job.state for job in found] == ["queued", "queued"]
    assert [job.checkpoint for job in found] == ["SHUTDOWN", None]


def test_a_cancelled_serve_releases_its_jobs(client):
    async def ignores(job: Job[Any]) -> None:
        await asyncio.Event().wait()

    async def main() -> None:
        worker = Worker(url=client.url)
        worker.on("abandoned")(ignores)
        serving = asyncio.create_task(worker.serve())
        while client.get(started.id).state != "running":
            await asyncio.sleep(0.01)
        serving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await serving

    started = client.create("abandoned")
    asyncio.run(main())
    assert client.get(started.id).state == "queued"


APP = """
import time
from tenure import Worker
worker = Worker(slots=1)

@worker.on("brief")
def slow(job):
    job.log("begun")
    while not job.payload.get("free"):
        time.sleep(0.01)
    return "by the program"
"""


@pytest.fixture
def program(shared, tmp_path: Path):
    """A worker in a separate process."""
    (tmp_path / "app.py").write_text(APP)
    environment = {**os.environ, "TENURE_URL": shared.url}
    command = [sys.executable, "-m", "tenure", "work", "app:worker"]
    process = subprocess.Popen(command, cwd=tmp_path, env=environment, stderr=subprocess.PIPE)
    yield process
    process.kill()
    process.communicate()


def test_another_worker_takes_over_after_kill_9(client, work, program):
    started = client.create("brief")
    until(lambda: client.logs(started.id).rows)
    program.kill()
    program.wait()
    work("brief", lambda job: "taken over")
    job = client.wait(started.id, DEADLINE)
    assert (job.result, job.attempt) == ("taken over", 2)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_drains_and_a_second_one_ends_at_once(client, program, number):
    started = client.create("brief")
    until(lambda: client.logs(started.id).rows)
    program.send_signal(number)
    waiting = client.create("brief")
    until(lambda: not _is_caught(program.pid, number))
    program.send_signal(number)
    assert program.wait(DEADLINE) == -number
    assert client.get(waiting.id).attempt <= 1
    for job in (started, waiting):
        client.cancel(job.id, "hard")


def _is_caught(pid: int, number: int) -> bool:
    """Whether the process has a handler for the signal; the drain removes it."""
    status = Path(f"/proc/{pid}/status").read_text()
    caught = next(line.split()[1] for line in status.splitlines() if line.startswith("SigCgt"))
    return bool(int(caught, 16) >> (number - 1) & 1)


def test_a_signal_without_work_ends_with_0(client, program):
    finished = client.create("brief", {"free": True})
    client.wait(finished.id, DEADLINE)
    program.terminate()
    assert program.wait(DEADLINE) == 0


def test_a_handler_runs_in_the_trace_of_its_job(client, work):
    from opentelemetry import trace
    from opentelemetry.sdk.trace import TracerProvider

    trace.set_tracer_provider(TracerProvider())
    contexts = []

    def traced(job: Job[Any]) -> None:
        contexts.append((job.traceparent, trace.get_current_span()))

    trace_id = "0af7651916cd43dd8448eb211c80319c"
    work("traced", traced)
    job = client.create("traced", traceparent=f"00-{trace_id}-b7ad6b7169203331-01")
    client.wait(job.id, DEADLINE)
    [(traceparent, span)] = contexts
    assert traceparent.split("-")[1] == trace_id
    assert f"{span.get_span_context().trace_id:032x}" == trace_id
    assert (span.name, span.attributes["messaging.message.id"]) == ("run traced", job.id)


def test_a_key_without_the_role_is_refused():
    with Server() as server:
        admin = server.client.create_key(role="admin")
        with pytest.raises(Problem) as unauthenticated:
            server.client.list()
        assert (unauthenticated.value.code, unauthenticated.value.status) == ("unauthenticated", 401)
        with Client(server.url, key=admin.key) as client:
            viewer = client.create_key(role="viewer")
            assert viewer.id in [key.id for key in client.keys().rows]
        with Client(server.url, key=viewer.key) as client, pytest.raises(Problem) as forbidden:
            client.create("t")
        assert (forbidden.value.code, forbidden.value.status) == ("forbidden", 403)
        worker = Worker(url=server.url, key=viewer.key)
        worker.on("t")(lambda job: None)
        with pytest.raises(Problem, match="forbidden"):
            asyncio.run(worker.serve())
