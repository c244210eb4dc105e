/**
 * Progress, log lines and assets of one attempt. Nothing blocks the handler: lines are collected and sent in batches, only the
 * newest progress is sent, and all of it is sent before the final report.
 */

import type { Client, Holder } from "../client.js";
import { describe } from "../errors.js";
import type * as wire from "../generated.js";
import { freshId } from "../ids.js";
import { untilAnswered } from "../transport.js";
import type { Content } from "../transport.js";
import type { Logger } from "./logger.js";
import type { StopCell } from "./stop.js";
import { LINE_BYTES_MAX, MESSAGE_BYTES_MAX, chunks, nameOr, truncate } from "./text.js";

/** Queued lines; more are dropped, and a line says how many. */
const LINES_MAX = 10_000;
const APPEND_LINES_MAX = 5_000;
const APPEND_CHARS_MAX = 1 << 20;

export interface LineOptions {
  /** Default: `stdout`. */
  stream?: string;
  /** Default: `info`. */
  level?: string;
}

export interface OutputContext {
  client: Client;
  logger: Logger;
  job: string;
  holder: Holder;
  stop: StopCell;
}

/** An upload. The attempt fails if it fails and the handler has not waited for it. */
class Upload extends Promise<wire.Asset> {
  isNoticed = false;

  static override get [Symbol.species](): PromiseConstructor {
    return Promise;
  }

  /** Also called by `await`. */
  override then<A = wire.Asset, B = never>(
    onFulfilled?: ((asset: wire.Asset) => A | PromiseLike<A>) | null,
    onRejected?: ((error: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    this.isNoticed = true;
    return super.then(onFulfilled, onRejected);
  }

  unnoticed(onFulfilled: () => void, onRejected: (error: unknown) => void): Promise<void> {
    return super.then(onFulfilled, onRejected);
  }
}

type Progress = Pick<wire.ProgressBody, "progress" | "message">;

export class Output {
  readonly #context: OutputContext;
  #lines: wire.LogLineGiven[] = [];
  #dropped = 0;
  #progress: Progress | undefined;
  #sending: Promise<void> | undefined;
  #hasEnded = false;
  readonly #uploads = new Set<Promise<void>>();
  /** Uploads that failed. */
  readonly #failed: { upload: Upload; error: unknown }[] = [];

  constructor(context: OutputContext) {
    this.#context = context;
  }

  progress(percent: number, message?: string): void {
    this.#progress = {
      progress: Math.min(100, Math.max(0, percent)),
      ...(message && { message: truncate(message, MESSAGE_BYTES_MAX) }),
    };
    this.#start();
  }

  log(text: string, { stream = "stdout", level = "info" }: LineOptions = {}): void {
    const names = { stream: nameOr(stream, "stdout"), level: nameOr(level, "info") };
    for (const chunk of chunks(text, LINE_BYTES_MAX)) {
      if (this.#lines.length < LINES_MAX) this.#lines.push({ ...names, text: chunk });
      else this.#dropped += 1;
    }
    this.#start();
  }

  /** Uploads an asset; repeated until there is a definite answer or the lease is lost. */
  asset(name: string, content: Content, type?: string): Promise<wire.Asset> {
    const { client, job, holder, stop, logger } = this.#context;
    const key = freshId();
    const answered = untilAnswered(
      () => client.upload(job, name, content, { type, holder, key }),
      () => stop.isOver,
    ).then((asset) => {
      if (asset) return asset;
      throw new Error("the attempt ended before the asset was uploaded");
    });
    const upload = new Upload((resolve, reject) => void answered.then(resolve, reject));
    // A handler need not wait for its uploads: the final report does.
    const settled = upload.unnoticed(
      () => undefined,
      (error: unknown) => {
        logger.warn("asset not uploaded", { job, name, error: describe(error) });
        this.#failed.push({ upload, error });
      },
    );
    this.#uploads.add(settled);
    void settled.then(() => this.#uploads.delete(settled));
    return upload;
  }

  /** Whether an upload has no answer yet. */
  get isUploading(): boolean {
    return this.#uploads.size > 0;
  }

  /** Resolves when everything is sent, with the error of an upload that failed unnoticed, if there is one. Later output is dropped. */
  async end(): Promise<{ error: unknown } | undefined> {
    this.#hasEnded = true;
    await this.#sending;
    await Promise.all(this.#uploads);
    return this.#failed.find(({ upload }) => !upload.isNoticed);
  }

  #start(): void {
    if (this.#hasEnded) {
      [this.#lines, this.#progress] = [[], undefined];
    } else {
      this.#sending ??= this.#send().finally(() => (this.#sending = undefined));
    }
  }

  async #send(): Promise<void> {
    // What the handler adds in the same turn is sent together.
    await Promise.resolve();
    while (this.#lines.length > 0 || this.#progress) {
      const [lines, progress] = [this.#takeLines(), this.#takeProgress()];
      if (progress) await this.#sendProgress(progress);
      if (lines.length > 0) await this.#append(lines);
    }
  }

  /** Newer progress replaces what was not answered. */
  async #sendProgress(progress: Progress): Promise<void> {
    const { client, job, holder } = this.#context;
    let newest = progress;
    await this.#untilAnswered("progress", () => {
      newest = this.#takeProgress() ?? newest;
      return client.transport.once({
        method: "POST",
        path: `/api/jobs/${job}/progress`,
        body: JSON.stringify({ ...holder, ...newest }),
        headers: { prefer: "return=minimal" },
      });
    });
  }

  async #append(lines: wire.LogLineGiven[]): Promise<void> {
    const { client, job, holder } = this.#context;
    const key = freshId();
    await this.#untilAnswered("log lines", () => client.appendLogs(job, lines, holder, key));
  }

  async #untilAnswered(what: string, send: () => Promise<unknown>): Promise<void> {
    const { job, logger, stop } = this.#context;
    try {
      await untilAnswered(send, () => stop.isOver);
    } catch (error) {
      logger.warn(`${what} refused and dropped`, { job, error: describe(error) });
    }
  }

  #takeProgress(): Progress | undefined {
    const progress = this.#progress;
    this.#progress = undefined;
    return progress;
  }

  /** As many queued lines as fit into one append. */
  #takeLines(): wire.LogLineGiven[] {
    let chars = 0;
    const end = this.#lines.slice(0, APPEND_LINES_MAX).findIndex(({ text }) => {
      chars += text.length + 64;
      return chars > APPEND_CHARS_MAX;
    });
    const lines = this.#lines.splice(0, end === -1 ? APPEND_LINES_MAX : Math.max(end, 1));
    if (this.#lines.length === 0 && this.#dropped > 0) {
      const text = `${String(this.#dropped)} lines were dropped: the queue was full`;
      lines.push({ stream: "stderr", level: "warn", text });
      this.#dropped = 0;
    }
    return lines;
  }
}
