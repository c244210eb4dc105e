/** How a handler ends without a result: it throws one of these. The lifecycle determines the transition. */

import { toSpan } from "../duration.js";
import type { Duration } from "../duration.js";
import { describe } from "../errors.js";
import type * as wire from "../generated.js";
import { MESSAGE_BYTES_MAX, NAME_BYTES_MAX, truncate } from "./text.js";

/** A report without the job and its fence. */
export type Ending = { [V in wire.Report["verb"]]: { verb: V } & Record<string, unknown> }[wire.Report["verb"]];

export interface FailureOptions {
  /** The part of the work in which the error occurred. */
  stage?: wire.Stage;
  /** The reason of the dead letter, if there will be one, such as `policy_violation`. */
  reasonCode?: wire.ReasonCode;
  /** Any JSON. */
  details?: unknown;
}

export interface TransientOptions extends FailureOptions {
  /** The delay before the next attempt, instead of the type's backoff. */
  retryAfter?: Duration;
}

/** Base of the errors that end an attempt. */
export abstract class Ended extends Error {
  /** @internal */
  abstract readonly ending: Ending;
}

/** Another attempt may succeed. The code is short and stable; the message is free text or an error. */
export class Transient extends Ended {
  override readonly name = "Transient";
  readonly ending: Ending;

  constructor(readonly code: string, why: unknown, { retryAfter, ...options }: TransientOptions = {}) {
    super(describe(why), { cause: why });
    this.ending = { verb: "fail", error: failure("transient", code, why, options), ...optional("retry_after", retryAfter, toSpan) };
  }
}

/** No attempt will succeed. */
export class Permanent extends Ended {
  override readonly name = "Permanent";
  readonly ending: Ending;

  constructor(readonly code: string, why: unknown, options: FailureOptions = {}) {
    super(describe(why), { cause: why });
    this.ending = { verb: "fail", error: failure("permanent", code, why, options) };
  }
}

/** A part succeeded: `result` is that part. */
export class Partial extends Ended {
  override readonly name = "Partial";
  readonly ending: Ending;

  constructor(readonly code: string, why: unknown, { result, ...options }: FailureOptions & { result?: unknown } = {}) {
    super(describe(why), { cause: why });
    this.ending = { verb: "partial", error: failure("transient", code, why, options), ...optional("result", result) };
  }
}

/** The job should not be executed at all. */
export class Reject extends Ended {
  override readonly name = "Reject";
  readonly ending: Ending;

  constructor(reason: string) {
    super(reason);
    this.ending = { verb: "reject", reason: truncate(reason, MESSAGE_BYTES_MAX) };
  }
}

/** Returns the job to its queue; does not count as a failure. The next attempt gets the checkpoint. */
export class Release extends Ended {
  override readonly name = "Release";
  readonly ending: Ending;

  constructor({ checkpoint, delay }: { checkpoint?: unknown; delay?: Duration } = {}) {
    super("the handler released the job");
    this.ending = { verb: "release", ...optional("checkpoint", checkpoint), ...optional("delay", delay, toSpan) };
  }
}

/** Confirms a soft cancel. */
export class Cancelled extends Ended {
  override readonly name = "Cancelled";
  readonly ending: Ending;

  constructor({ checkpoint, result }: { checkpoint?: unknown; result?: unknown } = {}) {
    super("the handler stopped as requested");
    this.ending = { verb: "cancel-confirm", ...optional("checkpoint", checkpoint), ...optional("result", result) };
  }
}

function failure(errorClass: wire.Class, code: string, why: unknown, options: FailureOptions): wire.JobErrorGiven {
  return {
    code: truncate(code, NAME_BYTES_MAX) || "ERROR",
    message: truncate(describe(why), MESSAGE_BYTES_MAX),
    class: errorClass,
    ...optional("stage", options.stage),
    ...optional("reason_code", options.reasonCode),
    ...optional("details", options.details),
  };
}

function optional<T>(name: string, value: T | undefined, write: (value: T) => unknown = (value) => value): object {
  return value === undefined ? {} : { [name]: write(value) };
}
