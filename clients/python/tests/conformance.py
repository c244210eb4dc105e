"""The test worker of the conformance suite (`conformance/README.md`): each job's payload says what its handler does."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tenure import (
    AsyncClient,
    Cancelled,
    Fail,
    Job,
    Partial,
    Permanent,
    Problem,
    Reject,
    Release,
    Stop,
    Transient,
    Worker,
)

# Empty when pytest imports this file.
OPTIONS = json.loads(os.environ.get("TENURE_CONFORMANCE", "{}"))
POLL_INTERVAL = 0.01


@dataclass
class Script:
    """The payload of a job: the steps of each attempt."""

    attempts: list[list[dict[str, Any]]]


def show(line: str, **members: Any) -> None:
    """Prints a line for the runner."""
    sys.stdout.write(json.dumps({"line": line, **members}) + "\n")
    sys.stdout.flush()


def paused(pause: dict[str, Any] | None) -> tuple[str, str] | None:
    return None if pause is None else (pause["resource"], f"{pause['for_ms']}ms")


def span(millis: int | None) -> str | None:
    return None if millis is None else f"{millis}ms"


async def handle(job: Job[Script]) -> Any:
    started(job)
    return await perform(job)


async def handle_batch(jobs: list[Job[Script]]) -> list[Any]:
    for job in jobs:
        started(job, batch=len(jobs))
    results: list[Any] = []
    for job in jobs:
        try:
            results.append(await perform(job))
        except Fail as fail:
            results.append(fail)
    return results


def started(job: Job[Script], **members: Any) -> None:
    members |= {"attempt": job.attempt, "fence": job.fence, "checkpoint": job.checkpoint}
    show("started", job=job.id, traceparent=job.traceparent, correlation_id=job.correlation_id, **members)


async def perform(job: Job[Script]) -> Any:
    scripts = job.payload.attempts
    for step in scripts[min(job.attempt, len(scripts)) - 1]:
        arguments = {name: value for name, value in step.items() if name != "do"}
        if step["do"] == "succeed":
            return "x" * arguments["bytes"] if "bytes" in arguments else arguments.get("result")
        await STEPS[step["do"]](job, **arguments)
    return None


async def log(job: Job[Script], text: str, stream: str = "stdout", level: str = "info") -> None:
    job.log(text, stream=stream, level=level)


async def progress(job: Job[Script], percent: int, message: str | None = None) -> None:
    job.progress(percent, message)


async def asset(job: Job[Script], name: str, content: str) -> None:
    await job.asset(name, content.encode())


async def wait(job: Job[Script], gate: str) -> None:
    while not (Path(OPTIONS["gates"]) / gate).exists():
        await asyncio.sleep(POLL_INTERVAL)


async def block(job: Job[Script], gate: str) -> None:
    while not (Path(OPTIONS["gates"]) / gate).exists():
        time.sleep(POLL_INTERVAL)


async def spin(job: Job[Script], gate: str) -> None:
    while not (Path(OPTIONS["gates"]) / gate).exists():
        for _ in range(200_000):
            pass


async def wait_stop(job: Job[Script], at_least: str = "soft_cancel") -> None:
    show("stopped", job=job.id, cause=(await job.stopped(Stop[at_least.upper()])).name.lower())


async def create(job: Job[Script], jobs: list[dict[str, Any]]) -> None:
    """Creates the jobs at the same time, each with its own call."""
    async with AsyncClient() as client:
        calls = (client.create(each["type"], each["payload"], queue=each["queue"]) for each in jobs)
        for index, made in enumerate(await asyncio.gather(*calls, return_exceptions=True)):
            code = made.code if isinstance(made, Problem) else None
            show("created", job=job.id, index=index, id=getattr(made, "id", None), code=code)


async def transient(
    job: Job[Script], code: str, message: str, retry_after_ms: int | None = None, pause: Any = None, **error: Any
) -> None:
    raise Transient(code, message, retry_after=span(retry_after_ms), pause=paused(pause), **error)


async def permanent(job: Job[Script], code: str, message: str, pause: Any = None, **error: Any) -> None:
    raise Permanent(code, message, pause=paused(pause), **error)


async def partial(job: Job[Script], code: str, message: str, **error: Any) -> None:
    raise Partial(code, message, **error)


async def reject(job: Job[Script], reason: str) -> None:
    raise Reject(reason)


async def release(job: Job[Script], checkpoint: Any = None, delay_ms: int | None = None, pause: Any = None) -> None:
    raise Release(checkpoint=checkpoint, delay=span(delay_ms), pause=paused(pause))


async def cancelled(job: Job[Script], checkpoint: Any = None, result: Any = None) -> None:
    raise Cancelled(checkpoint=checkpoint, result=result)


async def error(job: Job[Script], message: str) -> None:
    raise RuntimeError(message)


async def panic(job: Job[Script], message: str) -> None:
    raise SystemExit(message)


STEPS = {
    step.__name__: step
    for step in (log, progress, asset, wait, block, spin, wait_stop, create, transient, permanent, partial, reject)
} | {step.__name__: step for step in (release, cancelled, error, panic)}


def main() -> None:
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    worker = Worker(
        name=OPTIONS["name"],
        queues=[OPTIONS["queue"]],
        slots=OPTIONS["slots"],
        wait=f"{OPTIONS['wait_ms']}ms",
        drain=span(OPTIONS["drain_ms"]),
    )
    worker.on(*OPTIONS["types"])(handle)
    worker.on_batch(*OPTIONS.get("batches", []))(handle_batch)
    worker.run()
    show("drained")


if __name__ == "__main__":
    main()
