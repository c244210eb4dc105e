/**
 * Renews leases, and stops handlers whose lease is lost. Runs on the worker's thread, so a handler that blocks the event loop
 * of the program loses nothing.
 *
 * A lease is counted on the monotonic clock from before the request was sent that got or renewed it. The server counts from
 * later, so a lease expires here before it expires at the server.
 */

import { toMillis } from "../duration.js";
import { Problem, describe } from "../errors.js";
import type * as wire from "../generated.js";
import { backoff } from "../transport.js";
import { keyText } from "./messages.js";
import type { LeaseKey } from "./messages.js";
import type { Reports } from "./reports.js";
import type { StopCell, StopReason } from "./stop.js";
import type { Log } from "./thread.js";

const BATCH_MAX = 1_000;
const CANCELS = { soft: "soft_cancel", hard: "hard_cancel" } as const;

/** A lease by this machine's clock. */
export class LocalLease {
  readonly heartbeat: number;
  readonly ttl: number;
  /** When it expires unless it is renewed. */
  ends: number;
  heartbeatAt: number;
  /** The end by the server's clock. */
  #expiresAt: number;

  /** A lease that was granted after `sentAt`. */
  constructor(lease: wire.GrantedLease, sentAt: number) {
    this.heartbeat = Math.max(1, toMillis(lease.heartbeat));
    this.ttl = toMillis(lease.ttl);
    this.ends = sentAt + this.span;
    this.heartbeatAt = sentAt + this.heartbeat;
    this.#expiresAt = Date.parse(lease.expires_at);
  }

  /**
   * A lease of unknown age that was confirmed by a heartbeat sent at `sentAt`. The server renews it if half or less remains,
   * so at least half remains.
   */
  static confirmed(lease: wire.GrantedLease, sentAt: number): LocalLease {
    const local = new LocalLease(lease, sentAt);
    local.ends = sentAt + Math.min(local.ttl / 2, local.heartbeat * 2);
    return local;
  }

  /** How long it lasts without a heartbeat. */
  get span(): number {
    return Math.min(this.ttl, this.heartbeat * 2);
  }

  get isExpired(): boolean {
    return this.ends <= performance.now();
  }

  /**
   * A heartbeat sent at `sentAt` was accepted. The end moves by as much as it moved by the server's clock. That keeps the time
   * that passed between the claim and the grant for good, so it is at least the end of a lease of unknown age.
   */
  renew(lease: wire.GrantedLease, sentAt: number): void {
    const expiresAt = Date.parse(lease.expires_at);
    const moved = Math.max(0, expiresAt - this.#expiresAt);
    const least = sentAt + Math.min(this.ttl / 2, this.heartbeat * 2);
    this.ends = Math.max(this.ends, least, Math.min(sentAt + this.span, this.ends + moved));
    this.#expiresAt = expiresAt;
    this.heartbeatAt = sentAt + this.heartbeat;
  }
}

interface KeptLease {
  key: LeaseKey;
  lease: LocalLease;
  stop: StopCell;
  isInFlight: boolean;
}

export class LeaseKeeper {
  readonly #reports: Reports;
  readonly #log: Log;
  readonly #onStop: (key: LeaseKey) => void;
  readonly #leases = new Map<string, KeptLease>();
  #timer: NodeJS.Timeout | undefined;
  /** Consecutive heartbeats without an answer. */
  #failures = 0;

  constructor(reports: Reports, log: Log, onStop: (key: LeaseKey) => void) {
    this.#reports = reports;
    this.#log = log;
    this.#onStop = onStop;
  }

  add(key: LeaseKey, lease: LocalLease, stop: StopCell): void {
    this.#leases.set(keyText(key), { key, lease, stop, isInFlight: false });
    this.#schedule();
  }

  /** Whether the lease was held until now. */
  remove(key: LeaseKey): boolean {
    return this.#leases.delete(keyText(key));
  }

  #schedule(): void {
    clearTimeout(this.#timer);
    const times = [...this.#leases.values()].map(({ lease, isInFlight }) =>
      isInFlight ? lease.ends : Math.min(lease.ends, lease.heartbeatAt),
    );
    if (times.length === 0) return;
    const next = times.reduce((first, time) => Math.min(first, time));
    this.#timer = setTimeout(() => {
      this.#dropExpired();
      this.#sendDue();
      this.#schedule();
    }, Math.max(0, next - performance.now()));
  }

  #dropExpired(): void {
    for (const kept of this.#leases.values()) {
      if (kept.lease.isExpired) this.#lose(kept, "server not reached in time");
    }
  }

  #lose(kept: KeptLease, why: string, reason: StopReason = "lease_lost"): void {
    this.remove(kept.key);
    this.#log("warn", "lease lost", { ...kept.key, why });
    this.#raise(kept, reason);
  }

  #raise({ key, stop }: KeptLease, reason: StopReason): void {
    stop.raise(reason);
    this.#onStop(key);
  }

  /** Sends the heartbeats that are due, together with those that are due soon. */
  #sendDue(): void {
    const now = performance.now();
    const idle = [...this.#leases.values()].filter(({ isInFlight }) => !isInFlight);
    if (!idle.some(({ lease }) => lease.heartbeatAt <= now)) return;
    const due = idle.filter(({ lease }) => lease.heartbeatAt <= now + lease.heartbeat / 4).slice(0, BATCH_MAX);
    for (const kept of due) kept.isInFlight = true;
    void this.#send(due, now);
  }

  async #send(due: KeptLease[], sentAt: number): Promise<void> {
    const timeout = due.reduce((shortest, { lease }) => Math.min(shortest, lease.heartbeat), Infinity) / 2;
    try {
      const results = await this.#reports.heartbeats(due.map(({ key }) => key), timeout);
      this.#failures = 0;
      due.forEach((kept, index) => this.#handle(kept, results[index], sentAt));
    } catch (error) {
      this.#failures += 1;
      this.#log("warn", "heartbeats not answered", { leases: due.length, error: describe(error) });
      for (const kept of due) this.#retrySoon(kept);
    }
    this.#schedule();
  }

  #handle(kept: KeptLease, result: wire.HeartbeatAnswer | Problem | undefined, sentAt: number): void {
    // The job may have ended since.
    if (!this.#leases.has(keyText(kept.key))) return;
    if (result === undefined) return this.#retrySoon(kept);
    if (!(result instanceof Problem)) {
      kept.isInFlight = false;
      kept.lease.renew(result.lease, sentAt);
      if (result.cancel) this.#raise(kept, CANCELS[result.cancel]);
    } else if (result.code === "lease_conflict" || result.status === 404) {
      // Revoked: the server has ended the attempt (cancelled, dead-lettered or timed out).
      this.#lose(kept, result.message, result.members.cause === "revoked" ? "hard_cancel" : "lease_lost");
    } else {
      this.#log("warn", "heartbeat refused", { ...kept.key, problem: result.message });
      this.#retrySoon(kept);
    }
  }

  /** Schedules another heartbeat, early enough for several before the lease expires. */
  #retrySoon(kept: KeptLease): void {
    kept.isInFlight = false;
    kept.lease.heartbeatAt = performance.now() + Math.min(backoff(Math.max(1, this.#failures)), kept.lease.heartbeat / 8);
  }
}
