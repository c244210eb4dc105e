"""A test kit: the real server on a free loopback port, and a pytest fixture.

By default the data of the server is in memory, and only the test moves its clock.

The binary is the one that `TENURE_BINARY` names, or else that of this package, or else `tenure` on the path.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sysconfig
import tempfile
import threading
import time
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from ._client import Client
from ._span import Span, span_text
from ._wire import JobRecord, Phase
from ._worker import Worker

if TYPE_CHECKING:
    from typing_extensions import Self

_START_TIMEOUT = 30.0
_STOP_TIMEOUT = 10.0
_POLL_INTERVAL = 0.02
_BUSY_PHASES: tuple[Phase, ...] = ("ready", "held", "active")


class Server:
    """A server for tests; `config` is the text of its `tenure.toml`. A context manager that starts and stops it.

    `store` is `memory`: no data outlives the process, and the clock stands still until :meth:`advance`. Or `embedded`:
    a temporary folder, whose data outlives :meth:`stop` and :meth:`kill`. Or the URL of an empty PostgreSQL database.
    The last two have the clock of this machine.

    >>> with Server() as server:
    ...     before = server.now
    ...     print(server.advance("1h 30m") - before)
    1:30:00
    """

    def __init__(self, config: str = "", *, store: str = "memory") -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="tenure-"))
        (self._folder / "tenure.toml").write_text(config, encoding="utf-8")
        self._store = store
        self._listen = "127.0.0.1:0"
        self._process: subprocess.Popen[bytes] | None = None
        self._client: Client | None = None
        self._now: datetime | None = None

    @property
    def url(self) -> str:
        return f"http://{self._listen}"

    @property
    def client(self) -> Client:
        """A client of this server."""
        if self._client is None:
            self._client = Client(self.url)
        return self._client

    @property
    def now(self) -> datetime:
        """The time of the server."""
        return self._now or datetime.now(timezone.utc)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, type_: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def start(self) -> None:
        """Starts the server and waits until it listens: the first time on a free port, later on the same one."""
        command = [_binary(), "test-server" if self._store == "memory" else "serve", "--config", "tenure.toml"]
        if self._store == "embedded":
            command += ["--data", "data"]
        elif self._store != "memory":
            command += ["--database-url", self._store]
        environment = {name: value for name, value in os.environ.items() if not name.startswith("TENURE_")}
        if self._store != "memory":
            environment["TENURE_ASSETS_STORE"] = f"file:{self._folder}/assets"
        with (self._folder / "server.log").open("wb") as log:
            self._process = subprocess.Popen(
                [*command, "--listen", self._listen],
                cwd=self._folder,
                env=environment,
                stdin=subprocess.PIPE if self._store == "memory" else subprocess.DEVNULL,
                stdout=subprocess.PIPE if self._store == "memory" else log,
                stderr=log,
            )
        self._listen = self._started() if self._store == "memory" else self._listening()

    def _started(self) -> str:
        """The address that a server in memory prints."""
        first = self._line()
        return str(first["url"]).removeprefix("http://")

    def _line(self) -> dict[str, str]:
        """The next line of a server in memory; it has the time."""
        assert self._process is not None
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self.kill()
            raise RuntimeError(f"server has ended:\n{self._log()}")
        printed: dict[str, str] = json.loads(line)
        if "error" in printed:
            raise ValueError(printed["error"])
        self._now = _time(printed["now"])
        return printed

    def _listening(self) -> str:
        """Waits for the address in the log."""
        assert self._process is not None
        deadline = time.monotonic() + _START_TIMEOUT
        while "http://" not in (text := self._log()):
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.kill()
                raise RuntimeError(f"server did not start:\n{text}")
            time.sleep(_POLL_INTERVAL)
        return text.split("http://", 1)[1].split()[0]

    def _log(self) -> str:
        return (self._folder / "server.log").read_text(encoding="utf-8", errors="replace")

    def advance(self, by: Span) -> datetime:
        """Moves the clock of a server in memory, and returns its time.

        The span is in seconds, a `timedelta`, or a text such as `1h 30m`. What is due by then happens within a moment,
        and before any call that changes its job.
        """
        if self._store != "memory":
            raise RuntimeError("only a server in memory has a clock that a test can move")
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.write(f"advance {span_text(by)}\n".encode())
        self._process.stdin.flush()
        self._line()
        return self.now

    def stop(self) -> None:
        """Stops the server by SIGTERM. Its data remains, unless it is in memory."""
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(_STOP_TIMEOUT)
            except subprocess.TimeoutExpired:
                self._process.kill()
            self._end()

    def kill(self) -> None:
        """Stops the server by SIGKILL. Its data remains, unless it is in memory."""
        if self._process is not None:
            self._process.kill()
            self._end()

    def _end(self) -> None:
        assert self._process is not None
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()
        self._process = self._now = None

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
        now = self.now
        return any(
            phase != "ready" or (isinstance(job, JobRecord) and _is_due(job, now))
            for phase, page in pages.items()
            for job in page
        )


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


def _is_due(job: JobRecord, now: datetime) -> bool:
    return not job.run_at or _time(job.run_at) <= now


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def _binary() -> str:
    installed = Path(sysconfig.get_path("scripts")) / "tenure"
    binary = os.environ.get("TENURE_BINARY") or (str(installed) if installed.exists() else shutil.which("tenure"))
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
        """A new server for the test, in memory, with a clock that only the test moves."""
        with Server() as server:
            yield server
