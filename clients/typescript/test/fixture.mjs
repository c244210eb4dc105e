// A worker as a separate process, for tests that kill it or send it signals. Arguments: name, type, what the handler does.

import { writeSync } from "node:fs";

import { Worker } from "../dist/index.js";

const [, , name, type, behaviour] = process.argv;
const print = (text) => writeSync(1, `${text}\n`);

const behaviours = {
  /** Never ends. */
  hang: () => new Promise(() => {}),
  /** Ends when the process gets its first signal. */
  finish: () => new Promise((resolve) => process.once("SIGTERM", () => resolve("finished"))),
};

const worker = new Worker({ name, slots: 1 });
worker.on(type, async (job) => {
  print(`started ${job.id}`);
  return behaviours[behaviour]();
});
await worker.run();
print("drained");
