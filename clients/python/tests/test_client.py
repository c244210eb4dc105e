"""Calls: retries, refusals, coalescing and streams."""

from __future__ import annotations

import asyncio
import json
import pickle
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tenure import AsyncClient, Client, FinalStatus, JobRequest, Problem, ProtocolError, Unreachable
from tenure._json import decode
from tenure._lease_keeper import LocalLease
from tenure._sse import EventReader
from tenure._wire import JobRecord, Lease
from tenure.testing import Server
from tests.conftest import DEADLINE
from tests.proxy import Proxy, answer, problem


@pytest.fixture
def proxied(proxy):
    with Client(proxy.url) as client:
        yield client


def once(action: Any, path: str = "/api/jobs"):
    """A rule for the first request to a path."""
    left = [action]
    return lambda seen: left.pop() if seen.path.startswith(path) and left else None


def test_a_refusal_has_every_member_of_the_problem(client):
    job = client.create("t")
    client.cancel(job.id)
    with pytest.raises(Problem) as raised:
        client.cancel(job.id)
    refusal = raised.value
    assert (refusal.code, refusal.status, refusal.current_state) == ("invalid_transition", 409, "cancelled")
    assert refusal.members["trigger"] == "cancel"
    copy = pickle.loads(pickle.dumps(refusal))
    assert (copy.code, copy.members, str(copy)) == (refusal.code, refusal.members, str(refusal))
    with pytest.raises(AttributeError):
        _ = refusal.nothing


@pytest.mark.parametrize("action", ["lose", "refuse", problem(503, "overloaded", "retry-after: 0")])
@pytest.mark.parametrize("coalesce", [True, False])
def test_a_creation_is_repeated_with_the_same_key(proxy, action, coalesce):
    proxy.rule = once(action)
    with Client(proxy.url, coalesce=coalesce) as client:
        job = client.create("t", {"n": 1})
    first, second = (seen.headers["idempotency-key"] for seen in proxy.seen)
    assert first == second
    assert first.startswith("auto-")
    assert bool(job.replayed) == (action == "lose")


def test_a_definite_answer_is_not_repeated(proxy, proxied):
    proxy.rule = lambda seen: problem(409, "invalid_transition")
    with pytest.raises(Problem):
        proxied.cancel("j1")
    assert len(proxy.seen) == 1


def test_a_call_with_a_secret_is_not_repeated(proxy, proxied):
    proxy.rule = lambda seen: "refuse"
    with pytest.raises(Unreachable):
        proxied.create_key(role="viewer")
    assert len(proxy.seen) == 1


def test_retry_after_is_waited_for_unless_it_is_long(proxy, proxied, client):
    job = client.create("t")
    proxy.rule = once(problem(503, "overloaded", "retry-after: 1"))
    began = time.monotonic()
    assert proxied.get(job.id).id == job.id
    assert time.monotonic() - began >= 1
    proxy.rule = lambda seen: problem(503, "overloaded", "retry-after: 60")
    with pytest.raises(Problem) as raised:
        proxied.get(job.id)
    assert raised.value.retry_after == 60


def test_a_key_replaces_the_password_of_the_url(proxy):
    proxy.rule = lambda seen: problem(401, "unauthenticated")
    with Client(proxy.url.replace("http://", "http://ann:secret@"), key="tn_k") as client, pytest.raises(Problem):
        client.get("j1")
    assert proxy.seen[0].headers["authorization"] == "Bearer tn_k"


def test_an_answer_that_is_no_problem_is_an_error(proxy, proxied):
    proxy.rule = lambda seen: answer(404, "not found")
    with pytest.raises(ProtocolError):
        proxied.get("j1")
    proxy.rule = lambda seen: answer(200, ["no", "job"])
    with pytest.raises(ProtocolError):
        proxied.get("j1")


def hold_first(proxy: Proxy) -> threading.Event:
    """Holds the first request until the event is set, so that later creations are coalesced."""
    release = threading.Event()
    is_first = [True]

    def rule(seen: Any) -> None:
        if is_first:
            is_first.pop()
            release.wait(DEADLINE)

    proxy.rule = rule
    return release


def batch_sizes(proxy: Proxy) -> list[int]:
    return [len(seen.body["jobs"]) for seen in proxy.seen if seen.path == "/api/jobs/batch"]


def test_concurrent_creations_of_a_loop_travel_together(proxy):
    release = hold_first(proxy)

    async def main() -> list[Any]:
        async with AsyncClient(proxy.url) as client:
            payloads: list[Any] = [{"n": n} for n in range(20)]
            payloads[7] = {"bad": 7}
            first = asyncio.create_task(client.create("strict", {"n": -1}))
            await asyncio.to_thread(proxy.until, lambda seen: len(seen) == 1)
            others = [asyncio.create_task(client.create("strict", payload)) for payload in payloads]
            await asyncio.sleep(0)
            others[3].cancel()
            release.set()
            return await asyncio.gather(first, *others, return_exceptions=True)

    results = asyncio.run(main())
    kinds = [type(each).__name__ for each in results]
    assert kinds.pop(8) == "Problem"
    assert kinds.pop(4) == "CancelledError"
    assert set(kinds) == {"JobRecord"}
    assert results[8].code == "validation_failed"
    assert [job.payload["n"] for job in results if isinstance(job, JobRecord)] == [
        n for n in range(-1, 20) if n not in (3, 7)
    ]
    assert batch_sizes(proxy) == [19]


def test_concurrent_creations_of_threads_travel_together(proxy, proxied):
    release = hold_first(proxy)
    coalescer = proxied._coalescer
    with ThreadPoolExecutor(9) as pool:
        first = pool.submit(proxied.create, "strict", {"n": -1})
        proxy.until(lambda seen: len(seen) == 1)
        others = [pool.submit(proxied.create, "strict", {"n": n} if n != 2 else {}) for n in range(8)]
        while len(coalescer._queue.waiting) < 8:
            time.sleep(0.001)
        release.set()
        assert first.result().payload == {"n": -1}
        assert others[2].exception().code == "validation_failed"
        assert [each.result().payload["n"] for n, each in enumerate(others) if n != 2] == [0, 1, 3, 4, 5, 6, 7]
    assert batch_sizes(proxy) == [8]


def test_a_lost_batch_is_repeated_without_duplicates(proxy, proxied, client):
    release = hold_first(proxy)
    hold = proxy.rule
    lose = once("lose", "/api/jobs/batch")
    proxy.rule = lambda seen: hold(seen) or lose(seen)
    with ThreadPoolExecutor(5) as pool:
        made = [pool.submit(proxied.create, "t", correlation_id="lost-batch")]
        proxy.until(lambda seen: len(seen) == 1)
        made += [pool.submit(proxied.create, "t", correlation_id="lost-batch") for _ in range(4)]
        while len(proxied._coalescer._queue.waiting) < 4:
            time.sleep(0.001)
        release.set()
        ids = {each.result().id for each in made}
    assert ids == {job.id for job in client.list(correlation_id="lost-batch")}
    assert len(ids) == 5


def test_without_coalescing_each_creation_travels_alone(proxy):
    with Client(proxy.url, coalesce=False) as client, ThreadPoolExecutor(4) as pool:
        jobs = [pool.submit(client.create, "t") for _ in range(8)]
        assert len({job.result().id for job in jobs}) == 8
    assert batch_sizes(proxy) == []


def test_a_job_is_followed_over_a_broken_connection(proxy, proxied, client):
    job = client.create("t")
    client.append_logs(job.id, [{"text": "one"}, {"text": "two"}])
    following = proxied.follow(job.id)
    seen = [next(following), next(following)]
    proxy.cut()
    client.append_logs(job.id, [{"text": "three"}])
    client.cancel(job.id)
    proxy.heal()
    seen += list(following)
    assert [line.text for line in seen[:3]] == ["one", "two", "three"]
    assert isinstance(seen[3], FinalStatus)
    assert seen[3].state == "cancelled"
    streams = [each.headers.get("last-event-id") for each in proxy.seen if each.path.endswith("/stream")]
    assert streams[0] is None
    assert streams[-1] == "2"


def test_the_journal_is_followed_after_a_cursor(client):
    job = client.create("t", correlation_id="journal")
    client.cancel(job.id)
    events = client.events(correlation_id="journal")
    (first, cursor), (second, _) = next(events), next(events)
    assert (first.to, second.to) == ("queued", "cancelled")
    assert next(client.events(cursor, correlation_id="journal"))[0].id == second.id
    assert [event.id for event in client.journal(cursor, correlation_id="journal")] == [second.id]


REQUEST = {"id": "r1", "type": "t", "queue": None, "user_id": None, "correlation_id": "r1", "state": None}
INTAKE = {**REQUEST, "phase": "intake", "requested_at": "2026-11-19T21:00:00.000Z"}


def request_in_sql(*answers: Any):
    """A rule: `r1` is a request in SQL with these answers, one after the other."""
    left = list(answers)

    def rule(seen: Any) -> bytes | None:
        if seen.path.startswith("/api/jobs/r1/stream"):
            return problem(404, "not_found")
        if seen.path == "/api/jobs/r1":
            return answer(200, {**INTAKE, **(left.pop(0) if len(left) > 1 else left[0])})
        return None

    return rule


def test_a_request_in_sql_is_found(proxy, proxied):
    proxy.rule = request_in_sql({})
    found = proxied.get("r1")
    assert isinstance(found, JobRequest)
    assert (found.state, found.phase, found.problem, found.job_id) == (None, "intake", None, None)


def test_waiting_for_a_request_in_sql_waits_for_the_job_that_answers_it(proxy, proxied, client):
    job = client.create("t")
    client.append_logs(job.id, [{"text": "one"}])
    client.cancel(job.id)
    merged = {"phase": "merged", "job_id": job.id}
    proxy.rule = request_in_sql({}, {}, merged)
    assert proxied.wait("r1", DEADLINE).id == job.id
    proxy.rule = request_in_sql({}, merged)
    line, status = proxied.follow("r1")
    assert (line.text, status.state) == ("one", "cancelled")


def test_waiting_for_a_request_in_sql_raises_its_refusal(proxy, proxied):
    refusal = {"code": "validation_failed", "status": 422, "title": "no", "detail": "n is missing"}
    proxy.rule = request_in_sql({}, {"phase": "refused", "problem": refusal})
    for call in (lambda: proxied.wait("r1"), lambda: list(proxied.follow("r1"))):
        with pytest.raises(Problem, match="n is missing"):
            call()


def test_waiting_for_a_request_in_sql_has_a_timeout(proxy, proxied):
    proxy.rule = request_in_sql({})
    with pytest.raises(TimeoutError):
        proxied.wait("r1", "300ms")


def test_every_operation_of_the_api_has_a_method():
    openapi = json.loads((Path(__file__).parents[3] / "crates/api/openapi.json").read_text())
    operations = {each["operationId"] for path in openapi["paths"].values() for each in path.values() if "tags" in each}
    methods = {METHODS.get(operation, operation) for operation in operations} - {None}
    for class_ in (Client, AsyncClient):
        assert methods - set(dir(class_)) == set(), class_
    assert set(METHODS) - operations == set()


# The methods that do not have the name of their operation; pages for people have none.
METHODS = {
    "act_on_jobs": "act",
    "add_job_asset": "upload",
    "amend_job": "amend",
    "append_job_logs": "append_logs",
    "cancel_job": "cancel",
    "claim_jobs": "claim",
    "confirm_cancel": "report",
    "create_job": "create",
    "create_jobs": "create_many",
    "create_stream_token": "stream_token",
    "dead_letter_job": "dead_letter",
    "delete_job": "delete",
    "dismiss_dead_letter": "dismiss",
    "explain_job": "explain",
    "fail_job": "report",
    "get_credits": "credits",
    "get_docs": None,
    "get_health": "health",
    "get_job": "get",
    "get_job_asset": "asset",
    "get_job_asset_content": "download",
    "get_lifecycle": "lifecycle",
    "get_lifecycle_diagram": "diagram",
    "get_metrics": "metrics",
    "get_openapi": None,
    "get_problem": None,
    "get_readiness": "ready",
    "get_resource": "resource",
    "get_schedule": "schedule",
    "get_stats": "stats",
    "get_webhook": "webhook",
    "grant_credits": "grant",
    "heartbeat_job": "heartbeat",
    "list_audit": "audit",
    "list_dead_letters": "dead_letters",
    "list_events": "events",
    "list_job_assets": "assets",
    "list_job_events": "history",
    "list_job_logs": "logs",
    "list_jobs": "list",
    "list_keys": "keys",
    "list_lifecycles": "lifecycles",
    "list_queues": "queues",
    "list_resources": "resources",
    "list_schedules": "schedules",
    "list_sequences": "sequences",
    "list_types": "types",
    "list_webhooks": "webhooks",
    "list_workers": "workers",
    "partial_job": "report",
    "redrive_dead_letters": "redrive",
    "reject_job": "report",
    "release_job": "report",
    "replay_job": "replay",
    "report_jobs": "reports",
    "report_progress": "report",
    "retry_job": "retry",
    "signal_job": "signal",
    "start_job": "report",
    "stream_job": "follow",
    "succeed_job": "report",
}


def test_flow_control_has_its_calls(client):
    assert "openai" in [resource.name for resource in client.resources()]
    assert client.set_resource("openai", running=5, rate={"count": 1, "per": "1s"}).limits.running == 5
    assert client.set_resource("openai", running=None, waiting=7).limits.running is None
    assert client.reset_resource("openai").origin == "file"
    assert client.pause_resource("openai", duration="1h").paused
    assert not client.resume_resource("openai").paused
    assert client.resource("openai", key="none").buckets == []
    first, second = (client.create("ordered", {"account": "a/b"}) for _ in range(2))
    claimed = client.claim("w-seq", types=["ordered"], start=True)
    client.report("w-seq", first.id, claimed[0].lease.fence, "fail", error={"code": "NO", "class": "permanent"})
    [halted] = [each for each in client.sequences(halted=True) if each.type == "ordered"]
    assert (halted.key, client.resume_sequence("ordered", halted.key).halted_by) == ("a/b", None)
    client.cancel(second.id)


def test_schedules_webhooks_and_lifecycles_have_their_calls(client):
    client.create_schedule(id="often", cron="0 3 * * *", job={"type": "scheduled"})
    assert client.replace_schedule("often", cron="0 4 * * *", job={"type": "scheduled"}).cron == "0 4 * * *"
    assert client.run_schedule("often").type == "scheduled"
    client.delete_schedule("often")
    webhook = client.create_webhook("https://example.com/hook", id="replayed")
    assert client.disable_webhook(webhook.id).disabled_at
    assert client.replay_webhook(webhook.id, since="1m").id == webhook.id
    client.delete_webhook(webhook.id)
    lifecycle = client.call("GET", "/api/lifecycles/distributed")
    tried = client.try_lifecycle("distributed", lifecycle["source"], since="1h")
    assert tried.name == "distributed"


def test_wait_has_a_timeout(client):
    job = client.create("t")
    began = time.monotonic()
    with pytest.raises(TimeoutError):
        client.wait(job.id, "200ms")
    assert time.monotonic() - began >= 0.2
    threading.Timer(0.1, client.cancel, [job.id]).start()
    assert client.wait(job.id).state == "cancelled"


def test_operators_have_their_calls(client):
    job = client.create("t", user_id="u2")
    assert client.dead_letter(job.id, "policy_violation", "why").outcome == "dead"
    [letter] = client.dead_letters(user_id="u2")
    assert letter.reason_code == "policy_violation"
    redriven = client.redrive([job.id])
    assert redriven.results[0].ok.retry_of == job.id
    assert client.redrive(["019a8b7e-4c00-7d2a-9f31-5b6c7d8e9f00"]).results[0].error.code == "not_found"
    assert client.act("cancel", user_id="u2", dry_run=True).matched == 2
    assert client.grant("u2", 5, "gift").available == 5
    assert client.credits("u2").ledger[0].kind == "grant"
    assert client.pause_queue("idle").paused
    assert not client.resume_queue("idle").paused
    assert "distributed" in [lifecycle.name for lifecycle in client.lifecycles()]
    assert client.lifecycle("distributed").initial == "queued"
    assert client.diagram("distributed").startswith("<svg")
    assert "brief" in [type_.name for type_ in client.types()]
    assert client.history(job.id)[0].type == "job_queued"
    assert client.replay(job.id, 1).state == "queued"
    assert client.retry(job.id).retry_of == job.id
    client.delete(job.id)
    with pytest.raises(Problem, match="not_found"):
        client.get(job.id)
    assert client.health().status == "ok"
    assert client.ready().ready
    assert "tenure_claims_total" in client.metrics()
    assert client.stats().at
    assert client.audit(limit=1).next_cursor
    assert client.workers().rows is not None
    assert client.queues().rows


def test_a_worker_can_be_written_with_the_calls(client):
    created = client.create("by-hand")
    [job] = client.claim("w1", types=["by-hand"], start=True)
    assert job.id == created.id
    assert client.heartbeat("w1", job.id, job.lease.fence).cancel is None
    [result] = client.reports("w1", [{"job": job.id, "fence": job.lease.fence, "verb": "progress", "progress": 5}])
    assert result["progress"] == 5
    assert client.report("w1", job.id, job.lease.fence, "succeed", result=1).outcome == "succeeded"
    with pytest.raises(Problem, match="lease_conflict") as raised:
        client.heartbeat("w1", job.id, job.lease.fence)
    assert raised.value.is_lease_conflict


def test_the_fixture_is_a_server(tenure: Server):
    assert tenure.client.health().status == "ok"


def test_unknown_members_of_answers_are_ignored():
    job = decode(JobRecord, {"id": "j1", "new": [1], "lease": {"fence": 2, "expires_at": "", "new": 1}})
    assert (job.id, job.lease.fence, job.state) == ("j1", 2, None)


def test_an_address_is_checked():
    with pytest.raises(ValueError, match="write http"):
        Client("localhost:7117")


@pytest.mark.parametrize("size", range(1, 90))
def test_events_are_the_same_however_the_bytes_were_cut(size):
    stream = (
        ": warm\r\nid: 1\r\nevent: log\r\ndata: one\r\ndata:  two\r\n\r\n:\n\nid: 7\ndata: grün\n\nnew: x\rdata\r\r"
    )
    data, reader = stream.encode(), EventReader()
    events = [event for at in range(0, len(data), size) for event in reader.push(data[at : at + size])]
    expected = [("log", "1", "one\n two"), ("message", "7", "grün"), ("message", "7", "")]
    assert [(event.name, event.id, event.text) for event in events] == expected


def test_a_lease_expires_here_before_it_expires_at_the_server():
    def lease(second: int) -> Lease:
        at = f"2026-01-01T00:{second // 60:02}:{second % 60:02}.000Z"
        return Lease(fence=1, expires_at=at, heartbeat="20s", ttl="1m")

    local = LocalLease.granted(lease(43), 0.0)
    assert (local.ends, local.heartbeat_at) == (40, 20)
    local.renew(lease(61), 20.0)
    assert (local.ends, local.heartbeat_at) == (58, 40)
    local.renew(lease(900), 50.0)
    assert local.ends == 90
    local.renew(lease(100), 60.0)
    assert local.ends == 90
    # Granted at 20 by the server's clock: that does not shorten the lease for good.
    late = LocalLease.granted(lease(60), 0.0)
    late.renew(lease(60), 20.0)
    assert late.ends == 50
    assert LocalLease.confirmed(lease(43), 0.0).ends == 30


def test_a_waiting_job_is_amended(shared: Server):
    with Client(shared.url) as client:
        job = client.create("t", {"n": 1}, delay="1h")
        amended = client.amend(job.id, payload={"n": 2}, priority=7, if_seq=job.seq)
        assert (amended.payload, amended.priority, amended.seq) == ({"n": 2}, 7, 2)
        with pytest.raises(Problem) as stale:
            client.amend(job.id, priority=8, if_seq=1)
        assert (stale.value.code, stale.value.members["seq"]) == ("precondition_failed", 2)


def test_the_client_for_asyncio_has_the_same_calls(shared: Server):
    async def main() -> None:
        async with AsyncClient(shared.url) as client:
            job = await client.create("t", {"n": 1}, correlation_id="asyncio", delay="1h")
            await client.append_logs(job.id, [{"text": "one"}])
            asset = await client.upload(job.id, "a.txt", b"text")
            assert [piece async for piece in client.download_chunks(job.id, asset.id)] == [b"text"]
            with pytest.raises(TimeoutError):
                await client.wait(job.id, 0.05)
            waiting = asyncio.create_task(client.wait(job.id, DEADLINE))
            await client.cancel(job.id)
            assert (await waiting).state == "cancelled"
            seen = [each async for each in client.follow(job.id)]
            assert [type(each).__name__ for each in seen] == ["LogLine", "FinalStatus"]
            async for event, _ in client.events(correlation_id="asyncio"):
                assert event.job_id == job.id
                break
            assert [each.id for each in await client.list(correlation_id="asyncio")] == [job.id]

    asyncio.run(main())
