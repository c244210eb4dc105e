import { readFileSync } from "node:fs";

import { Client, Problem, Unreachable } from "tenure";
import { startServer } from "tenure/testing";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";

import { Proxy } from "./proxy.js";
import { freshType, start, until, useServer } from "./support.js";

const { server, client } = useServer();
let proxy: Proxy;
let remote: Client;

beforeAll(async () => {
  proxy = await Proxy.start(server().url);
});
afterAll(() => proxy.close());
beforeEach(() => {
  proxy.heal();
  proxy.fault = () => "pass";
  proxy.seen.length = 0;
  remote = new Client({ url: proxy.url });
});

test("a job is created, read, listed, explained and cancelled", async () => {
  const type = freshType();
  const job = await client().create({ type, payload: { n: 1 }, delay: "1h", correlation_id: type });
  expect(await client().get(job.id)).toMatchObject({ state: "queued", payload: { n: 1 }, idempotency_key: expect.stringMatching(/^auto-/) as string });
  expect((await client().list({ type })).jobs.map(({ id }) => id)).toEqual([job.id]);
  expect((await client().explain(job.id)).state).toBe("queued");
  expect(await client().amend(job.id, { priority: 7, payload: { n: 2 } }, 1)).toMatchObject({ priority: 7, payload: { n: 2 }, seq: 2 });
  await expect(client().amend(job.id, { priority: 8 }, 1)).rejects.toMatchObject({ code: "precondition_failed", status: 412 });
  expect((await client().cancel(job.id, { reason: "test" })).state).toBe("cancelled");
  expect((await client().retry(job.id)).retry_of).toBe(job.id);
  await client().delete(job.id);
  await expect(client().get(job.id)).rejects.toMatchObject({ code: "not_found", status: 404 });
});

test("every call of operators is answered", async () => {
  const c = client();
  expect((await c.lifecycles()).lifecycles.map(({ name }) => name)).toContain("distributed");
  expect((await c.lifecycle("distributed")).name).toBe("distributed");
  expect(await c.diagram("distributed")).toContain("<svg");
  expect((await c.types()).types.length).toBeGreaterThan(0);
  expect((await c.grant("ada", 5, "test")).available).toBe(5);
  expect((await c.credits("ada")).granted).toBe(5);
  expect((await c.pauseQueue("slow")).paused).toBe(true);
  expect((await c.resumeQueue("slow")).paused).toBe(false);
  expect((await c.queues()).queues.length).toBeGreaterThan(0);
  const schedule = await c.createSchedule({ cron: "0 3 * * *", job: { type: freshType() } });
  expect((await c.pauseSchedule(schedule.id)).id).toBe(schedule.id);
  await c.resumeSchedule(schedule.id);
  expect((await c.schedules()).schedules).toHaveLength(1);
  await c.deleteSchedule(schedule.id);
  const job = await c.create({ type: freshType(), delay: "1h" });
  await c.deadLetter(job.id, { reason_code: "policy_violation", detail: "test" });
  expect((await c.deadLetters({ type: job.type })).dead_letters).toHaveLength(1);
  expect((await c.dismiss(job.id, "seen")).dismissed_reason).toBe("seen");
  expect((await c.act({ action: "cancel", filter: { type: job.type }, dry_run: true })).matched).toBe(1);
  expect((await c.audit()).audit.length).toBeGreaterThan(0);
  expect((await c.webhooks()).webhooks).toEqual([]);
  expect((await c.workers()).workers).toBeDefined();
  expect(await c.stats()).toBeDefined();
  expect(await c.health()).toBeDefined();
  expect(await c.readiness()).toBeDefined();
  expect(await c.metrics()).toContain("tenure_claims_total");
});

test("flow control has its calls", async () => {
  const c = client();
  expect((await c.resources()).resources.map(({ name }) => name)).toContain("openai");
  expect((await c.setResource("openai", { running: 5, rate: { count: 1, per: "1s" } })).limits.running).toBe(5);
  expect((await c.setResource("openai", { running: null, waiting: 7 })).limits.running).toBeNull();
  expect((await c.resetResource("openai")).origin).toBe("file");
  expect((await c.pauseResource("openai", { for: 3_600_000 })).paused).toBe(true);
  expect((await c.resumeResource("openai")).paused).toBe(false);
  expect((await c.resource("openai", { key: "none" })).buckets).toEqual([]);
  const first = await c.create({ type: "ordered", payload: { account: "a/b" } });
  const second = await c.create({ type: "ordered", payload: { account: "a/b" } });
  const { jobs: [claimed] } = await c.claim({ worker: "w-seq", types: ["ordered"], max: 1, start: true });
  const error = { code: "NO", message: "no", class: "permanent" } as const;
  await c.report("w-seq", { job: first.id, fence: claimed?.lease.fence ?? 0, verb: "fail", error });
  expect((await c.sequences({ halted: true })).sequences).toMatchObject([{ type: "ordered", key: "a/b" }]);
  expect((await c.resumeSequence("ordered", "a/b")).key).toBe("a/b");
  await c.cancel(second.id);
});

test("schedules, webhooks and lifecycles have their calls", async () => {
  const c = client();
  const job = { type: freshType() };
  await c.createSchedule({ id: "often", cron: "0 3 * * *", job });
  expect((await c.replaceSchedule("often", { cron: "0 4 * * *", job })).cron).toBe("0 4 * * *");
  expect((await c.runSchedule("often")).type).toBe(job.type);
  await c.deleteSchedule("often");
  const { id } = await c.createWebhook({ url: "https://example.com/hook" });
  expect((await c.disableWebhook(id)).disabled_at).not.toBeNull();
  expect((await c.replayWebhook(id, { since: 60_000 })).id).toBe(id);
  await c.deleteWebhook(id);
  const { source } = await c.call<{ source: string }>("GET", "/api/lifecycles/distributed");
  expect((await c.tryLifecycle("distributed", { source, since: "1h" })).name).toBe("distributed");
});

describe("requests in SQL", () => {
  const intake = {
    id: "r1",
    type: "t",
    queue: null,
    user_id: null,
    correlation_id: "r1",
    state: null,
    phase: "intake",
    requested_at: "2026-11-19T21:00:00.000Z",
  };

  /** `r1` is a request in SQL with these answers, one after the other. */
  function answered(...answers: object[]) {
    const left = [...answers];
    proxy.fault = ({ path }) => {
      if (path.startsWith("/api/jobs/r1/stream")) return { status: 404, code: "not_found", headers: {} };
      if (path === "/api/jobs/r1") return { json: { ...intake, ...(left.length > 1 ? left.shift() : left[0]) } };
      return "pass";
    };
  }

  test("have no state", async () => {
    answered({});
    expect(await remote.get("r1")).toEqual(intake);
  });

  test("are waited for and followed as the job that answers them", async () => {
    const job = await client().create({ type: freshType(), delay: "1h" });
    await client().appendLogs(job.id, [{ text: "one" }]);
    await client().cancel(job.id);
    const merged = { phase: "merged", job_id: job.id };
    answered({}, {}, merged);
    expect((await remote.wait("r1", "20s")).id).toBe(job.id);
    answered({}, merged);
    const seen = [];
    for await (const item of remote.follow("r1")) seen.push(item.type);
    expect(seen).toEqual(["log", "status"]);
  });

  test("that are refused throw the problem", async () => {
    const problem = { type: "/problems/validation_failed", title: "no", status: 422, detail: "n is missing", instance: "/", code: "validation_failed" };
    answered({}, { phase: "refused", problem });
    await expect(remote.wait("r1")).rejects.toMatchObject({ code: "validation_failed", detail: "n is missing" });
    await expect(remote.follow("r1").next()).rejects.toMatchObject({ code: "validation_failed" });
  });

  test("that no node takes in are waited for up to the timeout", async () => {
    answered({});
    await expect(remote.wait("r1", 300)).rejects.toMatchObject({ name: "TimeoutError" });
  });
});

test("every operation of the API has a method", () => {
  const api = JSON.parse(readFileSync(process.env.TENURE_OPENAPI ?? "", "utf8")) as { paths: Record<string, Record<string, { operationId?: string }>> };
  const operations = Object.values(api.paths).flatMap((path) => Object.values(path).flatMap(({ operationId }) => operationId ?? []));
  const camel = (name: string) => name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
  const methods = operations.flatMap((operation) => (operation in METHODS ? (METHODS[operation] ?? []) : camel(operation)));
  expect(methods.filter((name) => !(name in Client.prototype))).toEqual([]);
  expect(Object.keys(METHODS).filter((operation) => !operations.includes(operation))).toEqual([]);
});

/** The methods that do not have the name of their operation; pages for people have none. */
const METHODS: Record<string, string | null> = {
  act_on_jobs: "act",
  add_job_asset: "upload",
  amend_job: "amend",
  append_job_logs: "appendLogs",
  cancel_job: "cancel",
  claim_jobs: "claim",
  confirm_cancel: "report",
  create_job: "create",
  create_jobs: "createMany",
  create_stream_token: "streamToken",
  dead_letter_job: "deadLetter",
  delete_job: "delete",
  dismiss_dead_letter: "dismiss",
  explain_job: "explain",
  fail_job: "report",
  get_credits: "credits",
  get_docs: null,
  get_health: "health",
  get_job: "get",
  get_job_asset: "asset",
  get_job_asset_content: "download",
  get_lifecycle: "lifecycle",
  get_lifecycle_diagram: "diagram",
  get_metrics: "metrics",
  get_openapi: null,
  get_problem: null,
  get_readiness: "readiness",
  get_resource: "resource",
  get_schedule: "schedule",
  get_stats: "stats",
  get_webhook: "webhook",
  grant_credits: "grant",
  heartbeat_job: "report",
  list_audit: "audit",
  list_dead_letters: "deadLetters",
  list_events: "events",
  list_job_assets: "assets",
  list_job_events: "history",
  list_job_logs: "logs",
  list_jobs: "list",
  list_keys: "keys",
  list_lifecycles: "lifecycles",
  list_queues: "queues",
  list_resources: "resources",
  list_schedules: "schedules",
  list_sequences: "sequences",
  list_types: "types",
  list_webhooks: "webhooks",
  list_workers: "workers",
  partial_job: "report",
  redrive_dead_letters: "redrive",
  reject_job: "report",
  release_job: "report",
  replay_job: "replay",
  report_jobs: "reports",
  report_progress: "report",
  retry_job: "retry",
  signal_job: "signal",
  start_job: "report",
  stream_job: "follow",
  succeed_job: "report",
};

test("a problem has the members of its code", async () => {
  const job = await client().create({ type: freshType(), delay: 3_600_000 });
  const error = await client().signal(job.id, "unknown").catch((why: unknown) => why);
  expect(error).toBeInstanceOf(Problem);
  expect(error).toMatchObject({ code: "invalid_transition", status: 409, members: { current_state: "queued" } });
});

test("the same key creates one job", async () => {
  const job = { type: freshType(), idempotency_key: "once" };
  const [first, second] = [await client().create(job), await client().create(job)];
  expect([second.id, first.replayed, second.replayed]).toEqual([first.id, undefined, true]);
});

test("a lost answer to a creation is repeated without a duplicate", async () => {
  const type = freshType();
  proxy.fault = () => (proxy.seen.length === 1 ? "lose" : "pass");
  const job = await remote.create({ type });
  expect(job.replayed).toBe(true);
  expect((await client().list({ type })).jobs).toHaveLength(1);
});

test("503 is repeated after Retry-After; another refusal is not", async () => {
  const refused = { status: 503, code: "overloaded", headers: { "retry-after": "1" } };
  proxy.fault = () => (proxy.seen.length === 1 ? refused : "pass");
  const begin = performance.now();
  await remote.create({ type: freshType() });
  expect(performance.now() - begin).toBeGreaterThan(900);
  proxy.seen.length = 0;
  proxy.fault = () => ({ status: 409, code: "invalid_transition", headers: {} });
  await expect(remote.create({ type: freshType() })).rejects.toMatchObject({ code: "invalid_transition" });
  expect(proxy.seen).toHaveLength(1);
});

test("a server that cannot be reached is an error of its kind", async () => {
  proxy.cut();
  await expect(remote.health()).rejects.toBeInstanceOf(Unreachable);
});

describe("coalescing", () => {
  test("concurrent creations travel together, and one bad item is refused alone", async () => {
    const bad = { type: "checked", payload: { other: 1 } };
    const jobs = [{ type: "checked", payload: { n: 0 } }, { type: "checked", payload: { n: 1 } }, bad, { type: "checked", payload: { n: 2 } }];
    const results = await Promise.allSettled(jobs.map((job) => remote.create(job)));
    expect(results.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "rejected", "fulfilled"]);
    expect(results[2]).toMatchObject({ reason: { code: "validation_failed", status: 422 } });
    expect(proxy.seen.map(({ path }) => path)).toEqual(["/api/jobs", "/api/jobs/batch"]);
  });

  test("a batch whose answer is lost is repeated without duplicates", async () => {
    const type = freshType();
    proxy.fault = ({ path }) => (path === "/api/jobs/batch" && proxy.to(path).length === 1 ? "lose" : "pass");
    const jobs = await Promise.all([1, 2, 3].map((n) => remote.enqueue({ type, payload: { n } })));
    expect(new Set(jobs.map(({ id }) => id)).size).toBe(3);
    expect((await client().list({ type })).jobs).toHaveLength(3);
  });

  test("it can be turned off", async () => {
    const separate = new Client({ url: proxy.url, coalesce: false });
    const type = freshType();
    await Promise.all([1, 2, 3].map(() => separate.create({ type })));
    expect(proxy.to("/api/jobs")).toHaveLength(3);
  });

  test("createMany answers each job", async () => {
    const results = await client().createMany([{ type: freshType(), delay: "1s" }, { type: "checked" }]);
    expect(results[0]).toMatchObject({ state: "queued" });
    expect(results[1]).toBeInstanceOf(Problem);
  });
});

describe("streams", () => {
  test("a followed job yields its log and its status, also over a broken connection", async () => {
    const type = freshType();
    const job = await client().create({ type, delay: "1h" });
    await client().appendLogs(job.id, [{ text: "one" }, { text: "two" }]);
    const seen: string[] = [];
    for await (const item of remote.follow(job.id)) {
      seen.push(item.type === "log" ? item.line.text : item.status.state);
      if (item.type === "log" && item.line.text === "two") {
        proxy.cut();
        await client().appendLogs(job.id, [{ text: "three" }]);
        await client().cancel(job.id);
        proxy.heal();
      }
    }
    expect(seen).toEqual(["one", "two", "three", "cancelled"]);
  });

  test("the journal is followed after a cursor", async () => {
    const job = await client().create({ type: freshType(), delay: "1h" });
    const seen: string[] = [];
    let cursor = "";
    for await (const { event, cursor: next } of client().events(undefined, { job_id: job.id })) {
      seen.push(event.type);
      cursor = next;
      break;
    }
    await client().cancel(job.id);
    for await (const { event } of client().events(cursor, { job_id: job.id })) {
      seen.push(event.type);
      break;
    }
    expect(seen).toEqual(["job_queued", "job_cancelled"]);
  });

  test("wait returns the finished job, or times out", async () => {
    const type = freshType();
    const { id } = await client().create({ type });
    await expect(client().wait(id, 50)).rejects.toMatchObject({ name: "TimeoutError" });
    start({ client: client() }, (worker) => worker.on(type, () => 42));
    expect(await client().wait(id, "20s")).toMatchObject({ state: "succeeded", result: 42 });
    expect((await client().wait(id)).state).toBe("succeeded");
    expect((await client().wait(id, "30d")).state).toBe("succeeded");
  });
});

test("keys and permissions: a problem says what is missing, and a worker that may not claim ends", async () => {
  const closed = await startServer();
  try {
    const admin = new Client({ url: closed.url, key: (await closed.client.createKey({ role: "admin" })).key });
    await expect(closed.client.list()).rejects.toMatchObject({ code: "unauthenticated", status: 401 });
    const viewer = new Client({ url: closed.url, key: (await admin.createKey({ role: "viewer" })).key });
    await expect(viewer.create({ type: "t" })).rejects.toMatchObject({ code: "forbidden", status: 403 });
    const { ended } = start({ client: viewer }, (worker) => worker.on("t", () => null));
    await expect(ended).rejects.toMatchObject({ code: "forbidden" });
    const { id } = (await admin.keys()).keys.find(({ roles }) => roles.includes("viewer")) ?? { id: "" };
    await admin.revokeKey(id);
    await until(() => viewer.list().then(() => undefined, (error: unknown) => error instanceof Problem && error.status === 401));
  } finally {
    await closed.stop();
  }
});
