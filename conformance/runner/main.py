"""Runs scenarios with SDKs side by side and prints a line for each, and a summary that `cargo xtask test` counts."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from dataclasses import dataclass

from .play import Play
from .scenario import Scenario, all_scenarios
from .sdk import Sdk, all_sdks
from .server import Server

SIDE_BY_SIDE = 10
USAGE = "run [SDK…] [SCENARIO…]   (TENURE_BINARY is the server)"


@dataclass
class Suite:
    binary: str
    shared: Server
    passed: int = 0
    failed: int = 0
    skipped: int = 0

    async def run(self, pairs: list[tuple[Sdk, Scenario]]) -> None:
        places = asyncio.Semaphore(SIDE_BY_SIDE)

        async def one(sdk: Sdk, scenario: Scenario) -> None:
            async with places:
                await self._run_one(sdk, scenario)

        await asyncio.gather(*(one(*pair) for pair in pairs))

    async def _run_one(self, sdk: Sdk, scenario: Scenario) -> None:
        title = f"{sdk.name} {scenario.name}"
        if reason := sdk.exceptions.get(scenario.name):
            self.skipped += 1
            return print(f"SKIP [        ] {title}: {reason}", flush=True)
        start = time.monotonic()
        try:
            await self._play(sdk, scenario)
        except Exception as error:
            self.failed += 1
            result, detail = "FAIL", f"\n{scenario.about}\n{error or type(error).__name__}\n"
        else:
            self.passed += 1
            result, detail = "PASS", ""
        print(f"{result} [{time.monotonic() - start:7.3f}s] {title}{detail}", flush=True)
        return None

    async def _play(self, sdk: Sdk, scenario: Scenario) -> None:
        if not scenario.own_server:
            return await Play(scenario, sdk, self.shared).run()
        server = Server(self.binary)
        try:
            await server.start()
            await Play(scenario, sdk, server).run()
            await self._verify(server)
        finally:
            await server.remove()

    async def _verify(self, server: Server) -> None:
        await server.end(signal.SIGTERM)
        if wrong := await server.verify():
            raise RuntimeError(f"the stored data breaks a law:\n{wrong}")

    async def verify_shared(self) -> None:
        await self._verify(self.shared)


def chosen(words: list[str], sdks: list[Sdk], scenarios: list[Scenario]) -> list[tuple[Sdk, Scenario]]:
    """The pairs that the words name; without the name of an SDK all of them, and the same for scenarios."""
    names = [*(sdk.name for sdk in sdks), *(scenario.name for scenario in scenarios)]
    if unknown := sorted(set(words) - set(names)):
        raise SystemExit(f"unknown: {', '.join(unknown)}\nnames: {', '.join(names)}\n{USAGE}")
    some_sdks = [sdk for sdk in sdks if sdk.name in words] or sdks
    some_scenarios = [scenario for scenario in scenarios if scenario.name in words] or scenarios
    return [(sdk, scenario) for scenario in some_scenarios for sdk in some_sdks]


async def run(binary: str, pairs: list[tuple[Sdk, Scenario]]) -> bool:
    start = time.monotonic()
    suite = Suite(binary, Server(binary))
    try:
        await suite.shared.start()
        await suite.run(pairs)
        await suite.verify_shared()
    finally:
        await suite.shared.remove()
    counts = f"{suite.passed} passed, {suite.failed} failed, {suite.skipped} skipped"
    print(f"Summary [{time.monotonic() - start:8.3f}s] {len(pairs)} tests run: {counts}")
    return suite.failed == 0


def main() -> None:
    binary = os.environ.get("TENURE_BINARY")
    if not binary:
        raise SystemExit(f"set TENURE_BINARY to the path of the tenure binary\n{USAGE}")
    if not os.access(binary, os.X_OK):
        raise SystemExit(f"TENURE_BINARY is {binary}, which is not a program")
    pairs = chosen(sys.argv[1:], all_sdks(), all_scenarios(Play))
    for sdk in {sdk.name: sdk for sdk, _ in pairs}.values():
        sdk.run_prepare()
    sys.exit(0 if asyncio.run(run(os.path.abspath(binary), pairs)) else 1)
