// BullMQ on Redis.
import { createRequire } from "node:module";
import { measure } from "./measure.mjs";

const { Queue, Worker } = createRequire(`${process.env.PEER_MODULES}/`)("bullmq");
const name = `peer-${process.pid}`;
let connection, queue, worker, slots;

await measure({
  async open(url, plan) {
    const { hostname, port } = new URL(url);
    connection = { host: hostname, port: Number(port), maxRetriesPerRequest: null };
    slots = plan.slots;
    queue = new Queue(name, { connection });
    await queue.waitUntilReady();
  },
  add: (payload) => queue.add("job", payload),
  addMany: (payloads) => queue.addBulk(payloads.map((data) => ({ name: "job", data }))),
  async work(handler) {
    worker = new Worker(name, async (job) => handler(job.data), { connection, concurrency: slots });
    await worker.waitUntilReady();
  },
  async close() {
    await worker?.close(true);
    await queue.close();
  },
});
