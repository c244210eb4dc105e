/** What a handler gets: the payload, the attempt's ids, and methods for progress, logs and assets. */

import type * as wire from "../generated.js";
import type { Content } from "../transport.js";
import type { LineOptions, Output } from "./output.js";
import { Stopped } from "./stop.js";
import type { StopCell, StopReason } from "./stop.js";

export class Job<Payload = unknown> {
  readonly payload: Payload;
  /** The job as the server returned it to the claim. */
  readonly record: wire.ClaimedJob;
  /** Aborts when the handler should stop; its reason is a {@link Stopped}. */
  readonly signal: AbortSignal;
  /** Aborts when the handler's result no longer counts: after a hard cancel, or when the lease is lost. */
  readonly lost: AbortSignal;
  readonly #output: Output;
  readonly #stop: StopCell;

  /** @internal */
  constructor(payload: Payload, attempt: { record: wire.ClaimedJob; stop: StopCell; output: Output; signals: Signals }) {
    this.payload = payload;
    this.record = attempt.record;
    this.signal = attempt.signals.signal;
    this.lost = attempt.signals.lost;
    this.#output = attempt.output;
    this.#stop = attempt.stop;
  }

  /** The same in every attempt: an idempotency key for calls to other systems. */
  get id(): string {
    return this.record.id;
  }

  get type(): string {
    return this.record.type;
  }

  get lifecycle(): string {
    return this.record.lifecycle;
  }

  /** From 1. */
  get attempt(): number {
    return this.record.attempt;
  }

  /** The number of this lease. It only grows: a system that has seen a higher one can reject this one. */
  get fence(): number {
    return this.record.lease.fence;
  }

  /** The checkpoint of the previous attempt, or null. */
  get checkpoint(): unknown {
    return this.record.checkpoint;
  }

  get correlationId(): string {
    return this.record.correlation_id;
  }

  /** The W3C trace context to continue. */
  get traceparent(): string {
    return this.record.traceparent;
  }

  /** Why the handler should stop, if it should: also current while the event loop is blocked, when `signal` cannot abort. */
  get stopReason(): StopReason | undefined {
    return this.#stop.reason;
  }

  /** Reports progress from 0 to 100. Does not wait; replaces progress that is not sent yet. */
  progress(percent: number, message?: string): void {
    this.#output.progress(percent, message);
  }

  /** Adds a line to the job's log. Does not wait. */
  log(text: string, options?: LineOptions): void {
    this.#output.log(text, options);
  }

  /** Uploads an asset. Its type is by default the extension of its name, or `file`. The handler need not wait for it. */
  asset(name: string, content: Content, { type }: { type?: string } = {}): Promise<wire.Asset> {
    return this.#output.asset(name, content, type);
  }
}

/** The signals of an attempt, which follow its stop cell. */
export class Signals {
  readonly #stop: StopCell;
  readonly #any = new AbortController();
  readonly #lost = new AbortController();

  constructor(stop: StopCell) {
    this.#stop = stop;
  }

  get signal(): AbortSignal {
    return this.#any.signal;
  }

  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /** Aborts what the cell asks for. */
  update(): void {
    const { reason, isOver } = this.#stop;
    if (reason && !this.signal.aborted) this.#any.abort(new Stopped(reason));
    if (reason && isOver && !this.lost.aborted) this.#lost.abort(new Stopped(reason));
  }
}
