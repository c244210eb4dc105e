// Fills a BullMQ queue and prints what each job must become, or, with `take`, takes a job like a worker and keeps it.
import { createRequire } from "node:module";

const { FlowProducer, Queue, Worker } = createRequire(`${process.cwd()}/`)("bullmq");
const [redis, name, action, count] = process.argv.slice(2);
const url = new URL(redis);
const connection = { host: url.hostname, port: Number(url.port), db: Number(url.pathname.slice(1)), maxRetriesPerRequest: null };
const prefix = process.env.MOVE_PREFIX ?? "bull";
const queue = new Queue(name, { connection, prefix });

async function retried() {
  const options = { attempts: 5, backoff: { type: "fixed", delay: 3_600_000 } };
  const job = await queue.add("retried", { number: -1 }, options);
  const worker = new Worker(name, () => Promise.reject(new Error("once")), { connection, prefix });
  await new Promise((done) => worker.on("failed", done));
  await worker.close();
  const run_at = Date.now() / 1000 + 3600;
  return { correlation_id: job.id, type: "retried", queue: name, payload: { number: -1 }, priority: 0, max_attempts: 4, run_at };
}

async function produce() {
  const expected = [await retried()];
  for (let number = 0; number < count; number += 1) {
    const priority = [0, 1, 7, 2_000_000][number % 4];
    const delay = number % 10 === 0 ? 3_600_000 : 0;
    const attempts = number % 3 === 0 ? 5 : undefined;
    const job = await queue.add("resize", { number, text: "ü" }, { priority, delay, attempts, jobId: `ü-${number}` });
    expected.push({
      correlation_id: job.id,
      type: "resize",
      queue: name,
      payload: { number, text: "ü" },
      priority: -Math.min(priority, 1_000_000),
      max_attempts: attempts ?? 1,
      run_at: delay ? (job.timestamp + delay) / 1000 : null,
    });
  }
  await queue.upsertJobScheduler("nightly", { pattern: "0 3 * * *" }, { name: "nightly" });
  const [scheduled] = (await queue.getJobs(["delayed"])).filter(({ repeatJobKey }) => repeatJobKey);
  const flows = new FlowProducer({ connection, prefix });
  const flow = await flows.add({ name: "parent", queueName: name, children: [{ name: "child", queueName: name }] });
  await flows.close();
  const [child] = flow.children;
  const left = { [scheduled.id]: "belongs to a job scheduler", [flow.job.id]: "waits for its children" };
  left[child.job.id] = "is a child in a flow";
  if (process.argv.includes("paused")) await queue.pause();
  console.log(JSON.stringify({ expected, left }));
}

async function take() {
  const worker = new Worker(name, null, { connection, prefix });
  const job = await worker.getNextJob("token");
  console.log(JSON.stringify({ taken: job.id }));
  // Without `close`, which would return the job.
  process.exit(0);
}

async function listen() {
  const worker = new Worker(name, () => {}, { connection, prefix });
  await worker.waitUntilReady();
  console.log("ready");
}

await { produce, take, listen }[action]();
if (action === "produce") await queue.close();
