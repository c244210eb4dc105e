/** Sends reports to the server in batches: all that wait are sent together. Each is sent until it has a definite answer. */

import { Problem, describe, isRetryable, retryAfterOf } from "../errors.js";
import type * as wire from "../generated.js";
import { backoff, wait } from "../transport.js";
import type { OutgoingReport } from "./messages.js";
import type { Reports } from "./reports.js";
import type { Log } from "./thread.js";

const BATCH_MAX = 1_000;
/** Size limit of one batch; a server accepts several times as much. */
const BATCH_CHARS_MAX = 4 << 20;
const TIMEOUT = 30_000;

export class Reporter {
  readonly #reports: Reports;
  readonly #log: Log;
  readonly #onAnswered: () => void;
  #waiting: OutgoingReport[] = [];
  #isSending = false;
  #sizeMax = BATCH_MAX;
  #tries = 0;

  /** `onAnswered` is called for each report, once. */
  constructor(reports: Reports, log: Log, onAnswered: () => void) {
    this.#reports = reports;
    this.#log = log;
    this.#onAnswered = onAnswered;
  }

  send(report: OutgoingReport): void {
    this.#waiting.push(report);
    if (!this.#isSending) void this.#run();
  }

  async #run(): Promise<void> {
    this.#isSending = true;
    while (this.#waiting.length > 0) {
      const batch = this.#takeBatch();
      const pause = await this.#sendBatch(batch);
      if (pause !== undefined) await wait(pause);
    }
    this.#isSending = false;
  }

  /** The first waiting reports, as many as fit into one batch; a report over the size limit is sent alone. */
  #takeBatch(): OutgoingReport[] {
    let chars = 0;
    const end = this.#waiting.slice(0, this.#sizeMax).findIndex(({ text }) => {
      chars += text.length;
      return chars > BATCH_CHARS_MAX;
    });
    return this.#waiting.splice(0, end === -1 ? this.#sizeMax : Math.max(end, 1));
  }

  /** The pause before the next batch, if reports must be sent again. */
  async #sendBatch(batch: OutgoingReport[]): Promise<number | undefined> {
    try {
      const results = await this.#reports.send(batch.map(({ text }) => text), TIMEOUT);
      [this.#sizeMax, this.#tries] = [BATCH_MAX, 0];
      return this.#handleResults(batch, results);
    } catch (error) {
      return this.#handleFailure(batch, error);
    }
  }

  #handleFailure(batch: OutgoingReport[], error: unknown): number | undefined {
    if (isRetryable(error)) {
      this.#log("warn", "reports not answered", { reports: batch.length, error: describe(error) });
      this.#waiting.unshift(...batch);
      // One of them may cause the error: each is sent alone.
      if (error instanceof Problem && error.status !== 503) this.#sizeMax = 1;
      return this.#pauseFor(error);
    }
    if (batch.length > 1) {
      this.#waiting.unshift(...batch);
      this.#sizeMax = 1;
      return undefined;
    }
    return this.#handleResults(batch, [error]);
  }

  #handleResults(batch: OutgoingReport[], results: unknown[]): number | undefined {
    const again: OutgoingReport[] = [];
    let pause: number | undefined;
    batch.forEach((report, index) => {
      const error = results[index];
      if (error instanceof Error && isRetryable(error)) {
        pause = this.#pauseFor(error);
        again.push(report);
        return;
      }
      const replacement = error instanceof Error ? this.#refused(report, error) : undefined;
      if (replacement) again.push(replacement);
      else this.#onAnswered();
    });
    this.#waiting.unshift(...again);
    return pause;
  }

  /** The failure of the attempt because its report was refused; `undefined` if nothing more can be reported. */
  #refused({ job, fence, verb, failureClass }: OutgoingReport, error: Error): OutgoingReport | undefined {
    if (error instanceof Problem && error.code === "lease_conflict") {
      this.#log("warn", "report refused: lease lost", { job, fence, verb, problem: error.message });
      return undefined;
    }
    this.#log("error", "report refused", { job, fence, verb, error: describe(error) });
    if (!failureClass) return undefined;
    const message = `the server refused \`${verb}\`: ${describe(error)}`;
    const given: wire.JobErrorGiven = { code: "REPORT_REFUSED", message, class: failureClass, stage: "output" };
    return { job, fence, verb: "fail", text: JSON.stringify({ job, fence, verb: "fail", error: given }) };
  }

  #pauseFor(error: unknown): number {
    this.#tries += 1;
    return retryAfterOf(error) ?? backoff(this.#tries);
  }
}
