/** Requests, their answers, and retries. */

import { setTimeout as sleep } from "node:timers/promises";

import { Problem, ProtocolError, Unreachable, isRetryable, retryAfterOf } from "./errors.js";
import type * as wire from "./generated.js";
import { Limit, TIMER_MAX } from "./limit.js";

const CALL_TIMEOUT = 30_000;
const TRIES = 4;
/** A longer `Retry-After` is not waited for; the caller gets the refusal. */
const PATIENCE = 5_000;

/** The content of an upload. A file: `await fs.openAsBlob(path)`. */
export type Content = string | Uint8Array<ArrayBuffer> | Blob;

/** The slowest connection on which an upload succeeds. */
const UPLOAD_BYTES_PER_SECOND = 16 << 10;

/** Milliseconds that an upload may take: more for more content. */
export function uploadTimeout(content: Content): number {
  const size = typeof content === "string" ? Buffer.byteLength(content) : "size" in content ? content.size : content.byteLength;
  return CALL_TIMEOUT + (size / UPLOAD_BYTES_PER_SECOND) * 1_000;
}

/** A request, which can be sent any number of times. */
export interface Request {
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** With the query. */
  path: string;
  /** JSON. */
  body?: string | undefined;
  /** Sent instead of JSON. */
  content?: Content;
  /** Idempotency key. */
  key?: string | undefined;
  /** Each part of the body has its own idempotency key. */
  isKeyedInside?: boolean;
  headers?: Record<string, string | undefined>;
  /** Milliseconds; `null`: no timeout. */
  timeout?: number | null;
  signal?: AbortSignal | undefined;
}

/** An answer with a status of success. */
export interface Answer {
  status: number;
  headers: Headers;
  text: string;
}

/** Where requests are sent, and as which caller. */
export interface Target {
  url: string;
  key?: string | undefined;
}

export class Transport {
  readonly target: Target;

  constructor(target: Target) {
    this.target = target;
  }

  /** Sends the request, and retries a few times where that may help and is safe. */
  async repeated(request: Request): Promise<Answer> {
    return retrying(() => this.once(request), isRepeatable(request), request.signal);
  }

  /** Like {@link repeated}; the JSON of the answer. */
  async json<T>(request: Request): Promise<T> {
    return decode<T>((await this.repeated(request)).text);
  }

  /** Sends the request once and reads the whole answer. */
  async once(request: Request): Promise<Answer> {
    const { timeout = CALL_TIMEOUT, signal } = request;
    const limit = new Limit(timeout, signal);
    try {
      const response = await this.begin({ ...request, signal: limit.signal });
      return { status: response.status, headers: response.headers, text: await response.text() };
    } catch (error) {
      throw error instanceof Problem || error instanceof ProtocolError ? error : unreachable(error, signal);
    } finally {
      limit.release();
    }
  }

  /**
   * Sends the request once, without a timeout and without reading the answer's body. A status that is not a success is an
   * error.
   */
  async begin(request: Request): Promise<Response> {
    const headers = this.#headers(request);
    const { method, path, body = null, content = body, signal = null } = request;
    let response: Response;
    try {
      response = await fetch(this.target.url + path, { method, headers, body: content, redirect: "manual", signal });
    } catch (error) {
      throw unreachable(error, signal);
    }
    if (!response.ok) throw await refusal(response, signal);
    return response;
  }

  #headers({ key, body, content, headers: more = {} }: Request): Headers {
    const headers = new Headers();
    const given: Record<string, string | undefined> = {
      authorization: this.target.key && `Bearer ${this.target.key}`,
      "idempotency-key": key,
      "content-type": content !== undefined ? "application/octet-stream" : body && "application/json",
      ...more,
    };
    for (const [name, value] of Object.entries(given)) if (value) headers.set(name, value);
    return headers;
  }
}

/** Calls `send` until it succeeds, another try is not safe or does not help, or there were too many. */
export async function retrying<T>(send: () => Promise<T>, isRepeatable: boolean, signal?: AbortSignal): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await send();
    } catch (error) {
      const pause = retryPause(error, isRepeatable, tries);
      if (pause === undefined) throw error;
      await wait(pause, signal);
    }
  }
}

/** Calls `send` until there is a definite answer, however long that takes, or `isOver`: then `undefined`. */
export async function untilAnswered<T>(send: () => Promise<T>, isOver: () => boolean): Promise<T | undefined> {
  for (let tries = 1; !isOver(); tries += 1) {
    try {
      return await send();
    } catch (error) {
      if (!isRetryable(error)) throw error;
      await wait(retryAfterOf(error) ?? backoff(tries));
    }
  }
  return undefined;
}

/** Waits; throws the signal's reason if it aborts. */
export async function wait(millis: number, signal?: AbortSignal): Promise<void> {
  try {
    await sleep(Math.min(millis, TIMER_MAX), undefined, signal ? { signal } : {});
  } catch (error) {
    throw signal?.aborted ? signal.reason : error;
  }
}

/** Reads JSON; no text is null. */
export function decode<T>(text: string): T {
  try {
    return JSON.parse(text || "null") as T;
  } catch (error) {
    throw new ProtocolError("the answer is not JSON", { cause: error });
  }
}

/** The wait after this many failed tries: doubling from 100 ms up to 5 s, half of it random. */
export function backoff(tries: number): number {
  const whole = Math.min(100 * 2 ** Math.min(tries - 1, 10), 5_000);
  return whole / 2 + Math.random() * (whole / 2);
}

/** Sending it twice does the same as sending it once. */
function isRepeatable({ method, key, isKeyedInside }: Request): boolean {
  return method !== "POST" || key !== undefined || isKeyedInside === true;
}

function retryPause(error: unknown, isRepeatable: boolean, tries: number): number | undefined {
  const retryAfter = retryAfterOf(error);
  const may =
    error instanceof Problem ? error.status === 503 && (retryAfter ?? 0) <= PATIENCE : isRepeatable && isRetryable(error);
  return may && tries < TRIES ? (retryAfter ?? backoff(tries)) : undefined;
}

function unreachable(error: unknown, signal: AbortSignal | null | undefined): unknown {
  if (signal?.aborted) return signal.reason;
  return error instanceof Unreachable ? error : new Unreachable(error);
}

async function refusal(response: Response, signal: AbortSignal | null): Promise<unknown> {
  let problem: unknown;
  try {
    problem = parsed(await response.text());
  } catch (error) {
    return unreachable(error, signal);
  }
  if (isProblem(problem)) return new Problem(problem, retryAfterHeader(response.headers));
  const text = `HTTP ${String(response.status)}`;
  // A proxy reports that the server is down.
  return response.status >= 500 ? new Unreachable(text) : new ProtocolError(`${text} without a problem document`);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isProblem(body: unknown): body is wire.Problem {
  return typeof body === "object" && body !== null && "code" in body && "status" in body;
}

function retryAfterHeader(headers: Headers): number | undefined {
  const text = headers.get("retry-after");
  return text !== null && /^\d+$/.test(text) ? Number(text) * 1_000 : undefined;
}
