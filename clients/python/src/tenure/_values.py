"""Values of the client's surface: pages, what a followed job produces, times and keys."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any, Generic, TypeVar

from ._wire import JobError

T = TypeVar("T")


@dataclass(frozen=True)
class Page(Generic[T]):
    """A page of a list. Iterating over it gives its rows."""

    rows: list[T]
    next_cursor: str | None
    """Where the next page begins; `None` at the end."""

    def __iter__(self) -> Iterator[T]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True)
class FinalStatus:
    """The end of a followed job."""

    job_id: str
    state: str
    outcome: str | None
    output: Any
    error: JobError | None


@dataclass(frozen=True)
class Holder:
    """The holder of a lease: part of what a worker sends about a job."""

    worker: str
    fence: int


def present(members: Mapping[str, Any]) -> dict[str, Any]:
    """The members that are not `None`."""
    return {name: value for name, value in members.items() if value is not None}


def time_text(time: datetime | str | None) -> str | None:
    """A time as the API expects it; one without a zone is local.

    >>> time_text(datetime(2026, 11, 16, 5, 31, 45, tzinfo=timezone.utc))
    '2026-11-16T05:31:45.000Z'
    """
    if not isinstance(time, datetime):
        return time
    return time.astimezone(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def fresh_id() -> str:
    """A UUID of version 7: the server stores keys of about the same time next to each other.

    >>> uuid.UUID(fresh_id()).version
    7
    """
    value = (time.time_ns() // 1_000_000 << 80) | int.from_bytes(os.urandom(10), "big")
    value = value & ~(0xF << 76) | 7 << 76
    value = value & ~(3 << 62) | 2 << 62
    return str(uuid.UUID(int=value))


def generated_key() -> str:
    return f"auto-{fresh_id()}"
