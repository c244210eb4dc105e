"""Servers, workers and waits for tests."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

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


@pytest.fixture(scope="session")
def shared() -> Iterator[Server]:
    """One server for all tests that do not stop it."""
    with Server(CONFIG) as server:
        yield server


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
