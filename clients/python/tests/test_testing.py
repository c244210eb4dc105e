"""The test kit: a server in memory, whose clock the test moves."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tenure import Job, Transient, Worker
from tenure.testing import Server, running
from tests.conftest import until


def test_the_clock_moves_only_when_the_test_moves_it(tenure: Server):
    attempts: list[int] = []

    def flaky(job: Job[dict[str, str]]) -> int:
        attempts.append(job.attempt)
        if job.attempt == 1:
            raise Transient("NOT_YET", "later", retry_after="10m")
        return job.attempt

    worker = Worker(url=tenure.url)
    worker.on("flaky")(flaky)
    created = tenure.client.create("flaky")
    tenure.work(worker)
    assert attempts == [1]
    before = tenure.now
    assert tenure.advance("9m 59s") - before == timedelta(minutes=9, seconds=59)
    tenure.work(worker)
    assert attempts == [1], "the retry is not due yet"
    tenure.advance(timedelta(seconds=1))
    tenure.work(worker)
    assert tenure.client.get(created.id).result == 2
    assert tenure.client.get(created.id).created_at == before.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def test_a_waiting_worker_gets_a_job_that_became_due(tenure: Server):
    worker = Worker(url=tenure.url)
    worker.on("later")(lambda job: "done")
    created = tenure.client.create("later", delay="1h")
    with running(worker):
        until(lambda: tenure.client.workers().rows)
        tenure.advance("1h")
        until(lambda: tenure.client.get(created.id).state == "succeeded")


def test_a_lease_ends_by_the_clock_of_the_test():
    with Server('[types.brief]\nlifecycle = "distributed"\nlease = "1m"\nheartbeat = "20s"\n') as server:
        created = server.client.create("brief")
        server.client.claim("w1", types=["brief"])
        server.advance("1h")
        until(lambda: server.client.get(created.id).lease is None)


def test_only_a_server_in_memory_has_such_a_clock():
    with Server(store="embedded") as server, pytest.raises(RuntimeError, match="in memory"):
        server.advance("1s")
    with Server() as server, pytest.raises(ValueError, match="advance SPAN"):
        server.advance("1 parsec")


def test_a_server_in_memory_that_is_started_again_is_empty_and_has_the_same_address():
    with Server() as server:
        server.client.create("hello")
        url = server.url
        server.kill()
        server.start()
        assert server.url == url
        assert server.client.list().rows == []


def test_a_flawed_configuration_is_shown():
    with pytest.raises(RuntimeError, match="lifecycle"), Server('[types.a]\nlifecycle = "nonsense"\n'):
        pass
