"""Scenarios: what a file contains, and the steps that it may use."""

from __future__ import annotations

import inspect
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .proxy import Fault
from .sdk import HERE


@dataclass(frozen=True)
class JobGiven:
    """A job that a scenario creates: `attempts` is the script of its handler, `payload` any other payload."""

    type: str = "steady"
    attempts: list[list[dict[str, Any]]] | None = None
    payload: Any = None
    fields: dict[str, Any] = field(default_factory=dict)
    """More members of the creation."""
    headers: dict[str, str] = field(default_factory=dict)

    def body(self, queue: str) -> dict[str, Any]:
        payload = self.payload if self.attempts is None else {"attempts": self.attempts}
        return {"type": self.type, "queue": queue, "payload": payload, **self.fields}


@dataclass(frozen=True)
class WorkerGiven:
    """A worker of a scenario: its options and the faults of its proxy."""

    slots: int = 1
    wait_ms: int = 20_000
    drain_ms: int | None = 1000
    batches: list[str] = field(default_factory=list)
    """The types that have a batch handler."""
    faults: list[dict[str, Any]] = field(default_factory=list)

    def new_faults(self) -> list[Fault]:
        return [Fault(**fault) for fault in self.faults]


@dataclass(frozen=True)
class Scenario:
    name: str
    about: str
    jobs: dict[str, JobGiven]
    workers: dict[str, WorkerGiven]
    steps: list[dict[str, Any]]
    own_server: bool = False

    @classmethod
    def read(cls, path: Path, verbs: type) -> Scenario:
        """Reads a file; raises if it contains something that `verbs`, the class with the steps, does not know."""
        try:
            fields = tomllib.loads(path.read_text())
            jobs = {name: JobGiven(**job) for name, job in fields.pop("jobs", {}).items()}
            workers = {name: WorkerGiven(**worker) for name, worker in fields.pop("workers", {"w": {}}).items()}
            scenario = cls(path.stem, jobs=jobs, workers=workers, **fields)
            for worker in workers.values():
                worker.new_faults()
            for step in scenario.steps:
                inspect.signature(getattr(verbs, verb_of(step))).bind(None, **step)
        except (TypeError, ValueError, AttributeError) as error:
            raise ValueError(f"{path.name}: {error}") from error
        return scenario


def verb_of(step: dict[str, Any]) -> str:
    """The name of the method that performs a step: that of its first member."""
    return f"step_{next(iter(step))}"


def all_scenarios(verbs: type, folder: Path = HERE / "scenarios") -> list[Scenario]:
    return [Scenario.read(path, verbs) for path in sorted(folder.glob("*.toml"))]
