/** The stop of an attempt and its reason: a cell of shared memory, which a blocked event loop can read, too. */

/** In order of strength; a stop may become stronger and is never taken back. */
const REASONS = ["none", "soft_cancel", "shutdown", "hard_cancel", "lease_lost"] as const;

/**
 * Why a handler should stop.
 * - `soft_cancel`: a cancel was requested. Throw `Cancelled`, or finish, and the result counts.
 * - `shutdown`: the worker shuts down and its drain time is over. Throw `Release` within a second.
 * - `hard_cancel`: the server has ended the attempt (cancelled, dead-lettered or timed out); nothing is reported.
 * - `lease_lost`: another worker may hold the job; nothing is reported.
 */
export type StopReason = Exclude<(typeof REASONS)[number], "none">;

/** The reason of an aborted `job.signal`. */
export class Stopped extends Error {
  override readonly name = "Stopped";

  constructor(readonly reason: StopReason) {
    super(`the handler should stop: ${reason.replace("_", " ")}`);
  }
}

/** Shared between the threads of a worker. */
export class StopCell {
  readonly #level: Int32Array;

  constructor(readonly memory = new SharedArrayBuffer(4)) {
    this.#level = new Int32Array(memory);
  }

  get reason(): StopReason | undefined {
    const reason = REASONS[Atomics.load(this.#level, 0)];
    return reason === "none" ? undefined : reason;
  }

  /** The result of the handler no longer counts. */
  get isOver(): boolean {
    return this.reason === "hard_cancel" || this.reason === "lease_lost";
  }

  raise(reason: StopReason): void {
    const level = REASONS.indexOf(reason);
    for (let now = Atomics.load(this.#level, 0); now < level; now = Atomics.load(this.#level, 0)) {
      Atomics.compareExchange(this.#level, 0, now, level);
    }
  }
}
