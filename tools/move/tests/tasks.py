"""A Celery application. Run as a program, it sends tasks and prints what each must become."""

from __future__ import annotations

import json
import os
import sys
from datetime import datetime, timedelta, timezone

from celery import Celery, chain

app = Celery("tasks", broker=os.environ["MOVE_BROKER"])
app.conf.broker_transport_options = {"global_keyprefix": os.environ.get("MOVE_PREFIX", "")}
PRIORITIES = (0, 3, 6, 9)


@app.task(name="tasks.resize")
def resize(number, width=0):
    raise AssertionError("the worker of Celery must not run it")


def produce(count):
    """Waiting tasks of every priority, of which each tenth is delayed; the job that each must become."""
    expected = []
    for number in range(count):
        priority = PRIORITIES[number % len(PRIORITIES)]
        eta = datetime.now(timezone.utc) + timedelta(hours=1) if number % 10 == 0 else None
        retries = 2 if number == 1 else 0
        task = resize.apply_async((number,), {"width": 64}, eta=eta, priority=priority, retries=retries)
        expected.append(
            {
                "correlation_id": task.id,
                "type": "tasks.resize",
                "queue": "celery",
                "payload": {"args": [number], "kwargs": {"width": 64}},
                "priority": -priority,
                "max_attempts": 4 - retries,
                "run_at": eta and eta.timestamp(),
            }
        )
    return expected


def produce_unmovable():
    """Tasks that cannot be moved, each with a part of the reason."""
    return {
        resize.apply_async((1,), serializer="pickle").id: "application/x-python-serialize",
        resize.apply_async((1,), compression="zlib").id: "compressed",
        resize.apply_async((1,), expires=3600).id: "expires at",
        resize.apply_async((1,), link=resize.si(2)).id: "has callbacks",
        resize.apply_async((1,), link_error=resize.si(2)).id: "has errbacks",
        chain(resize.s(1), resize.si(2)).apply_async().parent.id: "has chain",
        resize.apply_async((float("nan"),)).id: "NaN",
        resize.apply_async(("x" * 2**21,)).id: "too_large",
    }


if __name__ == "__main__":
    print(
        json.dumps(
            {"expected": produce(int(sys.argv[1])), "left": produce_unmovable() if "unmovable" in sys.argv else {}}
        )
    )
