"""Plays a scenario with one SDK. Each step is a method; the first member of a step in the file is the method's name.

A step waits until its condition holds, up to a limit. What is judged is the server's record, the requests that the
proxy saw, and the lines that the worker prints.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Awaitable, Callable
from datetime import datetime
from pathlib import Path
from signal import SIGKILL, SIGTERM, Signals
from typing import Any

from .match import expanded, mismatch
from .proxy import Proxy
from .scenario import Scenario, verb_of
from .sdk import Sdk
from .server import Server
from .worker import UNREADABLE, Line, Worker

STEP_SECONDS = 60
_POLL_SECONDS = 0.05


class Failed(Exception):
    """A step of a scenario whose condition does not hold."""


class Play:
    def __init__(self, scenario: Scenario, sdk: Sdk, server: Server) -> None:
        self._scenario, self._sdk, self._server = scenario, sdk, server
        self._queue = f"{sdk.name}-{scenario.name}"
        self._names = {**sdk.names, "other_queue": f"{self._queue}-other"}
        self._gates = tempfile.TemporaryDirectory(prefix="gates-")
        self._ids: dict[str, str] = {}
        self._lines: list[Line] = []
        self._workers: dict[str, Worker] = {}
        self._expected_exits: dict[str, int] = {}

    async def run(self) -> None:
        """Performs the steps, then drains the workers that still run: each must end without an error."""
        place = ""
        try:
            for number, step in enumerate(self._scenario.steps, 1):
                place = f"step {number} {step}"
                await getattr(self, verb_of(step))(**expanded(step, self._names))
            place = "drain at the end"
            await self._drain()
        except Exception as error:
            raise Failed(f"{place}: {error or type(error).__name__}\n{self._state()}") from error
        finally:
            await asyncio.gather(*(worker.close() for worker in self._workers.values()))
            self._gates.cleanup()

    async def _drain(self) -> None:
        for name, worker in self._workers.items():
            worker.send(SIGTERM)
            code = await self._exit_code(worker)
            if code != self._expected_exits.get(name, 0):
                raise Failed(f"worker {name} ended with {code}")
        if self._printed(UNREADABLE, {}):
            raise Failed("a worker printed a line that is not JSON")

    # Steps that do something.

    async def step_create(self, create: str) -> None:
        job = self._scenario.jobs[create]
        body = expanded(job.body(self._queue), self._names)
        # Without a key, a lifecycle may derive one that finds the job of another SDK.
        headers = {"idempotency-key": f"{self._queue}-{create}", **job.headers}
        self._ids[create] = (await self._server.post("/api/jobs", body, headers))["id"]

    async def step_start(self, start: str) -> None:
        given = self._scenario.workers[start]
        worker = Worker(start, self._sdk, Proxy(self._server.address, given.new_faults()))
        self._workers[start] = worker
        options = {
            "name": f"{self._queue}-{start}",
            "queue": self._queue,
            "types": sorted({job.type for job in self._scenario.jobs.values()}),
            "slots": given.slots,
            "wait_ms": given.wait_ms,
            "drain_ms": given.drain_ms,
            "batches": given.batches,
            "gates": self._gates.name,
        }
        await worker.start(options, self._lines.append)

    async def step_open(self, open: str) -> None:
        (Path(self._gates.name) / open).touch()

    async def step_cancel(self, cancel: str, mode: str) -> None:
        await self._server.post(f"/api/jobs/{self._ids[cancel]}/cancel", {"mode": mode})

    async def step_cut(self, cut: str) -> None:
        self._workers[cut].proxy.cut()

    async def step_heal(self, heal: str) -> None:
        self._workers[heal].proxy.heal()

    async def step_signal(self, signal: str, to: str) -> None:
        self._workers[to].send(Signals[f"SIG{signal}"])

    async def step_server(self, server: str) -> None:
        assert self._scenario.own_server, "only a scenario with its own server may stop it"
        if server == "start":
            await self._server.start()
        else:
            await self._server.end({"stop": SIGTERM, "kill": SIGKILL}[server])

    # Steps that wait for something.

    async def step_line(self, line: str, count: int = 1, **members: Any) -> None:
        """A worker has printed this line, that often or more."""
        await self._until(lambda: self._enough(len(self._printed(line, members)), count, "lines"))

    async def step_job(self, job: str, **members: Any) -> None:
        """The server's record of a job; `run_in` is the number of seconds from its last change to `run_at`."""

        async def check() -> str | None:
            record = await self._server.get(f"/api/jobs/{self._ids[job]}")
            record["run_in"] = round(_seconds(record["run_at"]) - _seconds(record["updated_at"]))
            found = mismatch(members, record)
            if found and record["phase"] == "final":
                raise Failed(f"{found}; the job is {record['state']}, error {record['error']}")
            return found

        await self._until(check)

    async def step_requests(self, requests: str, kind: str, at_least: int) -> None:
        """The worker has sent this many requests of a kind."""
        proxy = self._workers[requests].proxy
        await self._until(lambda: self._enough(proxy.count(kind), at_least, "requests"))

    async def step_exit(self, exit: str, code: int = 0, by: str | None = None) -> None:
        """The worker's process has ended: with this code, or by this signal."""
        actual = await self._exit_code(self._workers[exit])
        # A process that handles a signal may end with 128 and its number instead.
        allowed = [-Signals[f"SIG{by}"], 128 + Signals[f"SIG{by}"]] if by else [code]
        if actual not in allowed:
            raise Failed(f"it ended with {actual}")
        self._expected_exits[exit] = actual

    # Steps that compare what is already there.

    async def step_events(self, events: str, are: list[Any]) -> None:
        """The numbered events of a job, in order; a text is the type of an event."""
        found = (await self._server.get(f"/api/jobs/{self._ids[events]}/events"))["events"]
        expected = [{"type": event} if isinstance(event, str) else event for event in are]
        types = [event["type"] for event in found]
        self._compare(expected, found, f"the events are {types}")

    async def step_logs(self, logs: str, are: list[dict[str, Any]]) -> None:
        """The log of a job. Every line must have been stored before the job finished."""
        lines = (await self._server.get(f"/api/jobs/{self._ids[logs]}/logs"))["lines"]
        self._compare(are, lines, f"the lines are {lines}")
        record = await self._server.get(f"/api/jobs/{self._ids[logs]}")
        late = [line["text"] for line in lines if line["ts"] > (record["completed_at"] or line["ts"])]
        if late:
            raise Failed(f"stored after the end of the job: {late}")

    async def step_assets(self, assets: str, are: list[dict[str, Any]]) -> None:
        """The assets of a job, with their content."""
        found = (await self._server.get(f"/api/jobs/{self._ids[assets]}/assets"))["assets"]
        for asset in found:
            path = f"/api/jobs/{self._ids[assets]}/assets/{asset['id']}/content"
            asset["content"] = (await self._server.content(path)).decode()
        self._compare(are, found, f"the assets are {found}")

    async def step_dead_letter(self, dead_letter: str, **members: Any) -> None:
        letters = (await self._server.get(f"/api/dead-letters?queue={self._queue}"))["dead_letters"]
        found = next((letter for letter in letters if letter["job_id"] == self._ids[dead_letter]), None)
        self._compare(members, found, f"the dead letter is {found}")

    async def step_jobs(self, jobs: int, queue: str) -> None:
        """The number of jobs in a queue, in any state."""
        found = (await self._server.get(f"/api/jobs?queue={queue}&limit=500"))["jobs"]
        self._compare(jobs, len(found), "jobs")

    async def step_lines(self, lines: str, count: int, **members: Any) -> None:
        """Exactly this many such lines so far."""
        self._compare(count, len(self._printed(lines, members)), "lines")

    async def step_order(self, order: list[dict[str, Any]]) -> None:
        """The first lines of these forms came in this order."""
        places = [self._lines.index(self._printed(form.pop("line"), form)[0]) for form in order]
        self._compare(sorted(places), places, "places in the output")

    async def step_sent(self, sent: str, kind: str, count: int, at_most: bool = False) -> None:
        """Exactly, or at most, this many requests of a kind so far."""
        actual = self._workers[sent].proxy.count(kind)
        self._compare(min(count, actual) if at_most else count, actual, f"requests of the kind {kind}")

    async def step_gap(self, gap: str, kind: str, ms: int) -> None:
        """At least this time between the first request of a kind and the second."""
        first, second, *_ = [seen.at for seen in self._workers[gap].proxy.seen if kind in seen.kinds]
        if (second - first) * 1000 < ms:
            raise Failed(f"only {(second - first) * 1000:.0f} ms")

    async def step_claims(self, claims: str, max: list[int]) -> None:
        """The members `max` of the first claims."""
        bodies = [seen.request.json() for seen in self._workers[claims].proxy.seen if "claim" in seen.kinds]
        self._compare(max, [body["max"] for body in bodies][: len(max)], "values of `max`")

    async def step_same(self, same: str, kind: str, member: str) -> None:
        """The first two requests of a kind have the same value of this member, or of this header."""
        seen = [seen.request for seen in self._workers[same].proxy.seen if kind in seen.kinds][:2]
        values = [(request.json() or {}).get(member) or request.headers.get(member) for request in seen]
        if len(values) < 2 or values[0] is None or values[0] != values[1]:
            raise Failed(f"the values are {values}")

    async def _exit_code(self, worker: Worker) -> int:
        try:
            return await asyncio.wait_for(worker.exit_code(), STEP_SECONDS)
        except TimeoutError:
            raise Failed(f"worker {worker.name} did not end within {STEP_SECONDS} s") from None

    def _printed(self, line: str, members: dict[str, Any]) -> list[Line]:
        expected = {"line": line, **members}
        if "job" in expected:
            expected["job"] = self._ids[expected["job"]]
        return [printed for printed in self._lines if mismatch(expected, printed) is None]

    def _compare(self, expected: Any, actual: Any, what: str) -> None:
        if found := mismatch(expected, actual):
            raise Failed(f"{found}; {what}")

    async def _enough(self, count: int, wanted: int, what: str) -> str | None:
        return None if count >= wanted else f"{count} such {what}"

    async def _until(self, check: Callable[[], Awaitable[str | None]]) -> None:
        """Waits until the check finds nothing wrong."""
        deadline = time.monotonic() + STEP_SECONDS
        while found := await check():
            if time.monotonic() > deadline:
                raise Failed(f"not within {STEP_SECONDS} s: {found}")
            await asyncio.sleep(_POLL_SECONDS)

    def _state(self) -> str:
        """What happened so far, for the report of a failure."""
        parts = [f"jobs: {self._ids}", *(f"line: {line}" for line in self._lines)]
        for name, worker in self._workers.items():
            for seen in worker.proxy.seen[-40:]:
                fault = f", {seen.fault}" if seen.fault else ""
                parts.append(f"{name} at {seen.at:.3f}: {' '.join(sorted(seen.kinds))} -> {seen.status}{fault}")
            parts.append(f"{name} wrote: {worker.errors()[-4000:]}")
        return "\n".join(parts)


def _seconds(time: str) -> float:
    return datetime.fromisoformat(time).timestamp()
