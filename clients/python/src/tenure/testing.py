"""A test kit: the real server on a free loopback port, with its data in a temporary folder, and a pytest fixture.

The binary is the one that `TENURE_BINARY` names, or else `tenure` on the path.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from ._client import Client
from ._wire import JobRecord, Phase
from ._worker import Worker

if TYPE_CHECKING:
    from typing_extensions import Self

_START_TIMEOUT = 30.0
_STOP_TIMEOUT = 10.0
_POLL_INTERVAL = 0.02
_BUSY_PHASES: tuple[Phase, ...] = ("ready", "held", "active")


class Server:
    """A server for tests; `config` is the text of its `tenure.toml`. A context manager that starts and stops it."""

    def __init__(self, config: str = "") -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="tenure-"))
        (self._folder / "tenure.toml").write_text(config, encoding="utf-8")
        self._listen = "127.0.0.1:0"
        self._process: subprocess.Popen[bytes] | None = None
        self._client: Client | None = None

    @property
    def url(self) -> str:
        return f"http://{self._listen}"

    @property
    def client(self) -> Client:
        """A client of this server."""
        if self._client is None:
            self._client = Client(self.url)
        return self._client

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, type_: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def start(self) -> None:
        """Starts the server and waits until it listens: the first time on a free port, later on the same one."""
        command = [_binary(), "serve", "--config", "tenure.toml", "--data", "data", "--listen", self._listen]
        environment = {name: value for name, value in os.environ.items() if not name.startswith("TENURE_")}
        log = self._folder / "server.log"
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                command, cwd=self._folder, env=environment, stdout=output, stderr=subprocess.STDOUT
            )
        deadline = time.monotonic() + _START_TIMEOUT
        while "http://" not in (text := log.read_text(encoding="utf-8", errors="replace")):
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.kill()
                raise RuntimeError(f"server did not start:\n{text}")
            time.sleep(_POLL_INTERVAL)
        self._listen = text.split("http://", 1)[1].split()[0]

    def stop(self) -> None:
        """Stops the server by SIGTERM; its data remains."""
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(_STOP_TIMEOUT)
            except subprocess.TimeoutExpired:
                self.kill()
            self._process = None

    def kill(self) -> None:
        """Stops the server by SIGKILL; its data remains."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def close(self) -> None:
        """Stops the server and deletes its data."""
        if self._client is not None:
            self._client.close()
        self.stop()
        shutil.rmtree(self._folder, ignore_errors=True)

    def work(self, worker: Worker, timeout: float = 30.0) -> None:
        """Runs a worker until it has handled every job that can be claimed now."""
        with running(worker, timeout):
            self.wait_idle(timeout)

    def wait_idle(self, timeout: float = 30.0) -> None:
        """Waits until no job is held or active, and none could be claimed."""
        deadline = time.monotonic() + timeout
        while self._is_busy():
            if time.monotonic() > deadline:
                raise TimeoutError(f"jobs are still open after {timeout} s")
            time.sleep(_POLL_INTERVAL)

    def _is_busy(self) -> bool:
        pages = {phase: self.client.list(phase=phase, limit=500) for phase in _BUSY_PHASES}
        return any(phase != "ready" or _is_due(job) for phase, page in pages.items() for job in page)


class running:  # noqa: N801
    """Runs a worker in a thread for the length of a `with` block, then drains it."""

    def __init__(self, worker: Worker, timeout: float = 30.0) -> None:
        self._worker, self._timeout = worker, timeout
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self) -> Worker:
        self._thread.start()
        return self._worker

    def __exit__(
        self, type_: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._worker.stop()
        self._thread.join(self._timeout)
        if self._thread.is_alive():
            raise TimeoutError(f"worker has not drained within {self._timeout} s")
        if self._error is not None and error is None:
            raise self._error

    def _serve(self) -> None:
        try:
            asyncio.run(self._worker.serve())
        except BaseException as error:
            self._error = error


def _is_due(job: JobRecord) -> bool:
    if not job.run_at:
        return True
    return datetime.fromisoformat(job.run_at.replace("Z", "+00:00")) <= datetime.now(timezone.utc)


def _binary() -> str:
    binary = os.environ.get("TENURE_BINARY") or shutil.which("tenure")
    if not binary:
        raise RuntimeError("the tenure binary is missing: set TENURE_BINARY to its path")
    return os.path.abspath(binary)


try:
    import pytest
except ImportError:
    pass
else:

    @pytest.fixture
    def tenure() -> Iterator[Server]:
        """A new server for the test."""
        with Server() as server:
            yield server
