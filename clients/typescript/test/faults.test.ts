import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

import { Client } from "tenure";
import { startServer } from "tenure/testing";
import { afterEach, beforeEach, expect, test } from "vitest";

import { Proxy } from "./proxy.js";
import { CONFIG, deferred, eventTypes, freshType, idOf, inState, start, stopWorkers, until, useServer } from "./support.js";

const { server, client } = useServer();
let proxy: Proxy;
let remote: Client;

beforeEach(async () => {
  proxy = await Proxy.start(server().url);
  remote = new Client({ url: proxy.url });
});
afterEach(async () => {
  // Through the proxy: before it closes.
  await stopWorkers();
  await proxy.close();
});

/** Reports with this verb that the proxy has seen. */
function reports(verb: string): string[] {
  return proxy.to("/api/reports").flatMap(({ body }) => (body.includes(`"verb":"${verb}"`) ? [body] : []));
}

test("a worker without a connection fences itself, and continues after the partition", async () => {
  const [running, lost] = [deferred(), deferred<unknown>()];
  let attempts = 0;
  start({ client: remote, slots: 2 }, (worker) =>
    worker.on("brisk", async (job) => {
      attempts += 1;
      if (attempts > 1) return "second";
      running.resolve();
      await new Promise((resolve) => {
        job.lost.addEventListener("abort", resolve);
      });
      lost.resolve(job.stopReason);
      return "first";
    }),
  );
  const { id } = await client().create({ type: "brisk" });
  await running.promise;
  proxy.cut();
  expect(await lost.promise).toBe("lease_lost");
  proxy.heal();
  expect(await client().wait(id, "20s")).toMatchObject({ state: "succeeded", result: "second" });
  expect(reports("succeed").join()).not.toContain("first");
});

test("a lost claim answer is repeated, and the job runs once", async () => {
  const type = freshType();
  const { id } = await client().create({ type });
  proxy.fault = ({ path }) => (path === "/api/claims" && proxy.to(path).length === 1 ? "lose" : "pass");
  start({ client: remote }, (worker) => worker.on(type, () => "done"));
  expect(await client().wait(id, "20s")).toMatchObject({ state: "succeeded", attempt: 1, retry_count: 0 });
  const [first, second] = proxy.to("/api/claims").map(({ body }) => (JSON.parse(body) as { request_id: string }).request_id);
  expect(second).toBe(first);
  expect(reports("heartbeat").length).toBeGreaterThan(0);
});

test("a lost report answer is repeated, and the job succeeds once", async () => {
  const type = freshType();
  const { id } = await client().create({ type });
  proxy.fault = ({ path }) => (path === "/api/reports" && proxy.to(path).length === 1 ? "lose" : "pass");
  const worker = start({ client: remote }, (added) => added.on(type, () => "done"));
  await client().wait(id, "20s");
  await worker.stop();
  expect(reports("succeed")).toHaveLength(2);
  expect((await eventTypes(client(), id)).filter((name) => name === "job_succeeded")).toHaveLength(1);
});

test("a doubled report succeeds once", async () => {
  const type = freshType();
  const { id } = await client().create({ type });
  proxy.fault = ({ path }) => (path === "/api/reports" ? "double" : "pass");
  const worker = start({ client: remote }, (added) => added.on(type, () => "done"));
  await client().wait(id, "20s");
  await worker.stop();
  expect(await client().get(id)).toMatchObject({ state: "succeeded", result: "done" });
  expect((await eventTypes(client(), id)).filter((name) => name === "job_succeeded")).toHaveLength(1);
});

test("lost answers to log appends and uploads double nothing", async () => {
  const type = freshType();
  const { id } = await client().create({ type });
  const lost = new Set<string>();
  proxy.fault = ({ path }) => {
    const [, kind] = /\/(logs|assets|progress)\b/.exec(path) ?? [];
    if (!kind || lost.has(kind)) return "pass";
    lost.add(kind);
    return "lose";
  };
  start({ client: remote }, (worker) =>
    worker.on(type, async (job) => {
      job.log("once");
      job.progress(50, "half");
      await job.asset("a.txt", "content");
    }),
  );
  expect(await client().wait(id, "20s")).toMatchObject({ state: "succeeded", progress_message: "half" });
  expect(lost.size).toBe(3);
  expect((await client().logs(id)).lines.map(({ text }) => text)).toEqual(["once"]);
  expect((await client().assets(id)).assets).toHaveLength(1);
});

test("503 with Retry-After: claims and reports wait and are repeated", async () => {
  const type = freshType();
  const { id } = await client().create({ type });
  const refused = { status: 503, code: "overloaded", headers: { "retry-after": "1" } };
  proxy.fault = ({ path }) => (["/api/claims", "/api/reports"].includes(path) && proxy.to(path).length === 1 ? refused : "pass");
  const begin = performance.now();
  start({ client: remote }, (worker) => worker.on(type, () => "done"));
  expect(await client().wait(id, "20s")).toMatchObject({ state: "succeeded", retry_count: 0 });
  expect(performance.now() - begin).toBeGreaterThan(1_900);
});

test("late answers delay the worker only", async () => {
  const type = freshType();
  proxy.fault = () => ({ delay: 100 });
  start({ client: remote, slots: 4 }, (worker) => worker.on(type, (job) => job.payload));
  const jobs = await client().createMany([1, 2, 3, 4, 5, 6].map((payload) => ({ type, payload })));
  const ended = await Promise.all(jobs.map((job) => client().wait(idOf(job), "20s")));
  expect(ended.map(({ result }) => result)).toEqual([1, 2, 3, 4, 5, 6]);
});

test("a server that is killed and started again does not stop the worker", async () => {
  const own = await startServer({ config: CONFIG, store: "embedded" });
  try {
    const type = freshType();
    const [running, go] = [deferred(), deferred()];
    start({ client: own.client }, (worker) =>
      worker.on(type, async () => {
        running.resolve();
        await go.promise;
        return "done";
      }),
    );
    const { id } = await own.client.create({ type });
    await running.promise;
    await own.kill();
    go.resolve();
    await own.start();
    expect(await own.client.wait(id, "20s")).toMatchObject({ state: "succeeded", attempt: 1 });
    await own.shutDown();
    await own.start();
    const next = await own.client.create({ type });
    expect(await own.client.wait(next.id, "20s")).toMatchObject({ state: "succeeded" });
  } finally {
    await own.stop();
  }
});

/** Runs the worker of fixture.mjs. */
function startProcess(name: string, type: string, behaviour: string) {
  const file = fileURLToPath(new URL("fixture.mjs", import.meta.url));
  const env = { ...process.env, TENURE_URL: server().url };
  const child = spawn(process.execPath, [file, name, type, behaviour], { env, stdio: ["ignore", "pipe", "inherit"] });
  let printed = "";
  child.stdout.on("data", (text: Buffer) => (printed += text.toString()));
  return { child, exit: once(child, "exit"), hasPrinted: (text: string) => until(() => printed.includes(text)) };
}

test("kill -9: another worker takes the job over", async () => {
  const first = startProcess("first", "brisk", "hang");
  const { id } = await client().create({ type: "brisk" });
  await first.hasPrinted(`started ${id}`);
  first.child.kill("SIGKILL");
  await first.exit;
  start({ client: client() }, (worker) => worker.on("brisk", (job) => ({ fence: job.fence })));
  expect(await client().wait(id, "20s")).toMatchObject({ state: "succeeded", result: { fence: 2 } });
});

test("SIGTERM: the worker process drains", async () => {
  const type = freshType();
  const process = startProcess("drains", type, "finish");
  const { id } = await client().create({ type });
  await process.hasPrinted(`started ${id}`);
  process.child.kill("SIGTERM");
  expect(await process.exit).toEqual([0, null]);
  await process.hasPrinted("drained");
  expect(await client().get(id)).toMatchObject({ state: "succeeded", result: "finished" });
});

test("a second signal ends the process at once", async () => {
  const type = freshType();
  const process = startProcess("ends", type, "hang");
  const { id } = await client().create({ type });
  await process.hasPrinted(`started ${id}`);
  process.child.kill("SIGINT");
  process.child.kill("SIGTERM");
  // Whichever of the two the process handles second.
  expect([130, 143]).toContain((await process.exit)[0]);
  await inState(client(), id, "running");
});
