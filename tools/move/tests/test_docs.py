"""The programs and queries in the documentation do what it says."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest
from conftest import wait_for
from tenure import Client, Worker

DOCS = Path(__file__).resolve().parents[3] / "docs"
POSTGRES = os.environ["TENURE_TEST_POSTGRES"]
PSQL = Path(os.environ.get("TENURE_TEST_POSTGRES_BIN", "/usr/bin")) / "psql"
BINARY = os.environ["TENURE_BINARY"]


def blocks(page, language, containing):
    found = re.findall(rf"^```{language}\n(.*?)^```", (DOCS / page).read_text(), re.MULTILINE | re.DOTALL)
    wanted = [block for block in found if containing in block]
    assert wanted, f"{page} has no block of {language} with {containing!r}"
    return wanted


def python(page, containing, **names):
    """Runs a block; its worker does not run, but is returned with the other names."""
    [block] = set(blocks(page, "python", containing))
    exec(block.replace("worker.run()", ""), names)
    return names


def shell(text, tenure, **more):
    """The output of a command of the documentation, with the address of this server."""
    text = text.replace("localhost:7117", tenure.url).replace("tenure ", f"{shlex.quote(BINARY)} ")
    environment = {**os.environ, "TENURE_URL": tenure.url, **more}
    return subprocess.run(["bash", "-c", text], env=environment, capture_output=True, text=True, timeout=60)


def psql(statements):
    command = [str(PSQL), POSTGRES, "-qAtX", "-v", "ON_ERROR_STOP=1", "-c", statements]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.fixture(autouse=True)
def _address(tenure, monkeypatch):
    monkeypatch.setenv("TENURE_URL", tenure.url)


def test_each_language_of_the_page_creates_the_same_job(tenure):
    python("create-jobs.md", "client.create")
    for number, command in enumerate(blocks("create-jobs.md", "sh", "order-42")):
        done = shell(command.replace("order-42", f"order-{number}"), tenure)
        assert done.returncode == 0, done.stderr
    jobs = tenure.client.list()
    assert sorted(job.idempotency_key for job in jobs) == ["order-0", "order-1", "order-42"]
    assert all(job.payload == {"text": "to be"} and job.run_at > job.created_at for job in jobs)


def test_the_worker_in_python_counts_words(tenure):
    worker = python("workers.md", "count_words")["worker"]
    job = tenure.client.create("count_words", {"text": "to be"})
    tenure.work(worker)
    assert tenure.client.get(job.id).result == 2


def test_a_worker_over_http_needs_three_calls(tenure):
    client = tenure.client
    [claim], [beat] = blocks("workers.md", "sh", "api/claims"), blocks("workers.md", "sh", "heartbeat")
    succeed, fail = blocks("workers.md", "sh", "succeed")[0].strip().split("\n")
    for report, state in ((succeed, "succeeded"), (fail, "queued")):
        job = client.create("count_words", {"text": "to be"})
        assert job.id in shell(claim, tenure).stdout
        assert '"cancel":null' in shell(beat.replace("JOB", job.id), tenure).stdout
        assert f'"state":"{state}"' in shell(report.replace("JOB", job.id), tenure).stdout


def test_the_worker_and_the_creation_on_the_page_for_celery_work_together(tenure):
    names = {"render": lambda picture, width: f"{picture}-{width}", "Busy": OSError}
    after = python("coming-from/celery.md", "from tenure", **names)
    [job] = tenure.client.list()
    assert (job.max_attempts, job.payload) == (6, {"picture": 7, "width": 64})
    tenure.client.amend(job.id, run_at=job.created_at)
    python("coming-from/celery.md", "def moved", **after)
    moved = Client().create("app.resize", {"args": [7], "kwargs": {"width": 64}})
    tenure.work(after["worker"])
    assert [tenure.client.get(each.id).result for each in (job, moved)] == ["7-64", "7-64"]


RIVER = """drop table if exists river_job; create table river_job (id bigserial primary key, state text not null,
    attempt smallint not null default 0, max_attempts smallint not null, priority smallint not null default 1,
    scheduled_at timestamptz not null default now(), kind text not null, args jsonb not null, queue text not null);
    insert into river_job (state, attempt, max_attempts, priority, scheduled_at, kind, args, queue) values
    ('available', 0, 25, 1, now(), 'resize', '{"picture": 7}', 'pictures'),
    ('retryable', 24, 25, 4, now() + interval '1 hour', 'resize', '{"picture": 8}', 'pictures'),
    ('running', 1, 25, 1, now(), 'resize', '{"picture": 9}', 'pictures')"""
OBAN = """drop table if exists oban_jobs; create table oban_jobs (id bigserial primary key, state text not null,
    attempt integer not null default 0, max_attempts integer not null, priority integer not null default 0,
    scheduled_at timestamp not null, worker text not null, args jsonb not null, queue text not null);
    insert into oban_jobs (state, attempt, max_attempts, priority, scheduled_at, worker, args, queue) values
    ('available', 0, 25, 0, timezone('UTC', now()), 'resize', '{"picture": 7}', 'pictures'),
    ('retryable', 24, 25, 3, timezone('UTC', now()) + interval '1 hour', 'resize', '{"picture": 8}', 'pictures'),
    ('executing', 1, 25, 0, timezone('UTC', now()), 'resize', '{"picture": 9}', 'pictures')"""


@pytest.mark.parametrize(("page", "table"), [("river.md", RIVER), ("oban.md", OBAN)])
def test_the_query_on_the_page_moves_what_waits_once(tenure, page, table):
    psql(table)
    [command] = blocks(f"coming-from/{page}", "sh", "psql")
    for _ in range(2):
        done = shell(
            command, tenure, DATABASE_URL=POSTGRES, PATH=f"{PSQL.parent}:{os.environ['PATH']}", PGTZ="Asia/Tokyo"
        )
        assert (done.stdout, done.stderr) == ("", "")
    later, first = tenure.client.list()
    assert (first.payload, first.priority, first.max_attempts) == ({"picture": 7}, 0, 25)
    assert (later.payload, later.priority, later.max_attempts) == ({"picture": 8}, -3, 1)
    assert later.queue == "pictures"
    worker, seen = Worker(url=tenure.url), []
    worker.on("resize")(lambda job: seen.append(job.payload["picture"]))
    tenure.work(worker)
    assert seen == [7]
    wait_for(lambda: tenure.client.get(first.id).outcome == "succeeded")
