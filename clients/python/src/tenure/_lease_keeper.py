"""Renews leases, and stops handlers whose lease is lost. Runs on the worker's thread.

A lease is counted on the monotonic clock from before the request was sent that got or renewed it. The server counts
from later, so a lease expires here before it expires at the server.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from ._async_client import AsyncClient
from ._errors import Problem, ProtocolError, TenureError
from ._json import decode
from ._reporter import Outgoing, Result, batch_of_reports
from ._span import seconds
from ._stop import Stop
from ._transport import backoff
from ._wire import HeartbeatAnswer, JobRecord, Lease

if TYPE_CHECKING:
    from ._held_job import HeldJob

log = logging.getLogger("tenure.worker")

_HEARTBEAT_DEFAULT = "5s"
_TTL_DEFAULT = "30s"
_BATCH_MAX = 1000

LeaseKey = tuple[str, int]
"""A job's id and the fence of its lease."""


def key_of(job: JobRecord) -> LeaseKey:
    return job.id, job.lease.fence if job.lease else 0


@dataclass
class LocalLease:
    """A lease by this machine's clock."""

    heartbeat: float
    ttl: float
    ends: float
    """When it expires unless it is renewed."""
    expires_at: float | None
    """The same time by the server's clock."""
    heartbeat_at: float

    @classmethod
    def granted(cls, lease: Lease, sent_at: float) -> LocalLease:
        """A lease that was granted after `sent_at`."""
        heartbeat = max(0.001, seconds(lease.heartbeat or _HEARTBEAT_DEFAULT))
        ttl = seconds(lease.ttl or _TTL_DEFAULT)
        ends = sent_at + min(ttl, 2 * heartbeat)
        return cls(heartbeat, ttl, ends, _unix_time(lease.expires_at), sent_at + heartbeat)

    @classmethod
    def confirmed(cls, lease: Lease, sent_at: float) -> LocalLease:
        """A lease of unknown age that was confirmed by a heartbeat sent at `sent_at`.

        The server renews it if half or less remains, so at least half remains.
        """
        local = cls.granted(lease, sent_at)
        return replace(local, ends=sent_at + min(local.ttl / 2, 2 * local.heartbeat))

    @property
    def span(self) -> float:
        """How long it lasts without a heartbeat."""
        return min(self.ttl, 2 * self.heartbeat)

    @property
    def is_expired(self) -> bool:
        return self.ends <= time.monotonic()

    def renew(self, lease: Lease | None, sent_at: float) -> None:
        """A heartbeat sent at `sent_at` was accepted. The end moves by as much as it moved by the server's clock.

        That keeps the time that passed between the claim and the grant for good, so it is at least the end of a lease
        of unknown age.
        """
        expires_at = _unix_time(lease.expires_at) if lease else None
        least = sent_at + min(self.ttl / 2, 2 * self.heartbeat)
        if expires_at is None or self.expires_at is None:
            self.ends = least
        elif expires_at >= self.expires_at:
            self.ends = min(sent_at + self.span, max(least, self.ends + expires_at - self.expires_at))
        else:
            self.ends = max(least, self.ends)
        self.expires_at = expires_at or self.expires_at
        self.heartbeat_at = sent_at + self.heartbeat


def _unix_time(text: str) -> float | None:
    try:
        return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()
    except ValueError:
        return None


async def send_heartbeats(
    client: AsyncClient, worker: str, leases: Sequence[LeaseKey], timeout: float
) -> Sequence[Result]:
    """Sends heartbeats for these leases in one call."""
    texts = [Outgoing.report(job, fence, "heartbeat", {}).text for job, fence in leases]
    return await client._reports_within(batch_of_reports(worker, texts), len(texts), timeout)


@dataclass(eq=False)
class _KeptLease:
    held: HeldJob
    lease: LocalLease
    is_in_flight: bool = False


class LeaseKeeper:
    """The leases of a worker and the task that renews them. Used from the worker's thread only."""

    def __init__(self, client: AsyncClient, worker: str) -> None:
        self._client, self._worker = client, worker
        self._leases: dict[LeaseKey, _KeptLease] = {}
        self._wake = asyncio.Event()
        self._in_flight: set[asyncio.Future[None]] = set()
        # Consecutive heartbeats without an answer.
        self._failures = 0

    def add(self, held: HeldJob, lease: LocalLease) -> None:
        self._leases[held.record.id, held.fence] = _KeptLease(held, lease)
        self._wake.set()

    def remove(self, key: LeaseKey) -> None:
        self._leases.pop(key, None)

    def stop_all(self) -> None:
        """Signals the shutdown to every handler."""
        for kept in self._leases.values():
            kept.held.stop_signal.strengthen(Stop.SHUTDOWN)

    async def run(self) -> None:
        while True:
            self._drop_expired()
            self._send_due_heartbeats()
            try:
                await asyncio.wait_for(self._wake.wait(), self._until_next())
            except asyncio.TimeoutError:
                continue
            self._wake.clear()

    def _until_next(self) -> float | None:
        """The time until the next expiry or heartbeat."""
        times = [
            kept.lease.ends if kept.is_in_flight else min(kept.lease.ends, kept.lease.heartbeat_at)
            for kept in self._leases.values()
        ]
        return max(0.0, min(times) - time.monotonic()) if times else None

    def _drop_expired(self) -> None:
        for key, kept in list(self._leases.items()):
            if kept.lease.is_expired:
                log.warning("lease expired, server not reached in time: job=%s fence=%d", *key)
                kept.held.stop_signal.strengthen(Stop.LEASE_LOST)
                del self._leases[key]

    def _send_due_heartbeats(self) -> None:
        """Sends the heartbeats that are due, together with those that are due soon."""
        now = time.monotonic()
        idle = [(key, kept) for key, kept in self._leases.items() if not kept.is_in_flight]
        if not any(kept.lease.heartbeat_at <= now for _, kept in idle):
            return
        soon = [(key, kept) for key, kept in idle if kept.lease.heartbeat_at <= now + kept.lease.heartbeat / 4]
        soon = soon[:_BATCH_MAX]
        for _, kept in soon:
            kept.is_in_flight = True
        shortest = min(kept.lease.heartbeat for _, kept in soon)
        leases = [key for key, _ in soon]
        task = asyncio.ensure_future(self._heartbeat(leases, now, shortest / 2))
        self._in_flight.add(task)
        task.add_done_callback(self._in_flight.discard)

    async def _heartbeat(self, leases: Sequence[LeaseKey], sent_at: float, timeout: float) -> None:
        try:
            results = await send_heartbeats(self._client, self._worker, leases, timeout)
        except TenureError as error:
            self._failures += 1
            log.warning("heartbeats not answered: leases=%d error=%s", len(leases), error)
            for key in leases:
                self._retry_soon(key)
        else:
            self._failures = 0
            self._handle_results(zip(leases, results, strict=True), sent_at)
        self._wake.set()

    def _handle_results(self, results: Iterable[tuple[LeaseKey, Result]], sent_at: float) -> None:
        for key, result in results:
            kept = self._leases.get(key)
            # The job may have ended since.
            if kept is None:
                continue
            if not isinstance(result, Problem):
                kept.is_in_flight = False
                _apply(kept, result, sent_at)
            elif result.is_lease_conflict or result.status == 404:
                log.warning("lease lost: job=%s fence=%d error=%s", *key, result)
                # Revoked: the server has ended the attempt (cancelled, dead-lettered or timed out).
                is_revoked = result.members.get("cause") == "revoked"
                kept.held.stop_signal.strengthen(Stop.HARD_CANCEL if is_revoked else Stop.LEASE_LOST)
                del self._leases[key]
            else:
                log.warning("heartbeat refused: job=%s fence=%d error=%s", *key, result)
                self._retry_soon(key)

    def _retry_soon(self, key: LeaseKey) -> None:
        """Schedules another heartbeat, early enough for several before the lease expires."""
        if kept := self._leases.get(key):
            pause = min(backoff(max(1, self._failures)), kept.lease.heartbeat / 8)
            kept.is_in_flight = False
            kept.lease.heartbeat_at = time.monotonic() + pause


def _apply(kept: _KeptLease, result: dict[str, object], sent_at: float) -> None:
    try:
        answer = decode(HeartbeatAnswer, result)
    except ProtocolError:
        answer = HeartbeatAnswer(cancel=None, lease=None)  # type: ignore[arg-type]
    kept.lease.renew(answer.lease, sent_at)
    if answer.cancel is not None:
        kept.held.stop_signal.strengthen(Stop.SOFT_CANCEL if answer.cancel == "soft" else Stop.HARD_CANCEL)
