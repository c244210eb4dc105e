/** The test kit: a server in memory, whose clock the test moves. */

import { Transient, Worker } from "tenure";
import { startServer } from "tenure/testing";
import { expect, test } from "vitest";

import { idOf, inState, silent, start, until } from "./support.js";

test("the clock moves only when the test moves it", async () => {
  await using server = await startServer();
  const attempts: number[] = [];
  const worker = () =>
    new Worker({ client: server.client, logger: silent }).on("flaky", (job) => {
      attempts.push(job.attempt);
      if (job.attempt === 1) throw new Transient("NOT_YET", "later", { retryAfter: "10m" });
      return job.attempt;
    });
  const before = server.now;
  const job = idOf(await server.client.create({ type: "flaky" }));
  await server.work(worker());
  expect(attempts).toEqual([1]);
  const at = await server.advance("9m 59s");
  expect(at.getTime() - before.getTime()).toBe(599_000);
  await server.work(worker());
  expect(attempts, "the retry is not due yet").toEqual([1]);
  await server.advance(1000);
  await server.work(worker());
  const done = await server.client.get(job);
  expect(done).toMatchObject({ state: "succeeded", result: 2, created_at: before.toISOString() });
});

test("a waiting worker gets a job that became due", async () => {
  await using server = await startServer();
  const job = idOf(await server.client.create({ type: "later", delay: "1h" }));
  start({ client: server.client }, (worker) => worker.on("later", () => "done"));
  await until(async () => (await server.client.workers()).workers.length > 0);
  await server.advance("1h");
  await inState(server.client, job, "succeeded");
});

test("only a server in memory has such a clock", async () => {
  await using embedded = await startServer({ store: "embedded" });
  await expect(embedded.advance("1s")).rejects.toThrow("in memory");
  await using server = await startServer();
  await expect(server.advance("1 parsec")).rejects.toThrow("advance SPAN");
});

test("a server in memory that is started again is empty and has the same address", async () => {
  await using server = await startServer();
  await server.client.create({ type: "hello" });
  const { url } = server;
  await server.kill();
  await server.start();
  expect(server.url).toBe(url);
  expect((await server.client.list()).jobs).toEqual([]);
});

test("a flawed configuration and a missing program are shown", async () => {
  await expect(startServer({ config: '[types.a]\nlifecycle = "nonsense"' })).rejects.toThrow("nonsense");
  await expect(startServer({ binary: "/no/such/program" })).rejects.toThrow("ENOENT");
});
