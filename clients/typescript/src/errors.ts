/** Errors of calls: a refusal by the server, a server that cannot be reached, or an answer that is not of the protocol. */

import { toMillis } from "./duration.js";
import type * as wire from "./generated.js";

/** Members of a problem that depend on its code, such as `allowed` of `invalid_transition`. */
export type ProblemMembers = Omit<wire.Problem, "type" | "title" | "status" | "detail" | "instance" | "code">;

/** The server refused a call. */
export class Problem extends Error {
  override readonly name = "Problem";
  /** Stable, to switch on. */
  readonly code: wire.ProblemCode;
  readonly status: number;
  readonly title: string;
  readonly detail: string;
  /** The path of the request. */
  readonly instance: string;
  /** The members that belong to the code. */
  readonly members: ProblemMembers;
  /** Milliseconds until the call may succeed, if the server said so. */
  readonly retryAfter: number | undefined;

  constructor(problem: wire.Problem, retryAfter?: number) {
    const { code, status, title, detail, instance, type: _, ...members } = problem;
    super(`${code}: ${detail || title}`);
    this.code = code;
    this.status = status;
    this.title = title;
    this.detail = detail;
    this.instance = instance;
    this.members = members;
    this.retryAfter = retryAfter ?? (members.retry_after ? toMillis(members.retry_after) : undefined);
  }
}

/** No answer: no connection, a broken one, a timeout, or a proxy that reports that the server is down. */
export class Unreachable extends Error {
  override readonly name = "Unreachable";

  constructor(why: unknown) {
    super(`the server cannot be reached: ${describe(why)}`, { cause: why });
  }
}

/** The answer is not of the protocol. */
export class ProtocolError extends Error {
  override readonly name = "ProtocolError";
}

/** Whether the same call may succeed later. */
export function isRetryable(error: unknown): boolean {
  if (error instanceof Problem) return error.status >= 500 || error.code === "rate_limited";
  return error instanceof Unreachable;
}

/** Milliseconds until the next try, if the server said so. */
export function retryAfterOf(error: unknown): number | undefined {
  return error instanceof Problem ? error.retryAfter : undefined;
}

/** The message of an error and those of its causes. */
export function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const message = error.message || error.name;
  return error.cause === undefined ? message : `${message}: ${describe(error.cause)}`;
}
