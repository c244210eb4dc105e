"""A real server with an embedded store in a temporary folder, on a free loopback port."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import tempfile
from pathlib import Path
from typing import Any

from .http import Address, call

CONFIG = Path(__file__).parent.parent / "tenure.toml"
_START_SECONDS = 30
_STOP_SECONDS = 20


class Server:
    def __init__(self, binary: str) -> None:
        self._binary = binary
        self._folder = Path(tempfile.mkdtemp(prefix="tenure-conformance-"))
        shutil.copy(CONFIG, self._folder)
        self._process: asyncio.subprocess.Process | None = None
        self._address: Address = ("127.0.0.1", 0)

    def address(self) -> Address:
        return self._address

    async def start(self) -> None:
        """Starts it and waits until it listens: the first time on a free port, later on the same one."""
        listen = "{}:{}".format(*self._address)
        with (self._folder / "server.log").open("wb") as log:
            self._process = await self._tenure("serve", "--config", CONFIG.name, "--listen", listen, output=log)
        for _ in range(_START_SECONDS * 50):
            if "http://" in (text := self.log()):
                host, _, port = text.split("http://", 1)[1].split()[0].rpartition(":")
                self._address = (host, int(port))
                return
            if self._process.returncode is not None:
                break
            await asyncio.sleep(0.02)
        raise RuntimeError(f"server did not start:\n{self.log()}")

    async def end(self, number: signal.Signals) -> None:
        """Ends it by a signal; its data stays."""
        if self._process is not None and self._process.returncode is None:
            self._process.send_signal(number)
            await asyncio.wait_for(self._process.wait(), _STOP_SECONDS)
        self._process = None

    async def verify(self) -> str | None:
        """Checks every law on the stored data of the stopped server; what is wrong, if anything is."""
        process = await self._tenure("verify", output=asyncio.subprocess.PIPE)
        output, _ = await process.communicate()
        return output.decode() if process.returncode else None

    async def remove(self) -> None:
        await self.end(signal.SIGKILL)
        shutil.rmtree(self._folder, ignore_errors=True)

    def log(self) -> str:
        return (self._folder / "server.log").read_text(errors="replace")

    async def get(self, path: str) -> Any:
        status, body = await call(self._address, "GET", path)
        if status != 200:
            raise RuntimeError(f"GET {path}: {status} {body.decode(errors='replace')}")
        return json.loads(body)

    async def content(self, path: str) -> bytes:
        return (await call(self._address, "GET", path))[1]

    async def post(self, path: str, body: Any, headers: dict[str, str] | None = None) -> Any:
        status, answer = await call(self._address, "POST", path, body, headers)
        if status >= 300:
            raise RuntimeError(f"POST {path}: {status} {answer.decode(errors='replace')}")
        return json.loads(answer)

    async def _tenure(self, command: str, *arguments: str, output: Any) -> asyncio.subprocess.Process:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("TENURE_")}
        return await asyncio.create_subprocess_exec(
            *[self._binary, command, "--data", "data", *arguments],
            cwd=self._folder,
            env=environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=output,
            stderr=asyncio.subprocess.STDOUT,
        )
