/**
 * Streams of events. After a broken connection a stream continues behind the last event received, so no event is missed or
 * delivered twice.
 */

import { Problem, ProtocolError, Unreachable, isRetryable, retryAfterOf } from "./errors.js";
import { Limit } from "./limit.js";
import { SseReader } from "./sse.js";
import type { SentEvent } from "./sse.js";
import { backoff, wait } from "./transport.js";
import type { Transport } from "./transport.js";

/** A connection without data for this long, not even a comment, is reopened. */
const SILENCE_MAX = 60_000;
const CONNECT_TIMEOUT = 30_000;
/** A stream that gives nothing for this long after its connection broke is an error. */
const OUTAGE_MAX = 60_000;

/** A stream to follow. */
export interface StreamRequest {
  path: string;
  lastId?: string | undefined;
  signal?: AbortSignal | undefined;
  /** Milliseconds of failed connections without any data after which the caller gets the error. Default: a minute. */
  outageMax?: number;
}

/** The events of a stream, over any number of connections, until the server ends it with 204. */
export async function* sentEvents(transport: Transport, stream: StreamRequest): AsyncGenerator<SentEvent, void> {
  let { lastId } = stream;
  const { outageMax = OUTAGE_MAX } = stream;
  let failures = 0;
  let brokenAt = 0;
  const onPiece = () => (failures = 0);
  for (;;) {
    const connection = new Connection(transport, { ...stream, lastId }, onPiece);
    let failure: unknown = new Unreachable("the stream breaks off repeatedly");
    try {
      if (!(await connection.open())) return;
      for await (const event of connection.events()) {
        lastId = event.id;
        yield event;
      }
    } catch (error) {
      if (stream.signal?.aborted || !isRetryable(error)) throw error;
      failure = error;
    } finally {
      connection.close();
    }
    if (failures === 0) brokenAt = performance.now();
    else if (performance.now() - brokenAt > outageMax) throw failure;
    failures += 1;
    const pause = retryAfterOf(failure) ?? connection.retry ?? backoff(failures);
    await wait(pause, stream.signal);
  }
}

class Connection {
  readonly #transport: Transport;
  readonly #stream: StreamRequest;
  readonly #reader: SseReader;
  readonly #limit: Limit;
  readonly #onPiece: () => void;
  #body: ReadableStream<Uint8Array> | null = null;

  /** `onPiece` is called when data arrives, be it a comment. */
  constructor(transport: Transport, stream: StreamRequest, onPiece: () => void) {
    this.#transport = transport;
    this.#onPiece = onPiece;
    this.#stream = stream;
    this.#reader = new SseReader(stream.lastId);
    this.#limit = new Limit(CONNECT_TIMEOUT, stream.signal);
  }

  get retry(): number | undefined {
    return this.#reader.retry;
  }

  /** Whether there is a stream; `false` if it is over. */
  async open(): Promise<boolean> {
    const { path, lastId } = this.#stream;
    const headers = { accept: "text/event-stream", "last-event-id": lastId };
    const { signal } = this.#limit;
    const response = await this.#transport.begin({ method: "GET", path, headers, signal }).catch((error: unknown) => {
      throw this.#failure(error);
    });
    this.#body = response.body;
    return response.status !== 204;
  }

  async *events(): AsyncGenerator<SentEvent, void> {
    if (!this.#body) return;
    const decoder = new TextDecoder();
    this.#limit.restart(SILENCE_MAX);
    try {
      for await (const piece of this.#body) {
        this.#limit.restart(SILENCE_MAX);
        this.#onPiece();
        yield* this.#reader.push(decoder.decode(piece, { stream: true }));
      }
    } catch (error) {
      throw this.#failure(error);
    }
  }

  /** Aborts what is still open. */
  close(): void {
    this.#limit.release();
    this.#limit.abort();
  }

  /** The caller's abort, the server's refusal, or a broken connection. */
  #failure(error: unknown): unknown {
    if (this.#stream.signal?.aborted) return this.#stream.signal.reason;
    return error instanceof Problem || error instanceof ProtocolError ? error : new Unreachable(error);
  }
}
