"""`python -m tenure work MODULE:WORKER`: runs a worker of a module."""

from __future__ import annotations

import argparse
import importlib
import logging
import sys

from ._errors import TenureError
from ._worker import Worker


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tenure")
    commands = parser.add_subparsers(required=True)
    work = commands.add_parser("work", help="run a worker until SIGTERM or SIGINT")
    work.add_argument("worker", metavar="MODULE:WORKER", help="the worker, such as app:worker")
    work.add_argument("--slots", type=int, help="number of jobs that run at the same time")
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    # As with `python FILE`, modules of this folder can be imported.
    sys.path.insert(0, "")
    try:
        worker = find_worker(arguments.worker)
    except (ImportError, ValueError) as error:
        parser.error(str(error))
    worker.slots = arguments.slots or worker.slots
    try:
        worker.run()
    except TenureError as error:
        logging.getLogger("tenure.worker").error("worker stopped: error=%s", error)
        return 1
    return 0


def find_worker(name: str) -> Worker:
    module, _, attribute = name.partition(":")
    worker = getattr(importlib.import_module(module), attribute or "worker", None)
    if not isinstance(worker, Worker):
        raise ValueError(f"{name!r} is not a worker: write MODULE:WORKER, such as app:worker")
    return worker


if __name__ == "__main__":
    sys.exit(main())
