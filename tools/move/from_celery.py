#!/usr/bin/env python3
"""Moves the waiting tasks of Celery queues on Redis to Tenure.

Stop the workers of Celery first. A task becomes a job of the type of its name, in the queue of the same name, with the
payload {"args": […], "kwargs": {…}}. It is removed from Redis after Tenure has acknowledged it, and its idempotency key
is made from its id, so a run that was interrupted can be repeated with the same options.

Needs celery, redis and the SDK in clients/python. TENURE_URL and TENURE_KEY, or TENURE_KEY_FILE, name server and key.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import partial
from typing import Any

from celery import Celery
from redis import Redis, RedisError
from tenure import Client, Problem, ProtocolError, TenureError

BATCH = 100
PRIORITIES = range(10)
PRIORITY_SEPARATOR = "\x06\x16"
EMBEDDED = ("callbacks", "errbacks", "chain", "chord")
ROUNDS_MAX = 60


class NotMovable(Exception):
    """Why a task stays where it is."""


@dataclass
class Task:
    """A task in Redis, and how it is removed: false if it was not there any more."""

    message: dict[str, Any]
    queue: str
    remove: Callable[[], object]

    @property
    def id(self) -> str:
        headers = self.message.get("headers")
        return str((isinstance(headers, dict) and headers.get("id")) or "(no id)")


class Move:
    def __init__(self, client: Client, max_retries: int, dry_run: bool) -> None:
        self.client, self.max_retries, self.dry_run = client, max_retries, dry_run
        self.moved = self.repeated = self.left = 0

    def page(self, tasks: list[Task]) -> int:
        """Moves these tasks, and returns how many of them are still in Redis."""
        left, jobs = self.left, []
        for task in tasks:
            try:
                jobs.append((task, job_of(task, self.max_retries)))
            except NotMovable as why:
                self.leave(task, str(why))
            except (AttributeError, KeyError, RecursionError, TypeError, ValueError) as error:
                self.leave(task, f"cannot be read: {error!r}")
        if self.dry_run:
            self.moved += len(jobs)
            return len(tasks)
        for (task, _), answer in zip(jobs, create(self.client, [job for _, job in jobs]), strict=True):
            if isinstance(answer, Exception):
                self.leave(task, str(answer))
            elif not task.remove():
                self.leave(task, f"a worker took it meanwhile; cancel its copy in Tenure, job {answer.id}")
            else:
                self.moved += 1
                self.repeated += bool(answer.replayed)
        return self.left - left

    def leave(self, task: Task, reason: str) -> None:
        self.left += 1
        line = f"left {task.id}: {reason}"
        print("".join(each if each.isprintable() else "?" for each in line), file=sys.stderr)

    def summary(self) -> str:
        if self.dry_run:
            return f"would move {self.moved} and leave {self.left}; nothing was changed"
        return f"moved {self.moved}, of which {self.repeated} were already in Tenure; left {self.left}"


def job_of(task: Task, max_retries: int) -> dict[str, Any]:
    """The job to create. Running the script again must give the same one."""
    headers, properties = task.message.get("headers") or {}, task.message.get("properties") or {}
    if not (headers.get("id") and headers.get("task")):
        raise NotMovable("not a message of Celery's protocol 2")
    if headers.get("expires"):
        raise NotMovable(f"expires at {headers['expires']}; a job of Tenure has no time of expiry")
    args, kwargs, embedded = body_of(task.message)
    for name in EMBEDDED:
        if (embedded or {}).get(name):
            raise NotMovable(f"has {name}, which Tenure cannot continue")
    job = {
        "type": headers["task"],
        "queue": task.queue,
        "payload": {"args": args, "kwargs": kwargs},
        "priority": -int(properties.get("priority") or 0),
        "max_attempts": max(1, max_retries + 1 - int(headers.get("retries") or 0)),
        "correlation_id": headers["id"],
        "idempotency_key": "celery-" + hashlib.sha256(headers["id"].encode()).hexdigest(),
    }
    return job if not headers.get("eta") else job | {"run_at": time_of(headers["eta"])}


def message_of(raw: bytes) -> dict[str, Any]:
    """An empty message if it is not one."""
    try:
        message = json.loads(raw)
    except (RecursionError, ValueError):
        return {}
    return message if isinstance(message, dict) else {}


def body_of(message: dict[str, Any]) -> list[Any]:
    """The arguments, the keyword arguments and what is called afterwards. Bodies other than JSON are never decoded."""
    if message.get("content-type") != "application/json" or message["headers"].get("compression"):
        raise NotMovable(f"its body is {message.get('content-type')}, perhaps compressed; only JSON can be moved")
    body = message["body"]
    if message["properties"].get("body_encoding") == "base64":
        body = base64.b64decode(body)
    parts = json.loads(body, parse_constant=refuse_constant)
    if not (isinstance(parts, list) and len(parts) == 3):
        raise NotMovable("not a message of Celery's protocol 2")
    return parts


def refuse_constant(name: str) -> None:
    raise NotMovable(f"its body contains {name}, which is not JSON")


def time_of(eta: str) -> str:
    time = datetime.fromisoformat(eta.replace("Z", "+00:00"))
    return (time if time.tzinfo else time.replace(tzinfo=timezone.utc)).isoformat()


def create(client: Client, jobs: list[dict[str, Any]]) -> list[Any]:
    """A job or an error for each. Waits while the server refuses because of its load."""
    answers: list[Any] = [None] * len(jobs)
    pending = list(range(len(jobs)))
    for _ in range(ROUNDS_MAX):
        for place, answer in zip(pending, create_once(client, [jobs[place] for place in pending]), strict=True):
            answers[place] = answer
        pending = [place for place in pending if isinstance(answers[place], Problem) and answers[place].is_retryable]
        if not pending:
            break
        time.sleep(max(answers[place].retry_after or 1 for place in pending))
    return answers


def create_once(client: Client, jobs: list[dict[str, Any]]) -> list[Any]:
    if not jobs:
        return []
    try:
        return list(client.create_many(jobs))  # type: ignore[arg-type]
    except (Problem, ProtocolError) as error:
        if isinstance(error, Problem) and error.status in (401, 403):
            raise
        # The request as a whole was refused, for example because it was too large.
        return [error] if len(jobs) == 1 else [answer for job in jobs for answer in create_once(client, [job])]


def move_queue(redis: Redis, prefix: str, queue: str, move: Move) -> None:
    """The oldest task is the last of the list: it is moved first, and new ones do not change the places."""
    for priority in PRIORITIES:
        key = prefix + queue + (f"{PRIORITY_SEPARATOR}{priority}" if priority else "")
        left = 0
        while page := redis.lrange(key, -(left + BATCH), -(left + 1)):
            tasks = [Task(message_of(raw), queue, partial(redis.lrem, key, -1, raw)) for raw in reversed(page)]
            left += move.page(tasks)


def move_unacked(redis: Redis, prefix: str, queues: list[str], move: Move, is_wanted: bool) -> None:
    """Tasks that a worker has received and not finished; those with an ETA are here until their time."""

    def remover(tag: bytes) -> Callable[[], object]:
        return lambda: redis.hdel(prefix + "unacked", tag) and [redis.zrem(prefix + "unacked_index", tag)]

    found = []
    for tag, raw in redis.hscan_iter(prefix + "unacked"):
        # A message, its exchange and its routing key, which is the queue.
        entry = json.loads(raw)
        if entry[2] in queues:
            found.append(Task(entry[0], entry[2], remover(tag)))
    if not is_wanted:
        for task in found:
            move.leave(task, "a worker has it, or was killed with it: move it with --unacked if no worker runs")
        return
    for start in range(0, len(found), BATCH):
        move.page(found[start : start + BATCH])


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("queue", nargs="+", help="a queue of Celery, such as celery")
    parser.add_argument("--broker", default="redis://127.0.0.1:6379/0", help="default: %(default)s")
    parser.add_argument("--key-prefix", default="", help="global_keyprefix of the transport options")
    parser.add_argument("--max-retries", type=int, default=3, help="max_retries of the tasks; default: %(default)s")
    parser.add_argument("--unacked", action="store_true", help="also tasks that a killed worker had received")
    parser.add_argument("--dry-run", action="store_true", help="only count, and list what cannot be moved")
    return parser.parse_args()


def running_workers(options: argparse.Namespace) -> list[str]:
    app = Celery(broker=options.broker)
    app.conf.broker_transport_options = {"global_keyprefix": options.key_prefix}
    return [name for worker in app.control.ping(timeout=1) for name in worker]


def main() -> int:
    options = arguments()
    redis, move = Redis.from_url(options.broker), Move(Client(), options.max_retries, options.dry_run)
    is_complete = True
    try:
        redis.ping()
        if not options.dry_run and (workers := running_workers(options)):
            names = ", ".join(workers)
            print(f"workers of Celery are running: {names}\nhelp: stop them, then run this again", file=sys.stderr)
            return 2
        for queue in options.queue:
            move_queue(redis, options.key_prefix, queue, move)
        move_unacked(redis, options.key_prefix, options.queue, move, options.unacked)
    except (RedisError, TenureError) as error:
        print(f"stopped: {error}\nhelp: run it again with the same options", file=sys.stderr)
        is_complete = False
    print(move.summary())
    return 0 if is_complete and not move.left else 1


if __name__ == "__main__":
    sys.exit(main())
