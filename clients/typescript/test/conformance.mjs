// The test worker of the conformance suite (`conformance/README.md`): each job's payload says what its handler does.

import { existsSync, writeSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { Cancelled, Client, Ended, Partial, Permanent, Problem, Reject, Release, Transient, Worker } from "../dist/index.js";

const options = JSON.parse(process.env.TENURE_CONFORMANCE);
const POLL_INTERVAL = 10;
const client = new Client();

/** Prints a line for the runner. */
const show = (line, members = {}) => writeSync(1, `${JSON.stringify({ line, ...members })}\n`);
const isOpen = (gate) => existsSync(join(options.gates, gate));

/** The schema of a payload: the steps of each attempt. */
const script = {
  "~standard": {
    version: 1,
    vendor: "conformance",
    validate: (value) =>
      Array.isArray(value?.attempts) ? { value } : { issues: [{ message: "not a list", path: ["attempts"] }] },
  },
};

function stopped(job, atLeast) {
  const signal = atLeast === "hard_cancel" ? job.lost : job.signal;
  return new Promise((resolve) => {
    const settle = () => resolve(signal.reason.reason);
    if (signal.aborted) settle();
    else signal.addEventListener("abort", settle);
  });
}

const paused = (pause) => pause && { resource: pause.resource, for: pause.for_ms };

const steps = {
  log: (job, { text, stream, level }) => job.log(text, { stream, level }),
  progress: (job, { percent, message }) => job.progress(percent, message),
  asset: (job, { name, content }) => job.asset(name, content),
  async wait(_, { gate }) {
    while (!isOpen(gate)) await sleep(POLL_INTERVAL);
  },
  block(_, { gate }) {
    const cell = new Int32Array(new SharedArrayBuffer(4));
    while (!isOpen(gate)) Atomics.wait(cell, 0, 0, POLL_INTERVAL);
  },
  spin(_, { gate }) {
    while (!isOpen(gate)) for (const end = performance.now() + POLL_INTERVAL; performance.now() < end; );
  },
  async wait_stop(job, { at_least }) {
    show("stopped", { job: job.id, cause: await stopped(job, at_least) });
  },
  /** Creates the jobs at the same time, each with its own call. */
  async create(job, { jobs }) {
    const calls = await Promise.allSettled(jobs.map((given) => client.create(given)));
    calls.forEach(({ value, reason }, index) => {
      const code = reason instanceof Problem ? reason.code : null;
      show("created", { job: job.id, index, id: value?.id ?? null, code });
    });
  },
  transient(_, { code, message, retry_after_ms: retryAfter, pause, ...more }) {
    throw new Transient(code, message, { retryAfter, pause: paused(pause), ...more });
  },
  permanent(_, { code, message, pause, ...more }) {
    throw new Permanent(code, message, { pause: paused(pause), ...more });
  },
  partial(_, { code, message, ...more }) {
    throw new Partial(code, message, more);
  },
  reject(_, { reason }) {
    throw new Reject(reason);
  },
  release(_, { checkpoint, delay_ms: delay, pause }) {
    throw new Release({ checkpoint, delay, pause: paused(pause) });
  },
  cancelled(_, { checkpoint, result }) {
    throw new Cancelled({ checkpoint, result });
  },
  error(_, { message }) {
    throw new RangeError(message);
  },
  panic(_, { message }) {
    throw message;
  },
};

async function handle(job) {
  started(job);
  return perform(job);
}

async function handleBatch(jobs) {
  for (const job of jobs) started(job, { batch: jobs.length });
  const results = [];
  for (const job of jobs) {
    try {
      results.push(await perform(job));
    } catch (error) {
      if (!(error instanceof Ended)) throw error;
      results.push(error);
    }
  }
  return results;
}

function started({ id, attempt, fence, checkpoint, traceparent, correlationId }, members = {}) {
  show("started", { job: id, attempt, fence, checkpoint, traceparent, correlation_id: correlationId, ...members });
}

async function perform(job) {
  const { attempt } = job;
  const { attempts } = job.payload;
  for (const { do: step, ...members } of attempts[Math.min(attempt, attempts.length) - 1]) {
    if (step === "succeed") return members.bytes ? "x".repeat(members.bytes) : members.result;
    await steps[step](job, members);
  }
  return undefined;
}

const { name, queue, types, slots, wait_ms: wait, drain_ms: drain } = options;
const worker = new Worker({ name, queues: [queue], slots, wait, ...(drain !== null && { drain }) });
for (const type of types) worker.on(type, { payload: script }, handle);
for (const type of options.batches ?? []) worker.onBatch(type, { payload: script }, handleBatch);
await worker.run();
show("drained");
// A handler that was abandoned may still run.
process.exit();
