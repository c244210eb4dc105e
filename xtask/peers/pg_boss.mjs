// pg-boss on PostgreSQL. `work` polls at most twice a second, so throughput is measured with `fetch` and `complete` in a
// loop, which is faster; the idle latency is that of `work`.
import { createRequire } from "node:module";
import { measure } from "./measure.mjs";

const module = createRequire(`${process.env.PEER_MODULES}/`)("pg-boss");
const PgBoss = module.PgBoss ?? module.default ?? module;
const name = `peer-${process.pid}`;
let boss, slots;
let open = true;

await measure({
  async open(url, plan) {
    slots = plan.slots;
    boss = new PgBoss({ connectionString: url, max: 20 });
    boss.on("error", (error) => { if (open) throw error; });
    await boss.start();
    await boss.createQueue(name);
  },
  add: (payload) => boss.send(name, payload),
  addMany: (payloads) => boss.insert(payloads.map((data) => ({ name, data }))),
  async work(handler) {
    if (process.argv[2] === "idle") {
      await boss.work(name, { pollingIntervalSeconds: 0.5 }, async (jobs) => jobs.forEach((job) => handler(job.data)));
      return;
    }
    const loop = async () => {
      while (open) {
        const jobs = await boss.fetch(name, { batchSize: slots });
        if (jobs.length === 0) {
          await new Promise((done) => setTimeout(done, 5));
          continue;
        }
        await boss.complete(name, jobs.map((job) => job.id));
        jobs.forEach((job) => handler(job.data));
      }
    };
    loop();
  },
  async close() {
    open = false;
    await boss.stop({ graceful: false, wait: false });
  },
});
