/**
 * The worker's thread: claims jobs, renews their leases and sends reports. It is separate from the program's thread, so that a
 * handler that blocks the event loop cannot delay heartbeats.
 */

import { readFileSync } from "node:fs";
import { hostname } from "node:os";
import { parentPort, workerData } from "node:worker_threads";

import { Problem, describe, isRetryable, retryAfterOf } from "../errors.js";
import type * as wire from "../generated.js";
import { freshId } from "../ids.js";
import { Transport, backoff, decode, wait } from "../transport.js";
import { LeaseKeeper, LocalLease } from "./leases.js";
import type { FromThread, LeaseKey, LogLevel, StartedJob, ThreadSettings, ToThread } from "./messages.js";
import { Reporter } from "./reporter.js";
import { Reports } from "./reports.js";
import { StopCell } from "./stop.js";

const CLAIM_MAX = 1_000;
const CONFIRM_TRIES = 3;
const CONFIRM_TIMEOUT = 30_000;
const LAST_CLAIM_TIMEOUT = 5_000;

export type Log = (level: LogLevel, message: string, fields: Record<string, unknown>) => void;

interface Claimed {
  job: wire.ClaimedJob;
  lease: LocalLease;
}

/** What a worker says about itself with each claim: `slots=8; host="gpu-1"; version="tenure-ts/0.1.0"`. */
function about(slots: number): string {
  const host = hostname().replace(/[^!-~]|[";=]/g, "").slice(0, 100);
  return `slots=${String(slots)}; host="${host}"; version="tenure-ts/${packageVersion()}"`;
}

/** A bundle may have no package file beside it. */
function packageVersion(): string {
  try {
    const text = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
    return (JSON.parse(text) as { version: string }).version;
  } catch {
    return "unknown";
  }
}

class WorkerThread {
  readonly #about: string;
  readonly #settings: ThreadSettings;
  readonly #post: (message: FromThread) => void;
  readonly #transport: Transport;
  readonly #reports: Reports;
  readonly #reporter: Reporter;
  readonly #keeper: LeaseKeeper;
  readonly #draining = new AbortController();
  #free: number;
  #onFree: (() => void) | undefined;
  #waitMax: number;
  /** Jobs whose final report is not answered. */
  #open = 0;
  #hasStoppedClaims = false;

  constructor(settings: ThreadSettings, post: (message: FromThread) => void) {
    this.#settings = settings;
    this.#post = post;
    this.#transport = new Transport(settings.target);
    this.#reports = new Reports(this.#transport, settings.worker);
    this.#reporter = new Reporter(this.#reports, this.#log, () => this.#closeJob());
    this.#keeper = new LeaseKeeper(this.#reports, this.#log, (lease) => post({ type: "stop", lease }));
    this.#free = settings.slots;
    this.#about = about(settings.slots);
    this.#waitMax = settings.wait;
  }

  async run(): Promise<void> {
    try {
      await this.#claimUntilDrained();
    } catch (error) {
      this.#log("error", "claims refused; worker stops", { error: describe(error) });
      this.#post({ type: "refused", message: describe(error), ...(error instanceof Problem && { problem: wireProblem(error) }) });
    }
    this.#hasStoppedClaims = true;
    this.#postDrained();
  }

  handle(message: ToThread): void {
    if (message.type === "drain") {
      this.#draining.abort();
      this.#onFree?.();
    } else if (message.type === "free") {
      this.#free += message.slots;
      this.#onFree?.();
    } else {
      const isHeld = this.#keeper.remove(message.lease);
      if (message.report && isHeld) this.#reporter.send(message.report);
      else this.#closeJob();
    }
  }

  readonly #log: Log = (level, message, fields) => this.#post({ type: "log", level, message, fields });

  #isDraining(): boolean {
    return this.#draining.signal.aborted;
  }

  async #claimUntilDrained(): Promise<void> {
    while (!this.#isDraining()) {
      if (this.#free === 0) {
        await new Promise<void>((resolve) => (this.#onFree = resolve));
        continue;
      }
      const claim = this.#newClaim();
      const claimed = await this.#sendClaim(claim);
      if (claimed === undefined) return this.#releaseUnanswered(claim);
      for (const group of groupsOf(claimed)) {
        const jobs = group.flatMap(({ job, lease }) => {
          if (!this.#isDraining()) return this.#started(job, lease) ?? [];
          this.#release(keyOf(job));
          return [];
        });
        if (jobs.length > 0) this.#post({ type: "claimed", jobs });
      }
    }
  }

  #newClaim(): wire.Claim {
    const { worker, types, queues } = this.#settings;
    return {
      worker,
      types,
      ...(queues.length > 0 && { queues }),
      max: Math.min(this.#free, CLAIM_MAX),
      wait: `${String(Math.round(this.#waitMax))}ms`,
      request_id: freshId(),
      start: true,
    };
  }

  /**
   * Sends a claim until it is answered, always with the same request id, so that the server repeats a lost answer.
   * `undefined`: the worker drains.
   */
  async #sendClaim(claim: wire.Claim): Promise<Claimed[] | undefined> {
    const { signal } = this.#draining;
    for (let tries = 0; ; ) {
      const sentAt = performance.now();
      try {
        const claimed = this.#withLeases(await this.#claimOnce(claim, this.#waitMax + 10_000, signal), sentAt);
        const shortest = claimed.reduce((least, { lease }) => Math.min(least, lease.span), Infinity);
        // Leases are to be fresh when the answer arrives.
        this.#waitMax = Math.min(this.#waitMax, shortest / 2);
        const isFresh = tries === 0 && performance.now() - sentAt <= shortest / 2;
        return isFresh ? claimed : await this.#confirm(claimed);
      } catch (error) {
        if (this.#isDraining()) return undefined;
        if (!isRetryable(error)) throw error;
        tries += 1;
        this.#log("warn", "claim not answered", { tries, error: describe(error) });
        await wait(retryAfterOf(error) ?? backoff(tries), signal).catch(() => undefined);
        if (this.#isDraining()) return undefined;
      }
    }
  }

  async #claimOnce(claim: wire.Claim, timeout: number, signal?: AbortSignal): Promise<wire.ClaimedJob[]> {
    const body = JSON.stringify(claim);
    const headers = { "tenure-worker": this.#about };
    const { text } = await this.#transport.once({ method: "POST", path: "/api/claims", headers, body, timeout, signal });
    return decode<wire.ClaimedJobs>(text).jobs;
  }

  /** After a long or repeated claim it is unknown when the leases began: a heartbeat confirms which of them are live. */
  async #confirm(claimed: Claimed[]): Promise<Claimed[]> {
    for (let tries = 1; claimed.length > 0 && tries <= CONFIRM_TRIES; tries += 1) {
      const sentAt = performance.now();
      try {
        const results = await this.#reports.heartbeats(claimed.map(({ job }) => keyOf(job)), CONFIRM_TIMEOUT);
        const live = claimed.filter((_, index) => !(results[index] instanceof Problem));
        return live.map(({ job }) => ({ job, lease: LocalLease.confirmed(job.lease, sentAt) }));
      } catch (error) {
        this.#log("warn", "leases not confirmed", { jobs: claimed.length, error: describe(error) });
        await wait(retryAfterOf(error) ?? backoff(tries));
      }
    }
    // Not started: their leases expire.
    return [];
  }

  /** A job whose lease cannot be read is not started and does not affect the others. */
  #withLeases(jobs: wire.ClaimedJob[], sentAt: number): Claimed[] {
    return jobs.flatMap((job) => {
      try {
        return [{ job, lease: new LocalLease(job.lease, sentAt) }];
      } catch (error) {
        this.#log("error", "lease cannot be read", { job: job.id, error: describe(error) });
        return [];
      }
    });
  }

  /** Takes a slot for a job, and holds its lease. */
  #started(job: wire.ClaimedJob, lease: LocalLease): StartedJob | undefined {
    const key = keyOf(job);
    if (this.#free === 0 || !this.#settings.types.includes(job.type)) {
      this.#log("warn", "job released: no handler or no slot", { ...key, type: job.type });
      this.#release(key);
      return undefined;
    }
    if (lease.isExpired) {
      this.#log("warn", "lease expired before the job started", { ...key });
      return undefined;
    }
    const stop = new StopCell();
    this.#free -= 1;
    this.#open += 1;
    this.#keeper.add(key, lease, stop);
    return { job, stop: stop.memory };
  }

  /** Repeats an unanswered claim, and releases the jobs that it got. */
  async #releaseUnanswered(claim: wire.Claim): Promise<void> {
    const { wait: _, ...again } = claim;
    try {
      const jobs = await this.#claimOnce({ ...again, max: 1 }, LAST_CLAIM_TIMEOUT);
      for (const job of jobs) this.#release(keyOf(job));
    } catch (error) {
      this.#log("warn", "last claim not answered; its leases expire", { error: describe(error) });
    }
  }

  #release(key: LeaseKey): void {
    this.#open += 1;
    this.#reporter.send({ ...key, verb: "release", text: JSON.stringify({ ...key, verb: "release" }) });
  }

  #closeJob(): void {
    this.#open -= 1;
    this.#postDrained();
  }

  #postDrained(): void {
    if (this.#hasStoppedClaims && this.#open === 0) this.#post({ type: "drained" });
  }
}

/** The jobs of each group; a job without a group is alone. */
function groupsOf(claimed: Claimed[]): Claimed[][] {
  const groups = new Map<string, Claimed[]>();
  for (const each of claimed) {
    const { id, type, group } = each.job;
    const key = group === undefined ? id : `${type} ${group}`;
    groups.set(key, [...(groups.get(key) ?? []), each]);
  }
  return [...groups.values()];
}

function keyOf({ id, lease }: wire.ClaimedJob): LeaseKey {
  return { job: id, fence: lease.fence };
}

function wireProblem({ code, status, title, detail, instance, members }: Problem): wire.Problem {
  return { type: `/problems/${code}`, code, status, title, detail, instance, ...members };
}

if (parentPort) {
  const port = parentPort;
  const thread = new WorkerThread(workerData as ThreadSettings, (message) => {
    port.postMessage(message);
  });
  port.on("message", (message: ToThread) => {
    thread.handle(message);
  });
  void thread.run();
}
