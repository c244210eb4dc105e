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

/** A resource of flow control, and for how long no job that uses the same bucket of it is claimed. */
export interface Pause {
  resource: string;
  for: Duration;
}

export interface PermanentOptions extends FailureOptions {
  /** Keeps other jobs waiting, for example because a service asked to. */
  pause?: Pause;
}

export interface TransientOptions extends PermanentOptions {
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

  constructor(readonly code: string, why: unknown, { retryAfter, pause, ...options }: TransientOptions = {}) {
    super(describe(why), { cause: why });
    const error = failure("transient", code, why, options);
    this.ending = { verb: "fail", error, ...optional("retry_after", retryAfter, toSpan), ...optional("pause", pause, toPause) };
  }
}

/** No attempt will succeed. */
export class Permanent extends Ended {
  override readonly name = "Permanent";
  readonly ending: Ending;

  constructor(readonly code: string, why: unknown, { pause, ...options }: PermanentOptions = {}) {
    super(describe(why), { cause: why });
    this.ending = { verb: "fail", error: failure("permanent", code, why, options), ...optional("pause", pause, toPause) };
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

  constructor({ checkpoint, delay, pause }: { checkpoint?: unknown; delay?: Duration; pause?: Pause } = {}) {
    super("the handler released the job");
    const more = { ...optional("delay", delay, toSpan), ...optional("pause", pause, toPause) };
    this.ending = { verb: "release", ...optional("checkpoint", checkpoint), ...more };
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

function toPause({ resource, for: span }: Pause): wire.Pause {
  return { resource, for: toSpan(span) };
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
