"""Servers, workers and waits for tests."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from typing import Any
from uuid import uuid4

import pytest

from tenure import Client, Worker
from tenure.testing import Server, running
from tests.proxy import Proxy

DEADLINE = 20.0

CONFIG = """
[types."*"]
lifecycle = "distributed"
backoff = { base = "10ms", factor = 1.0, max = "10ms", jitter = "none" }

[types.brief]
lifecycle = "distributed"
lease = "3s"
heartbeat = "1s"
cancel_grace = "2s"
max_attempts = 3
backoff = { base = "10ms", factor = 1.0, max = "10ms", jitter = "none" }

[types.grouped]
lifecycle = "distributed"
batch = { size = 3, wait = "10m" }
max_attempts = 1

[resources.openai]
running = 100

[types.metered]
lifecycle = "distributed"
uses = ["openai"]
backoff = { base = "10ms", factor = 1.0, max = "10ms", jitter = "none" }

[types.ordered]
lifecycle = "distributed"
sequence = { key = "payload.account", on_failure = "halt" }

[types.costly]
lifecycle = "image"
cost = 1

[types.export]
lifecycle = "pattern"

[types.moderated]
lifecycle = "image"

[types.strict]
lifecycle = "distributed"
schema = { type = "object", required = ["n"] }
"""


@pytest.fixture(scope="session", params=["embedded", "postgres"])
def shared(request: pytest.FixtureRequest) -> Iterator[Server]:
    """One server on each store, for all tests that do not stop it."""
    store = new_database() if request.param == "postgres" else request.param
    with Server(CONFIG, store=store) as server:
        yield server


def new_database() -> str:
    """The URL of a new database. `cargo xtask test` names the server in TENURE_TEST_POSTGRES."""
    server = os.environ.get("TENURE_TEST_POSTGRES")
    if server is None:
        pytest.skip("TENURE_TEST_POSTGRES names no server")
    psycopg = pytest.importorskip("psycopg")
    name = f"sdk_{uuid4().hex}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"create database {name}")
    return f"{server.rsplit('/', 1)[0]}/{name}"


@pytest.fixture
def client(shared: Server) -> Client:
    return shared.client


@pytest.fixture
def proxy(shared: Server) -> Iterator[Proxy]:
    with Proxy(shared.url) as proxy:
        yield proxy


@pytest.fixture
def work(shared: Server, proxy: Proxy) -> Iterator[Callable[..., Worker]]:
    """Starts workers that are drained after the test, while the proxy still runs."""
    started: list[running] = []

    def start(type_: str, handler: Callable[..., Any], **settings: Any) -> Worker:
        worker = Worker(**{"url": shared.url, "slots": 4, "drain": "5s", **settings})
        worker.on(type_)(handler)
        started.append(running(worker))
        return started[-1].__enter__()

    yield start
    for each in started:
        each.__exit__(None, None, None)


def until(condition: Callable[[], Any], timeout: float = DEADLINE) -> Any:
    """Waits until the condition is true, and returns its value."""
    deadline = time.monotonic() + timeout
    while not (value := condition()):
        assert time.monotonic() < deadline, "condition not reached in time"
        time.sleep(0.01)
    return value
