// Fills a queue of pg-boss and prints what each job must become.
import { createRequire } from "node:module";

const module = await import(createRequire(`${process.cwd()}/`).resolve("pg-boss"));
const PgBoss = module.PgBoss ?? module.default;
const [connectionString, schema, name, count] = process.argv.slice(2);
const boss = new PgBoss({ connectionString, schema });
boss.on("error", (error) => {
  throw error;
});
await boss.start();
await boss.createQueue(name);

async function retried() {
  const id = await boss.send(name, { number: -1 }, { retryLimit: 3, retryDelay: 3600 });
  await boss.fetch(name);
  await boss.fail(name, id, { message: "once" });
  const run_at = Date.now() / 1000 + 3600;
  return { correlation_id: id, type: name, queue: "default", payload: { number: -1 }, priority: 0, max_attempts: 3, run_at };
}

const expected = [await retried()];
for (let number = 0; number < count; number += 1) {
  const priority = [0, 5, -3, 2_000_000][number % 4];
  const startAfter = number % 10 === 0 ? new Date(Date.now() + 3_600_000) : undefined;
  const retryLimit = number % 3 === 0 ? 7 : 0;
  const payload = number === 1 ? null : { number, text: "ü" };
  const id = await boss.send(name, payload, { priority, retryLimit, ...(startAfter ? { startAfter } : {}) });
  expected.push({
    correlation_id: id,
    type: name,
    queue: "default",
    payload,
    priority: Math.min(priority, 1_000_000),
    max_attempts: retryLimit + 1,
    run_at: startAfter ? startAfter.getTime() / 1000 : null,
  });
}
const held = await boss.send(name, { number: -2 }, { priority: 3_000_000 });
await boss.fetch(name);
const left = { [held]: "a worker has it" };
if (boss.flow) {
  const flow = await boss.flow([{ name, ref: "first" }, { name, ref: "second", dependsOn: ["first"] }]);
  for (const id of Object.values(flow)) left[id] = "depends on another job";
}
console.log(JSON.stringify({ expected, left }));
await boss.stop({ graceful: false, wait: false });
process.exit(0);
