/** Attempts: runs handlers and decides what is reported. */

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

/** A handler of any payload and result: of one job, or of the jobs of a group. */
export type Handling = { schema: StandardSchema | undefined } & (
  | { isBatch: false; handler: (job: Job<never>) => unknown }
  | { isBatch: true; handler: (jobs: Job<never>[]) => unknown }
);

/**
 * Runs an attempt of each job in one call of the handler, which gets one job unless it is for groups; `onSettled` is called when it has
 * ended. Each attempt resolves with its report after all its output is sent; without one if its lease is lost.
 */
export function runAttempts(
  attempts: Attempt[],
  handling: Handling,
  tracer: Tracer,
  onSettled: () => void,
): Promise<OutgoingReport | undefined>[] {
  // The cells may be ahead of their messages.
  for (const attempt of attempts) attempt.update();
  const live = attempts.filter((attempt) => !attempt.isLost());
  let handled: Promise<Ending[]> | undefined;
  const handle = () => (handled ??= endingsOf(live, handling));
  // The handler runs in the span of the first job.
  const endings = live.map((attempt, index) => {
    return tracer(attempt.record, async () => (await handle())[index] ?? new Release().ending);
  });
  void Promise.all(endings).finally(onSettled);
  return attempts.map((attempt) => attempt.finish(endings[live.indexOf(attempt)] ?? Promise.resolve(undefined)));
}

/** Calls the handler with the jobs whose payload can be read. One ending for each attempt. */
async function endingsOf(attempts: Attempt[], handling: Handling): Promise<Ending[]> {
  const read = await Promise.all(attempts.map((attempt) => attempt.read(handling.schema)));
  const jobs = read.filter((each) => each instanceof Job);
  const results = jobs.length > 0 ? await resultsOf(jobs, handling) : [];
  return attempts.map((attempt, index) => {
    const job = read[index];
    if (!(job instanceof Job)) return attempt.endingOf(job);
    const result = results[jobs.indexOf(job)];
    if (result instanceof Thrown) return attempt.endingOf(result.error);
    return { verb: "succeed", ...(result !== undefined && result !== null && { result }) };
  });
}

/** What the handler returned for each job, or threw for all. */
async function resultsOf(jobs: Job<never>[], handling: Handling): Promise<unknown[]> {
  const forAll = (result: unknown) => jobs.map(() => result);
  try {
    const [first] = jobs;
    if (!handling.isBatch) return first ? [await handling.handler(first)] : [];
    const results = await handling.handler(jobs);
    if (results === undefined || results === null) return forAll(undefined);
    if (Array.isArray(results) && results.length === jobs.length) {
      return results.map((result: unknown) => (result instanceof Error ? new Thrown(result) : result));
    }
    const why = `a batch handler returns a list with one result for each of its ${String(jobs.length)} jobs`;
    return forAll(new Thrown(new Permanent("BAD_RESULT", why, { stage: "output" })));
  } catch (error) {
    return forAll(new Thrown(error));
  }
}

class Thrown {
  constructor(readonly error: unknown) {}
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

  get record(): wire.ClaimedJob {
    return this.#record;
  }

  /** The lease is lost. */
  isLost(): boolean {
    return this.#context.stop.isOver;
  }

  /** The job for the handler, or why its payload cannot be read. */
  async read(schema: StandardSchema | undefined): Promise<Job<never> | Permanent> {
    const attempt = { record: this.#record, stop: this.#context.stop, output: this.#output, signals: this.#signals };
    try {
      const payload = schema ? await parse(schema, this.#record.payload) : this.#record.payload;
      return new Job(payload as never, attempt);
    } catch (error) {
      return new Permanent("BAD_PAYLOAD", error, { stage: "input" });
    }
  }

  /** Waits for the handler and for all output. */
  async finish(handled: Promise<Ending | undefined>): Promise<OutgoingReport | undefined> {
    const ending = await Promise.race([handled, this.#abandoned()]);
    if (this.isLost() || !ending) return undefined;
    const unsent = await Promise.race([this.#output.end().then((failed) => failed && this.endingOf(failed.error)), this.#abandoned()]);
    if (this.isLost()) return undefined;
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

  /** What a thrown error is reported as. */
  endingOf(error: unknown): Ending {
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
