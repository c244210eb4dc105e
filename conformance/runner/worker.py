"""The test worker of an SDK as a process, with its own proxy."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import tempfile
from collections.abc import Callable
from typing import Any

from .proxy import Proxy
from .sdk import Sdk

Line = dict[str, Any]
UNREADABLE = "unreadable"
"""The name of a line that is not JSON."""


class Worker:
    def __init__(self, name: str, sdk: Sdk, proxy: Proxy) -> None:
        self.name, self.proxy = name, proxy
        self._sdk = sdk
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115
        self._process: asyncio.subprocess.Process | None = None
        self._reading: asyncio.Task[None] | None = None

    async def start(self, options: dict[str, Any], on_line: Callable[[Line], None]) -> None:
        """Starts the process; `on_line` gets each line that it prints."""
        await self.proxy.start()
        kept = {name: value for name, value in os.environ.items() if not name.startswith("TENURE_")}
        environment = kept | {"TENURE_URL": self.proxy.url, "TENURE_CONFORMANCE": json.dumps(options)}
        self._process = await asyncio.create_subprocess_exec(
            *self._sdk.command,
            cwd=self._sdk.folder,
            env=environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=self._errors,
        )
        self._reading = asyncio.ensure_future(self._read(on_line))

    async def _read(self, on_line: Callable[[Line], None]) -> None:
        assert self._process
        assert self._process.stdout
        async for text in self._process.stdout:
            try:
                line = json.loads(text)
            except ValueError:
                line = {"line": UNREADABLE, "text": text.decode(errors="replace")}
            on_line({**line, "worker": self.name})

    def send(self, number: signal.Signals) -> None:
        if self._process and self._process.returncode is None:
            self._process.send_signal(number)

    async def exit_code(self) -> int:
        """The exit code, once the process has ended and all of its lines are read; negative: the number of a signal."""
        assert self._process
        assert self._reading
        await asyncio.shield(self._reading)
        return await self._process.wait()

    async def close(self) -> None:
        if self._process:
            self.send(signal.SIGKILL)
            await self.exit_code()
        await self.proxy.close()
        self._errors.close()

    def errors(self) -> str:
        """What the process wrote to its standard error."""
        self._errors.seek(0)
        return self._errors.read().decode(errors="replace")
