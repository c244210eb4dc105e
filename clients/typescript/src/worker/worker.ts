/** The worker: runs the handlers of the jobs that its thread claims. */

import { randomBytes } from "node:crypto";
import { availableParallelism, hostname } from "node:os";
import { Worker as Thread } from "node:worker_threads";

import { Client } from "../client.js";
import { toMillis } from "../duration.js";
import type { Duration } from "../duration.js";
import { Problem, ProtocolError } from "../errors.js";
import { TIMER_MAX } from "../limit.js";
import { Attempt, runAttempts } from "./attempt.js";
import type { Handling } from "./attempt.js";
import type { Job } from "./job.js";
import { defaultLogger } from "./logger.js";
import type { Logger } from "./logger.js";
import { keyText } from "./messages.js";
import type { FromThread, OutgoingReport, StartedJob, ThreadSettings, ToThread } from "./messages.js";
import type { Output, StandardSchema } from "./schema.js";
import { StopCell } from "./stop.js";
import { loadTracer } from "./trace.js";
import type { Tracer } from "./trace.js";

/** How long a draining worker waits for the answers to its last reports. */
const ANSWER_TIMEOUT = 30_000;
const EXIT_CODES = { SIGINT: 130, SIGTERM: 143 } as const;

export interface WorkerOptions {
  /** Default: a client configured by the environment. */
  client?: Client;
  /** Number of jobs that run at the same time. Default: one for each core. */
  slots?: number;
  /** Unique among running workers. Default: host name, process id and a random part. */
  name?: string;
  /** Takes jobs from these queues only. */
  queues?: string[];
  /** How long one claim waits for work at the server. Default: 20 s. */
  wait?: Duration;
  /**
   * How long handlers may run after a shutdown has begun. Default: without limit. Then their `job.signal` aborts, they have one
   * second to return, and their jobs are released.
   */
  drain?: Duration;
  /** Default: warnings and errors to the console. */
  logger?: Logger;
}

/** A handler; its return value is the job's result. */
export type Handler<Payload, Result = unknown> = (job: Job<Payload>) => Result | Promise<Result>;

/** A handler of groups; it returns a result, or the error that its attempt ends with, for each job. */
export type BatchHandler<Payload, Result = unknown> = (jobs: Job<Payload>[]) => Result[] | Promise<Result[]> | undefined | Promise<void>;

/** A worker; add handlers with {@link on}, then {@link run} it. */
export class Worker {
  readonly name: string;
  readonly #client: Client;
  readonly #options: WorkerOptions;
  readonly #handlings = new Map<string, Handling>();

  constructor(options: WorkerOptions = {}) {
    this.name = options.name ?? defaultName();
    this.#client = options.client ?? new Client();
    this.#options = options;
  }

  /** Sets the handler for jobs of this type. With a schema, `job.payload` is what the schema makes of the payload. */
  on<S extends StandardSchema>(type: string, options: { payload: S }, handler: Handler<Output<S>>): this;
  on<Payload = unknown>(type: string, handler: Handler<Payload>): this;
  on(type: string, ...rest: [AnyHandler] | [{ payload: StandardSchema }, AnyHandler]): this {
    const [options, handler] = rest.length === 2 ? rest : [undefined, rest[0]];
    this.#handlings.set(type, { schema: options?.payload, isBatch: false, handler });
    return this;
  }

  /**
   * Sets the handler for groups of jobs of this type, whose configuration has `batch`. It gets the jobs of a group and returns a list with a
   * result, or an error such as `Transient`, for each of them. What it throws is the failure of all. Each job has its own lease, signals
   * and output, and takes a slot: with fewer slots than the `size` of a group, groups are smaller. A job without a group is a list of one.
   */
  onBatch<S extends StandardSchema>(type: string, options: { payload: S }, handler: BatchHandler<Output<S>>): this;
  onBatch<Payload = unknown>(type: string, handler: BatchHandler<Payload>): this;
  onBatch(type: string, ...rest: [AnyBatchHandler] | [{ payload: StandardSchema }, AnyBatchHandler]): this {
    const [options, handler] = rest.length === 2 ? rest : [undefined, rest[0]];
    this.#handlings.set(type, { schema: options?.payload, isBatch: true, handler });
    return this;
  }

  /**
   * Runs until SIGTERM or SIGINT, or until the given signal aborts; then running handlers finish. A second SIGTERM or SIGINT
   * ends the process at once. Throws if the server refuses this worker's claims; while it cannot be reached, the worker keeps
   * trying.
   */
  async run({ signal }: { signal?: AbortSignal } = {}): Promise<void> {
    if (this.#handlings.size === 0) throw new TypeError("a worker needs a handler: add one with `on`");
    const { logger = defaultLogger, drain } = this.#options;
    const running = new Running(
      { client: this.#client, logger, handlings: this.#handlings, tracer: await loadTracer() },
      this.#settings(),
    );
    const begin = () => {
      running.drain(drain === undefined ? undefined : toMillis(drain));
    };
    const forget = signal ? onAbort(signal, begin) : onSignals(begin);
    try {
      await running.ended;
    } finally {
      forget();
    }
  }

  #settings(): ThreadSettings {
    const { slots = availableParallelism(), queues = [], wait = "20s" } = this.#options;
    const types = [...this.#handlings.keys()];
    const target = this.#client.transport.target;
    return { target, worker: this.name, types, queues, slots: Math.max(1, slots), wait: toMillis(wait) };
  }
}

type AnyHandler = Extract<Handling, { isBatch: false }>["handler"];
type AnyBatchHandler = Extract<Handling, { isBatch: true }>["handler"];

interface RunningContext {
  client: Client;
  logger: Logger;
  handlings: Map<string, Handling>;
  tracer: Tracer;
}

/** A worker while it runs: its thread and its attempts. */
class Running {
  /** Resolves when the worker has drained. */
  readonly ended: Promise<void>;
  readonly #context: RunningContext;
  readonly #settings: ThreadSettings;
  readonly #thread: Thread;
  readonly #attempts = new Map<string, Attempt>();
  #refusal: Error | undefined;
  #phase: "running" | "draining" | "shutting down" = "running";
  #onDrained: () => void = () => undefined;
  /** Ends the drain time. */
  #limit: NodeJS.Timeout | undefined;
  /** Ends the wait for answers. */
  #patience: NodeJS.Timeout | undefined;

  constructor(context: RunningContext, settings: ThreadSettings) {
    this.#context = context;
    this.#settings = settings;
    // The options of this process, such as loaders, are not meant for the thread.
    this.#thread = new Thread(new URL("./thread.js", import.meta.url), { workerData: settings, execArgv: [], name: "tenure" });
    this.#thread.on("message", (message: FromThread) => this.#handle(message));
    this.ended = this.#run();
  }

  /** Claims end. After the limit the handlers are stopped. */
  drain(limit: number | undefined): void {
    if (this.#phase !== "running") return;
    this.#phase = "draining";
    this.#post({ type: "drain" });
    if (limit !== undefined) this.#limit = setTimeout(() => this.#shutDown(), Math.min(limit, TIMER_MAX));
    this.#limitAnswers();
  }

  async #run(): Promise<void> {
    const failed = new Promise<never>((_, reject) => {
      this.#thread.once("error", reject);
      this.#thread.once("exit", () => {
        reject(new Error("the worker's thread has ended"));
      });
    });
    failed.catch(() => {
      this.#stopAll("lease_lost");
    });
    const drained = new Promise<void>((resolve) => (this.#onDrained = resolve));
    try {
      await Promise.race([failed, drained]);
    } finally {
      clearTimeout(this.#limit);
      clearTimeout(this.#patience);
      await this.#thread.terminate();
    }
    if (this.#refusal) throw this.#refusal;
  }

  /** When no handler is waited for any more, the answers to the last reports are, for a limited time. */
  #limitAnswers(): void {
    const isWaiting = this.#phase === "running" || (this.#phase === "draining" && this.#attempts.size > 0);
    clearTimeout(this.#patience);
    if (isWaiting) return;
    this.#patience = setTimeout(() => {
      this.#context.logger.warn("worker stopped with unanswered reports; their leases expire", {});
      this.#onDrained();
    }, ANSWER_TIMEOUT);
  }

  #handle(message: FromThread): void {
    if (message.type === "claimed") this.#start(message);
    else if (message.type === "stop") this.#attempts.get(keyText(message.lease))?.update();
    else if (message.type === "log") this.#context.logger[message.level](message.message, message.fields);
    else if (message.type === "drained") this.#onDrained();
    else this.#refuse(message);
  }

  #refuse({ problem, message }: Extract<FromThread, { type: "refused" }>): void {
    this.#refusal = problem ? new Problem(problem) : new ProtocolError(message);
    this.drain(undefined);
  }

  #start({ jobs }: Extract<FromThread, { type: "claimed" }>): void {
    const handling = this.#context.handlings.get(jobs[0]?.job.type ?? "");
    if (!handling) throw new Error("no handler for a type that was claimed");
    const groups = handling.isBatch ? [jobs] : jobs.map((job) => [job]);
    for (const group of groups) this.#handleJobs(group, handling);
  }

  /** Runs the handler for these jobs. */
  #handleJobs(jobs: StartedJob[], handling: Handling): void {
    const { client, logger, tracer } = this.#context;
    const attempts = jobs.map(({ job, stop }) => {
      const holder = { worker: this.#settings.worker, fence: job.lease.fence };
      const attempt = new Attempt(job, { client, logger, job: job.id, holder, stop: new StopCell(stop) });
      this.#attempts.set(keyText(attempt.key), attempt);
      return attempt;
    });
    this.#limitAnswers();
    if (this.#phase === "shutting down") for (const attempt of attempts) attempt.stop("shutdown");
    const reports = runAttempts(attempts, handling, tracer, () => {
      this.#post({ type: "free", slots: attempts.length });
    });
    attempts.forEach((attempt, index) => void this.#end(attempt, reports[index]));
  }

  async #end({ key }: Attempt, reported: Promise<OutgoingReport | undefined> | undefined): Promise<void> {
    const report = await reported;
    this.#attempts.delete(keyText(key));
    this.#post({ type: "ended", lease: key, ...(report && { report }) });
    this.#limitAnswers();
  }

  #shutDown(): void {
    this.#phase = "shutting down";
    this.#stopAll("shutdown");
    this.#limitAnswers();
  }

  #stopAll(reason: "shutdown" | "lease_lost"): void {
    for (const attempt of this.#attempts.values()) attempt.stop(reason);
  }

  #post(message: ToThread): void {
    this.#thread.postMessage(message);
  }
}

function onAbort(signal: AbortSignal, begin: () => void): () => void {
  if (signal.aborted) begin();
  signal.addEventListener("abort", begin);
  return () => {
    signal.removeEventListener("abort", begin);
  };
}

/** The first signal begins, the second ends the process. */
function onSignals(begin: () => void): () => void {
  let count = 0;
  const handle = (name: NodeJS.Signals) => {
    count += 1;
    if (count > 1) process.exit(EXIT_CODES[name as keyof typeof EXIT_CODES]);
    begin();
  };
  process.on("SIGTERM", handle).on("SIGINT", handle);
  return () => {
    process.off("SIGTERM", handle).off("SIGINT", handle);
  };
}

function defaultName(): string {
  return `${hostname().slice(0, 200)}-${String(process.pid)}-${randomBytes(4).toString("hex")}`;
}
