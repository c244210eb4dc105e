// Graphile Worker on PostgreSQL, with the local queue and batched completions that its documentation recommends for speed.
import { createRequire } from "node:module";
import { measure } from "./measure.mjs";

const { makeWorkerUtils, run, Logger } = createRequire(`${process.env.PEER_MODULES}/`)("graphile-worker");
const logger = new Logger(() => () => {});
const task = `peer-${process.pid}`;
let connectionString, utils, runner, plan;

await measure({
  async open(url, given) {
    [connectionString, plan] = [url, given];
    utils = await makeWorkerUtils({ connectionString, logger, maxPoolSize: 20 });
    await utils.migrate();
  },
  add: (payload) => utils.addJob(task, payload),
  addMany: (payloads) => utils.addJobs(payloads.map((payload) => ({ identifier: task, payload }))),
  async work(handler) {
    const isIdle = process.argv[2] === "idle";
    const batches = { localQueue: { size: plan.slots }, completeJobBatchDelay: 0, failJobBatchDelay: 0 };
    runner = await run({
      connectionString,
      logger,
      noHandleSignals: true,
      concurrency: 24,
      maxPoolSize: 30,
      pollInterval: 1000,
      taskList: { [task]: async (payload) => handler(payload) },
      preset: { worker: isIdle ? {} : batches },
    });
  },
  async close() {
    await runner?.stop();
    await utils.release();
  },
});
