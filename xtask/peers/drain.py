"""Waiting no-op jobs through one worker process: `drain.py tenure` or `drain.py celery`, for `cargo xtask bench sdks`.

PEER_URL is the server, PEER_PLAN = { jobs, slots }. The rate is printed as a line of JSON. It counts from the start of the worker
to the last handled job, as in `measure.mjs`; what a worker does before it can take jobs is part of it.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
import time

PLAN = json.loads(os.environ["PEER_PLAN"])
JOBS: int = PLAN["jobs"]
SLOTS: int = PLAN["slots"]
URL = os.environ["PEER_URL"]
TEXT = "x" * 180


class Handled:
    """Counts handled jobs; `all` is set with the last one."""

    def __init__(self) -> None:
        self.count = 0
        self.all = threading.Event()
        self.ended_at = 0.0

    def one(self) -> None:
        self.count += 1
        if self.count == JOBS:
            self.ended_at = time.perf_counter()
            self.all.set()


def tenure() -> float:
    from tenure import Client, Worker

    type_ = f"peer-{os.getpid()}"
    with Client(URL) as client:
        for start in range(0, JOBS, 1000):
            batch = [{"type": type_, "payload": {"text": TEXT}} for _ in range(min(1000, JOBS - start))]
            refused = [each for each in client.create_many(batch) if isinstance(each, Exception)]
            assert not refused, refused
        handled = Handled()
        worker = Worker(url=URL, slots=SLOTS)

        @worker.on(type_)
        async def nothing(job) -> None:
            handled.one()

        began_at = time.perf_counter()
        thread = threading.Thread(target=lambda: asyncio.run(worker.serve()))
        thread.start()
        handled.all.wait()
        worker.stop()
        thread.join()
        open_jobs = [page for phase in ("ready", "held", "active") for page in client.list(type=type_, phase=phase)]
        assert not open_jobs, f"{len(open_jobs)} jobs are not finished"
    return JOBS / (handled.ended_at - began_at)


def celery() -> float:
    from celery import Celery
    from celery.signals import worker_ready

    queue = f"peer-{os.getpid()}"
    app = Celery("peer", broker=URL)
    app.conf.update(
        task_default_queue=queue,
        task_ignore_result=True,
        # As in Tenure, a job is removed after it was handled, not before.
        task_acks_late=PLAN.get("acksLate", True),
        worker_prefetch_multiplier=SLOTS,
        worker_enable_remote_control=False,
        broker_connection_retry_on_startup=True,
    )
    handled = Handled()

    @app.task(name="nothing")
    def nothing(text: str) -> None:
        handled.one()
        if handled.all.is_set():
            os.write(1, (json.dumps({"rate": JOBS / (handled.ended_at - began_at)}) + "\n").encode())
            # The last job is not acknowledged; no worker reads this queue again.
            os._exit(0)

    with app.producer_pool.acquire(block=True) as producer:
        for _ in range(JOBS):
            nothing.apply_async((TEXT,), producer=producer)
    began_at = 0.0

    @worker_ready.connect
    def ready(**_: object) -> None:
        nonlocal began_at
        began_at = time.perf_counter()

    # The bootstrap of Celery's worker, about a second, is not counted: `worker_ready` comes before the first task.
    app.worker_main(
        ["worker", "--pool", PLAN.get("pool", "solo"), "--concurrency", "1", "--loglevel", "ERROR"]
        + ["--without-gossip", "--without-mingle", "--without-heartbeat"]
    )
    raise SystemExit("the worker ended early")


def main() -> None:
    rate = {"tenure": tenure, "celery": celery}[sys.argv[1]]()
    print(json.dumps({"rate": rate}))


if __name__ == "__main__":
    main()
