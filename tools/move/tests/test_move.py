"""Waiting jobs of real queues are moved once each, with all their values, also by a script that was killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from datetime import datetime
from pathlib import Path

import pytest
from conftest import PACKAGES, Script, wait_for
from redis import Redis
from tenure import Worker
from tenure.testing import Server

COUNT = 220
TESTS = Path(__file__).resolve().parent
POSTGRES = os.environ["TENURE_TEST_POSTGRES"]
VERSIONS = pytest.mark.parametrize("versions", ["older", "newer"])
FIELDS = ("correlation_id", "type", "queue", "payload", "priority", "max_attempts")
SECONDS_OFF_MAX = 0.002
RETRY_SECONDS_OFF_MAX = 30


def output_of(command, folder):
    done = subprocess.run(list(map(str, command)), cwd=folder, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def node(versions, script, *arguments):
    """Runs a program of the tests with the packages of these versions."""
    return output_of(["node", TESTS / script, *arguments], PACKAGES / versions)


@pytest.fixture
def broker(redis_url, monkeypatch):
    """A Redis for Celery."""
    monkeypatch.setenv("MOVE_BROKER", redis_url)
    return redis_url


def send_tasks(count, *options):
    made = output_of([sys.executable, "tasks.py", count, *options], TESTS)
    return made["expected"], made["left"]


def all_jobs(tenure):
    jobs, cursor = [], None
    while True:
        page = tenure.client.list(limit=500, cursor=cursor)
        jobs.extend(page)
        cursor = page.next_cursor
        if cursor is None:
            return jobs[::-1]


def check(tenure, script, expected, left, refused=0):
    """A dry run, a run that is killed after Tenure has answered and before the source is changed, and a repetition."""
    total = len(expected)
    # A dry run does not ask Tenure, which refuses some.
    _, summary, _ = script.run(tenure.url, "--dry-run")
    assert summary == f"would move {total + refused} and leave {len(left) - refused}; nothing was changed"
    assert all_jobs(tenure) == []

    code, _ = script.run_and_interfere(tenure.url, 2, lambda process: process.kill())
    assert code == -signal.SIGKILL
    created = len(all_jobs(tenure))
    assert 0 < created < total

    # The time zone of the session makes no difference.
    script.environment["PGOPTIONS"] = "-c timezone=Asia/Tokyo"
    code, summary, reasons = script.run(tenure.url)
    repeated = int(summary.split("of which ")[1].split()[0])
    assert 0 < repeated < created
    moved = total - created + repeated
    assert summary == f"moved {moved}, of which {repeated} were already in Tenure; left {len(left)}"
    assert code == (1 if left else 0)
    check_reasons(reasons, left)
    check_jobs(tenure, expected)

    # Nothing is left to move.
    assert script.run(tenure.url)[1] == f"moved 0, of which 0 were already in Tenure; left {len(left)}"
    assert len(all_jobs(tenure)) == total
    check_work(tenure, expected)


def check_reasons(reasons, left):
    assert reasons.keys() == left.keys()
    for job, reason in left.items():
        assert reason in reasons[job]


def check_jobs(tenure, expected):
    """Each job exists once, with every value of its source."""
    jobs = {job.correlation_id: job for job in all_jobs(tenure)}
    assert len(jobs) == len(all_jobs(tenure))
    assert jobs.keys() == {each["correlation_id"] for each in expected}
    for each in expected:
        job = jobs[each["correlation_id"]]
        assert {name: getattr(job, name) for name in FIELDS} == {name: each[name] for name in FIELDS}
        if each["run_at"]:
            run_at = datetime.fromisoformat(job.run_at.replace("Z", "+00:00")).timestamp()
            is_retry = each["payload"] == {"number": -1}
            assert abs(run_at - each["run_at"]) < (RETRY_SECONDS_OFF_MAX if is_retry else SECONDS_OFF_MAX)


def check_work(tenure, expected):
    """A worker gets the jobs that are due, the highest priority first, then in the order of the source."""
    worker, seen = Worker(url=tenure.url, slots=1), []

    @worker.on(*{each["type"] for each in expected})
    def take(job):
        seen.append(job.payload)

    tenure.work(worker)
    due = [each for each in expected if not each["run_at"]]
    assert seen == [each["payload"] for each in sorted(due, key=lambda each: -each["priority"])]
    assert sum(job.outcome == "succeeded" for job in all_jobs(tenure)) == len(due)


def test_tasks_of_celery_are_moved_once_by_a_script_that_was_killed(tenure, broker):
    expected, left = send_tasks(COUNT, "unmovable")
    Redis.from_url(broker).lpush("celery", "garbage")
    script = Script("from_celery.py", "--broker", broker, "celery")
    check(tenure, script, expected, {**left, "(no id)": "not a message"}, refused=1)


@VERSIONS
def test_jobs_of_bullmq_are_moved_once_by_a_script_that_was_killed(tenure, redis_url, versions):
    made = node(versions, "produce_bullmq.mjs", redis_url, "pictures", "produce", COUNT, "paused")
    script = Script("from_bullmq.mjs", "--redis", redis_url, "pictures", packages=PACKAGES / versions)
    check(tenure, script, made["expected"], made["left"])


@VERSIONS
def test_jobs_of_pg_boss_are_moved_once_by_a_script_that_was_killed(tenure, versions):
    schema = f"{versions}_{os.getpid()}"
    made = node(versions, "produce_pg_boss.mjs", POSTGRES, schema, "pictures", COUNT)
    options = ["--database", POSTGRES, "--schema", schema, "pictures"]
    check(tenure, Script("from_pg_boss.mjs", *options, packages=PACKAGES / versions), made["expected"], made["left"])


def test_tasks_of_a_running_celery_worker_are_moved_after_its_end(tenure, broker, monkeypatch):
    monkeypatch.setenv("MOVE_PREFIX", "app:")
    delayed, _ = send_tasks(1)
    script = Script("from_celery.py", "--broker", broker, "--key-prefix", "app:", "celery")
    redis = Redis.from_url(broker)
    command = [sys.executable, "-m", "celery", "-A", "tasks", "worker", "-P", "solo", "--without-mingle"]
    with subprocess.Popen(command, cwd=TESTS, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as worker:
        try:
            wait_for(lambda: redis.hlen("app:unacked") == len(delayed))
            code, message, _ = script.run(tenure.url)
            assert code == 2
            assert "workers of Celery are running: celery@" in message
        finally:
            worker.kill()
    assert script.run(tenure.url)[2] == {
        delayed[0]["correlation_id"]: "a worker has it, or was killed with it: move it with --unacked if no worker runs"
    }
    assert script.run(tenure.url, "--unacked")[0] == 0
    check_jobs(tenure, delayed)
    assert redis.hlen("app:unacked") == redis.zcard("app:unacked_index") == 0


def test_a_task_that_a_celery_worker_takes_meanwhile_is_reported(tenure, broker):
    [expected], _ = send_tasks(1)
    script, redis = Script("from_celery.py", "--broker", broker, "celery"), Redis.from_url(broker)
    code, errors = script.run_and_interfere(tenure.url, 1, lambda _: redis.rpop("celery"))
    [job] = all_jobs(tenure)
    assert code == 1
    assert f"left {expected['correlation_id']}: a worker took it meanwhile" in errors
    assert job.id in errors


def test_a_job_that_a_bullmq_worker_takes_meanwhile_is_reported_and_kept(tenure, redis_url, monkeypatch):
    monkeypatch.setenv("MOVE_PREFIX", "app")
    node("newer", "produce_bullmq.mjs", redis_url, "pictures", "produce", 20)
    options = ["--redis", redis_url, "--prefix", "app", "--type", "picture", "pictures"]
    script = Script("from_bullmq.mjs", *options, packages=PACKAGES / "newer")
    taken = []

    def take(_):
        taken.append(node("newer", "produce_bullmq.mjs", redis_url, "pictures", "take")["taken"])

    code, errors = script.run_and_interfere(tenure.url, 1, take)
    assert code == 1
    assert f"left {taken[0]}: a worker took it meanwhile" in errors
    assert Redis.from_url(redis_url).exists(f"app:pictures:{taken[0]}")
    assert {job.type for job in all_jobs(tenure)} == {"picture"}


def test_a_bullmq_queue_with_workers_is_not_moved(tenure, redis_url):
    made = node("newer", "produce_bullmq.mjs", redis_url, "pictures", "produce", 0)
    command = ["node", str(TESTS / "produce_bullmq.mjs"), redis_url, "pictures", "listen"]
    script = Script("from_bullmq.mjs", "--redis", redis_url, "pictures", packages=PACKAGES / "newer")
    with subprocess.Popen(command, cwd=PACKAGES / "newer", stdout=subprocess.PIPE) as worker:
        try:
            assert worker.stdout.readline() == b"ready\n"
            code, message, _ = script.run(tenure.url)
        finally:
            worker.kill()
    assert code == 2
    assert "queue pictures has" in message
    assert all_jobs(tenure) == []
    assert len(made["expected"]) == 1


def test_jobs_that_tenure_refuses_stay_and_the_others_are_moved(broker):
    expected, _ = send_tasks(9)
    config = '[types."tasks.resize"]\nlifecycle = "distributed"\nguard = "payload.args[0] != 5"\n'
    with Server(config) as tenure:
        _, summary, reasons = Script("from_celery.py", "--broker", broker, "celery").run(tenure.url)
        assert summary == "moved 8, of which 0 were already in Tenure; left 1"
        [(task, reason)] = reasons.items()
        assert task == expected[5]["correlation_id"]
        assert reason.startswith("guard_rejected")
        check_jobs(tenure, [each for each in expected if each is not expected[5]])


def test_messages_that_are_not_tasks_stay_and_are_listed(tenure, broker):
    redis = Redis.from_url(broker)
    hostile = ["garbage", "[1]", '{"headers": []}', '{"headers": {"id": 7, "task": "t"}}', "[" * 100_000]
    redis.rpush("celery", *hostile, '{"headers": {"id": "\\u001b[31m", "task": "t"}}')
    script = Script("from_celery.py", "--broker", broker, "celery")
    assert script.run(tenure.url)[1] == "moved 0, of which 0 were already in Tenure; left 6"
    assert "?[31m" in script.run(tenure.url)[2]
    assert redis.llen("celery") == 6


def test_a_server_that_cannot_be_reached_changes_nothing(broker):
    node("newer", "produce_bullmq.mjs", broker, "pictures", "produce", 5)
    schema = f"unreachable_{os.getpid()}"
    node("older", "produce_pg_boss.mjs", POSTGRES, schema, "pictures", 5)
    send_tasks(5)
    scripts = [
        (Script("from_celery.py", "--broker", broker, "celery"), 5),
        (Script("from_bullmq.mjs", "--redis", broker, "pictures", packages=PACKAGES / "newer"), 6),
        (
            Script(
                "from_pg_boss.mjs", "--database", POSTGRES, "--schema", schema, "pictures", packages=PACKAGES / "older"
            ),
            6,
        ),
    ]
    for script, waiting in scripts:
        process = script.start("http://127.0.0.1:1")
        output, errors = process.communicate(timeout=60)
        assert process.returncode == 1
        assert "stopped: " in errors
        assert output.startswith("moved 0, of which 0")
        assert script.run("http://127.0.0.1:1", "--dry-run")[1].startswith(f"would move {waiting} and")


def test_without_the_right_to_create_jobs_nothing_is_moved(tenure, broker, monkeypatch):
    send_tasks(1)
    tenure.client.create_key(role="admin")
    monkeypatch.setenv("TENURE_KEY", "tn_wrong")
    code, errors, _ = Script("from_celery.py", "--broker", broker, "celery").run(tenure.url)
    assert (code, errors) == (1, "moved 0, of which 0 were already in Tenure; left 0")
    assert Redis.from_url(broker).llen("celery") == 1
