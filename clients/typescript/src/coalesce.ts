/**
 * Coalescing: creations that are requested while another one is in flight leave together, with the next request.
 *
 * The answers set the pace, not a timer: a call that finds nothing in flight leaves at once, and the calls that come
 * meanwhile leave as one batch when the answer is there.
 */

import { setImmediate as nextTurn } from "node:timers/promises";

import { Problem, Unreachable } from "./errors.js";

/** A larger job gains nothing from company and would delay the others. */
export const JOB_CHARS_MAX = 256 << 10;
const BATCH_CHARS_MAX = 4 << 20;
const BATCH_JOBS_MAX = 1_000;
/** Statuses that each job alone would have got, too. */
const STATUSES_OF_ALL = [401, 403, 421, 429, 503];

/** A job to create as JSON, with its idempotency key: it can be sent any number of times, alone or in a batch. */
export interface KeyedJob {
  body: string;
  key: string;
}

/** Sends requests that create jobs, each once. */
export interface CreationTransport<T> {
  single(job: KeyedJob): Promise<T>;
  /** One result for each job, in order. */
  batch(jobs: KeyedJob[]): Promise<(T | Problem)[]>;
}

interface Waiting<T> {
  job: KeyedJob;
  answer: PromiseSettlers<T | undefined>;
}

interface PromiseSettlers<T> {
  resolve: (value: T) => void;
  reject: (error: unknown) => void;
}

/** The creations of one client that wait for their request. At most one request is in flight. */
export class Coalescer<T> {
  readonly #transport: CreationTransport<T>;
  #waiting: Waiting<T>[] = [];
  #isInFlight = false;
  #charsMax = BATCH_CHARS_MAX;

  constructor(transport: CreationTransport<T>) {
    this.#transport = transport;
  }

  /**
   * Sends a job once, with the next request. `undefined`: its request was not answered in a way that says anything about
   * this job, so it must be sent alone. It may have been created.
   */
  send(job: KeyedJob): Promise<T | undefined> {
    const answered = new Promise<T | undefined>((resolve, reject) => {
      this.#waiting.push({ job, answer: { resolve, reject } });
    });
    if (!this.#isInFlight) void this.#run();
    return answered;
  }

  async #run(): Promise<void> {
    this.#isInFlight = true;
    for (let jobs = this.#next(); jobs.length > 0; jobs = this.#next()) {
      const [first] = jobs;
      if (jobs.length === 1 && first) {
        await this.#transport.single(first.job).then(first.answer.resolve, first.answer.reject);
      } else {
        await this.#sendBatch(jobs);
      }
      // The callers that were answered can ask again before the next request leaves.
      await nextTurn();
    }
    this.#isInFlight = false;
  }

  /** The jobs of the next request, as many as fit. */
  #next(): Waiting<T>[] {
    let chars = 0;
    const end = this.#waiting.slice(0, BATCH_JOBS_MAX).findIndex(({ job }) => {
      chars += job.body.length + job.key.length + 32;
      return chars > this.#charsMax;
    });
    return this.#waiting.splice(0, end === -1 ? BATCH_JOBS_MAX : Math.max(end, 1));
  }

  async #sendBatch(jobs: Waiting<T>[]): Promise<void> {
    let results: (T | Problem)[];
    try {
      results = await this.#transport.batch(jobs.map(({ job }) => job));
    } catch (error) {
      this.#refuse(jobs, error);
      return;
    }
    jobs.forEach(({ answer }, index) => {
      const result = results[index];
      if (result instanceof Problem) answer.reject(result);
      else answer.resolve(result);
    });
  }

  /** The batch as a whole was not accepted. If one of the jobs may be the cause, each is sent alone. */
  #refuse(jobs: Waiting<T>[], error: unknown): void {
    const isOfAll = error instanceof Unreachable || (error instanceof Problem && STATUSES_OF_ALL.includes(error.status));
    if (error instanceof Problem && error.status === 413) this.#charsMax = error.members.limit ?? this.#charsMax;
    for (const { answer } of jobs) {
      if (isOfAll) answer.reject(error);
      else answer.resolve(undefined);
    }
  }
}
