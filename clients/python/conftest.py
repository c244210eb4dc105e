"""Names that doctests use: a client, the URL of its server, and a function that runs a worker until nothing is left."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tenure.testing import Server

# Its examples have `await`; those of the blocking client are the same.
collect_ignore = ["src/tenure/_async_client.py"]


@pytest.fixture(scope="session")
def doctest_server() -> Iterator[Server]:
    with Server() as server:
        yield server


@pytest.fixture(autouse=True)
def names_in_doctests(request: pytest.FixtureRequest) -> None:
    if type(request.node).__name__ == "DoctestItem":
        namespace: dict[str, Any] = request.getfixturevalue("doctest_namespace")
        server: Server = request.getfixturevalue("doctest_server")
        namespace |= {"client": server.client, "url": server.url, "run_until_idle": server.work}
