// Moves the waiting, delayed and prioritized jobs of BullMQ queues to Tenure.
//
// Stop the workers of BullMQ first. Run it in the folder of the application, whose version of BullMQ it uses. TENURE_URL and
// TENURE_KEY, or TENURE_KEY_FILE, are those of the server.
import { createRequire } from "node:module";
import { BATCH, Move, attempts, end, keyOf, parse, priority } from "./move.mjs";

const USAGE = `node from_bullmq.mjs [OPTION…] QUEUE…

  --redis URL     default: redis://127.0.0.1:6379
  --prefix TEXT   the prefix of BullMQ's keys; default: bull
  --type TYPE     the type of all jobs; default: the name of each job
  --dry-run       only count, and list what cannot be moved`;

const STATES = ["wait", "paused", "prioritized", "delayed"];
/** The score of a delayed job is its time in milliseconds times this, plus a counter. */
const SCORES_PER_MILLISECOND = 0x1000;

const { values, queues } = parse(USAGE, {
  redis: { type: "string", default: "redis://127.0.0.1:6379" },
  prefix: { type: "string", default: "bull" },
  type: { type: "string" },
});
const { Queue } = createRequire(`${process.cwd()}/`)("bullmq");
const move = new Move({ dryRun: values["dry-run"] });

async function reasonToStay(job) {
  if (job.repeatJobKey) return "belongs to a job scheduler: create a schedule in Tenure, and remove the scheduler";
  if (job.parentKey || job.parent) return "is a child in a flow";
  if (Object.values(await job.getDependenciesCount()).some((count) => count > 0)) return "is a parent in a flow";
  return undefined;
}

async function entryOf(queue, client, job) {
  const reason = await reasonToStay(job);
  if (reason) return { id: job.id, reason };
  const score = await client.zscore(queue.toKey("delayed"), job.id);
  return {
    id: job.id,
    source: job,
    job: {
      type: values.type ?? job.name,
      queue: queue.name,
      payload: job.data,
      priority: priority(-(job.opts.priority ?? 0)),
      max_attempts: attempts((job.opts.attempts || 1) - job.attemptsMade),
      correlation_id: job.id,
      idempotency_key: keyOf("bullmq", values.prefix, queue.name, job.id),
      ...(score === null ? {} : { run_at: new Date(Math.floor(score / SCORES_PER_MILLISECOND)).toISOString() }),
    },
  };
}

/** Removes jobs; BullMQ refuses those that a worker has. */
async function remove(entries) {
  const taken = [];
  for (const { id, source } of entries) {
    await source.remove().catch((error) => {
      if (!/locked/.test(error.message)) throw error;
      taken.push(id);
    });
  }
  return taken;
}

async function moveState(queue, client, state) {
  let left = 0;
  for (;;) {
    const jobs = await queue.getJobs([state], left, left + BATCH - 1, true);
    if (jobs.length === 0) return;
    left += await move.page(await Promise.all(jobs.map((job) => entryOf(queue, client, job))), remove);
  }
}

function connectionTo(url) {
  return {
    host: url.hostname,
    port: Number(url.port || 6379),
    username: decodeURIComponent(url.username),
    password: decodeURIComponent(url.password),
    db: Number(url.pathname.slice(1) || 0),
    // A lost connection ends the run, which can be repeated.
    retryStrategy: () => null,
    ...(url.protocol === "rediss:" ? { tls: {} } : {}),
  };
}

async function moveQueue(name) {
  const queue = new Queue(name, { connection: connectionTo(new URL(values.redis)), prefix: values.prefix });
  // The command that fails reports it.
  queue.on("error", () => {});
  try {
    const workers = await queue.getWorkers();
    if (workers.length > 0 && !values["dry-run"]) {
      end(`queue ${name} has ${workers.length} workers\nhelp: stop them, then run this again`);
    }
    // Versions before 6 have `client`.
    const client = await (queue.client ?? queue.getBackend().client);
    for (const state of STATES) await moveState(queue, client, state);
    for (const job of await queue.getJobs(["waiting-children"])) move.leave(job.id, "waits for its children in a flow");
    for (const job of await queue.getJobs(["active"])) move.leave(job.id, "a worker has it, or was killed with it");
  } finally {
    await queue.close();
  }
}

await move.run(async () => {
  for (const name of queues) await moveQueue(name);
});
