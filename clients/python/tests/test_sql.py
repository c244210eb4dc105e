"""Jobs in the transaction of an application. Needs PostgreSQL: `cargo xtask test` names one in TENURE_TEST_POSTGRES."""

from __future__ import annotations

import asyncio
import importlib
import os
import re
import subprocess
from datetime import datetime, timezone
from pathlib import Path
from uuid import UUID

import pytest

from tenure import JobRequest, Problem, Worker, sql
from tenure.testing import Server, running
from tests.conftest import CONFIG, DEADLINE, new_database

psycopg = pytest.importorskip("psycopg")
sqlalchemy = pytest.importorskip("sqlalchemy")


@pytest.fixture(scope="module")
def url():
    url = new_database()
    binary = os.environ["TENURE_BINARY"]
    subprocess.run([binary, "intake", "install", "--database-url", url], check=True, capture_output=True)
    return url


def rows(url):
    with psycopg.connect(url) as connection:
        columns = "kind, job, name, body, idempotency_key, queue, priority, run_at, user_id, correlation_id"
        found = connection.execute(f"select {columns} from tenure.intake order by tx, number").fetchall()
        connection.execute("delete from tenure.intake")
        return found


def calls(connection):
    job = sql.enqueue(
        connection,
        "charge",
        {"order": 42},
        key="k",
        queue="q",
        priority=3,
        run_at=datetime(2030, 1, 1, tzinfo=timezone.utc),
        user_id="u",
        correlation_id="c",
    )
    sql.signal(connection, job, "approve", {"by": "ann"})
    sql.cancel(connection, str(job), "hard", "enough")
    return job


def expected(job):
    nothing = (None,) * 6
    return [
        ("enqueue", job, "charge", '{"order": 42}', "k", "q", 3, 1_893_456_000_000, "u", "c"),
        ("signal", job, "approve", '{"by": "ann"}', *nothing),
        ("cancel", job, "hard", "enough", *nothing),
    ]


def test_psycopg_requests_exist_if_and_only_if_the_transaction_commits(url):
    with psycopg.connect(url) as connection:
        calls(connection)
        connection.rollback()
        job = calls(connection)
    assert isinstance(job, UUID)
    assert rows(url) == expected(job)


def test_any_row_factory_of_psycopg_works(url):
    rows_as = importlib.import_module("psycopg.rows")

    async def call():
        async with await psycopg.AsyncConnection.connect(url, row_factory=rows_as.dict_row) as connection:
            return await sql.enqueue_async(connection, "charge")

    with psycopg.connect(url, row_factory=rows_as.dict_row) as connection:
        job = calls(connection)
    assert rows(url) == expected(job)
    job = asyncio.run(call())
    assert [of for _, of, *_ in rows(url)] == [job]


def test_sqlalchemy_connections_and_sessions_work(url):
    engine = sqlalchemy.create_engine(url.replace("postgres://", "postgresql+psycopg://", 1))
    with engine.begin() as connection:
        job = calls(connection)
    assert rows(url) == expected(job)
    from sqlalchemy.orm import Session

    with Session(engine) as session, session.begin():
        job = sql.enqueue(session, "charge")
    assert rows(url) == [("enqueue", job, "charge", "{}", *(None,) * 6)]


def test_asynchronous_connections_work(url):
    async def call():
        async with await psycopg.AsyncConnection.connect(url) as connection:
            job = await sql.enqueue_async(connection, "charge")
            await sql.cancel_async(connection, job)
            await sql.signal_async(connection, job, "go")
            return job

    job = asyncio.run(call())
    assert [(kind, of) for kind, of, *_ in rows(url)] == [("enqueue", job), ("cancel", job), ("signal", job)]


def test_another_schema_is_named_and_checked(url):
    with psycopg.connect(url) as connection:
        with pytest.raises(psycopg.errors.InvalidSchemaName):
            sql.enqueue(connection, "charge", schema="elsewhere")
        with pytest.raises(ValueError, match="schema"):
            sql.enqueue(connection, "charge", schema='"; drop')


def test_a_request_is_waited_for_as_the_job_that_it_becomes():
    url = new_database()
    with Server(CONFIG, store=url) as server:
        client = server.client
        with psycopg.connect(url) as connection:
            good, bad = sql.enqueue(connection, "strict", {"n": 1}), sql.enqueue(connection, "strict", {})
        worker = Worker(url=server.url)
        worker.on("strict")(lambda job: job.payload["n"])
        with running(worker):
            assert client.wait(str(good), DEADLINE).result == 1
        with pytest.raises(Problem) as raised:
            client.wait(str(bad), DEADLINE)
        assert raised.value.code == "validation_failed"
        [refused] = client.list(phase="refused")
        assert isinstance(refused, JobRequest)
        assert (refused.id, refused.problem.code) == (str(bad), "validation_failed")


def test_the_statement_for_sqlx_accepts_the_type_that_sqlx_binds(url):
    page = (Path(__file__).parents[3] / "docs/create-jobs.md").read_text()
    [statement] = re.findall(r'query_scalar\("([^"]+)"\)', page)
    with psycopg.connect(url) as connection:
        payload = importlib.import_module("psycopg.types.json").Jsonb({"n": 1})
        statement = statement.replace("$1", "%s").replace("$2", "%s")
        [job] = connection.execute(statement, ("charge", payload)).fetchone()
    assert rows(url)[0][1] == job
