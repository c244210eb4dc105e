/** One attempt: runs the handler and decides what is reported. */

import { describe } from "../errors.js";
import type * as wire from "../generated.js";
import { Cancelled, Ended, Permanent, Release, Transient } from "./errors.js";
import type { Ending } from "./errors.js";
import { Job, Signals } from "./job.js";
import type { LeaseKey, OutgoingReport } from "./messages.js";
import { Output } from "./output.js";
import type { OutputContext } from "./output.js";
import { parse } from "./schema.js";
import type { StandardSchema } from "./schema.js";
import { Stopped } from "./stop.js";
import type { StopReason } from "./stop.js";
import type { Tracer } from "./trace.js";

/** How long a handler may run after it got `shutdown`. */
const SHUTDOWN_GRACE = 1_000;

/** A handler of any payload and result. */
export interface Handling {
  schema: StandardSchema | undefined;
  handler: (job: Job<never>) => unknown;
}

export class Attempt {
  readonly key: LeaseKey;
  readonly #record: wire.ClaimedJob;
  readonly #context: OutputContext;
  readonly #output: Output;
  readonly #signals: Signals;
  #onShutdown: (() => void) | undefined;

  constructor(record: wire.ClaimedJob, context: OutputContext) {
    this.key = { job: record.id, fence: record.lease.fence };
    this.#record = record;
    this.#context = context;
    this.#output = new Output(context);
    this.#signals = new Signals(context.stop);
  }

  /**
   * Runs the handler; `onSettled` is called when it has ended. Resolves with the report after all output is sent; without one
   * if the lease is lost.
   */
  async run(handling: Handling, tracer: Tracer, onSettled: () => void): Promise<OutgoingReport | undefined> {
    // The cell may be ahead of its message.
    this.update();
    const handled = this.#isLost() ? Promise.resolve() : tracer(this.#record, () => this.#handle(handling));
    void handled.finally(onSettled);
    const ending = await Promise.race([handled, this.#abandoned()]);
    if (this.#isLost() || !ending) return undefined;
    const unsent = await Promise.race([this.#output.end().then((failed) => failed && this.#endingOf(failed.error)), this.#abandoned()]);
    if (this.#isLost()) return undefined;
    // A success whose uploads failed or are unfinished is none.
    const isWhole = ending.verb !== "succeed" || unsent === undefined || (unsent.verb === "release" && !this.#output.isUploading);
    return this.#report(isWhole ? ending : unsent);
  }

  /** Passes a stop on to the handler. */
  update(): void {
    this.#signals.update();
  }

  stop(reason: StopReason): void {
    this.#context.stop.raise(reason);
    this.update();
    if (reason === "shutdown") setTimeout(() => this.#onShutdown?.(), SHUTDOWN_GRACE);
  }

  #isLost(): boolean {
    return this.#context.stop.isOver;
  }

  /** Resolves when the handler is no longer waited for: its lease is lost, or it did not stop in time at a shutdown. */
  #abandoned(): Promise<Ending | undefined> {
    return new Promise((resolve) => {
      this.#onShutdown = () => {
        resolve(new Release().ending);
      };
      const { lost } = this.#signals;
      if (lost.aborted) resolve(undefined);
      lost.addEventListener("abort", () => {
        resolve(undefined);
      });
    });
  }

  async #handle({ schema, handler }: Handling): Promise<Ending> {
    try {
      const payload = await this.#payload(schema);
      const attempt = { record: this.#record, stop: this.#context.stop, output: this.#output, signals: this.#signals };
      const result = await handler(new Job(payload as never, attempt));
      return { verb: "succeed", ...(result !== undefined && result !== null && { result }) };
    } catch (error) {
      return this.#endingOf(error);
    }
  }

  async #payload(schema: StandardSchema | undefined): Promise<unknown> {
    if (!schema) return this.#record.payload;
    try {
      return await parse(schema, this.#record.payload);
    } catch (error) {
      throw new Permanent("BAD_PAYLOAD", error, { stage: "input" });
    }
  }

  #endingOf(error: unknown): Ending {
    if (error instanceof Ended) return error.ending;
    const reason = this.#stopBehind(error);
    if (reason === "soft_cancel") return new Cancelled().ending;
    if (reason === "shutdown") return new Release().ending;
    this.#context.logger.warn("handler failed", { ...this.key, type: this.#record.type, error });
    return new Transient(codeOf(error), error, { stage: "exec" }).ending;
  }

  /** The stop that made the handler throw: calls that got `job.signal` throw its reason, or an `AbortError`. */
  #stopBehind(error: unknown): StopReason | undefined {
    const { signal } = this.#signals;
    const isAbort = error === signal.reason || (error instanceof Error && error.name === "AbortError");
    return signal.aborted && isAbort && signal.reason instanceof Stopped ? signal.reason.reason : undefined;
  }

  #report(ending: Ending): OutgoingReport {
    try {
      return { ...this.key, verb: ending.verb, text: JSON.stringify({ ...this.key, ...ending }), failureClass: failureClass(ending) };
    } catch (error) {
      const message = `the result cannot be written as JSON: ${describe(error)}`;
      return this.#report(new Permanent("BAD_RESULT", message, { stage: "output" }).ending);
    }
  }
}

/** What identifies an error in Node: its `code`, such as `ENOENT`, or else its name, such as `RangeError`. */
function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return "ERROR";
  return "code" in error && typeof error.code === "string" ? error.code : error.name;
}

/** The class of the failure that replaces this report if the server refuses it. */
function failureClass(ending: Ending): wire.Class {
  const isTransient =
    ending.verb === "release" ||
    ending.verb === "cancel-confirm" ||
    (ending.verb === "fail" && (ending.error as wire.JobErrorGiven).class === "transient");
  return isTransient ? "transient" : "permanent";
}
