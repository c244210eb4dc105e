import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { context, trace } from "@opentelemetry/api";
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { Cancelled, Client, Partial, Permanent, Reject, Release, Transient, Worker } from "tenure";
import type { BatchHandler, Handler, StandardSchema, wire } from "tenure";
import { startServer } from "tenure/testing";
import { describe, expect, test } from "vitest";
import { z } from "zod";

import { uploadTimeout } from "../src/transport.js";
import { Proxy } from "./proxy.js";
import { deferred, eventTypes, freshType, idOf, silent, start, stopWorkers, until, useServer } from "./support.js";

const { client } = useServer();

/** Creates a job, runs this handler for it, and waits for its end. */
async function finished(handler: Handler<unknown>, type = freshType(), payload: unknown = {}) {
  run(type, handler);
  const { id } = await client().create({ type, payload });
  return client().wait(id, "20s");
}

function run(type: string, handler: Handler<unknown>) {
  return start({ client: client() }, (worker) => worker.on(type, handler));
}

describe("how an attempt ends", () => {
  test("a result", async () => {
    const job = await finished((job) => ({ got: job.payload, attempt: job.attempt }), freshType(), { n: 1 });
    expect(job).toMatchObject({ state: "succeeded", result: { got: { n: 1 }, attempt: 1 } });
  });

  test("no result", async () => {
    expect(await finished(() => undefined)).toMatchObject({ state: "succeeded", result: null });
  });

  test("a transient failure is retried", async () => {
    const job = await finished((job) => {
      if (job.attempt === 1) throw new Transient("BUSY", new Error("outer", { cause: "inner" }), { stage: "fetch", details: { n: 1 } });
      return "second";
    });
    expect(job).toMatchObject({ state: "succeeded", result: "second", retry_count: 1 });
  });

  test("retryAfter replaces the backoff", async () => {
    const job = await finished((job) => {
      if (job.attempt === 1) throw new Transient("BUSY", "later", { retryAfter: "700ms" });
      return "second";
    });
    expect(Date.parse(job.claimed_at ?? "") - Date.parse(job.created_at)).toBeGreaterThanOrEqual(700);
  });

  test.each([
    new Transient("BUSY", "later", { pause: { resource: "openai", for: "1h" } }),
    new Permanent("BUSY", "later", { pause: { resource: "openai", for: 3_600_000 } }),
    new Release({ pause: { resource: "openai", for: "1h" } }),
  ])("$name may pause a resource", async (ending) => {
    await client().call("POST", "/api/resources/openai/resume", {});
    run("metered", () => {
      throw ending;
    });
    await client().create({ type: "metered" });
    await until(async () => {
      const { buckets } = await client().call<wire.Resource>("GET", "/api/resources/openai");
      return buckets[0]?.paused_until !== null && buckets[0]?.paused_until !== undefined;
    });
    await stopWorkers();
  });

  test("a permanent failure is not", async () => {
    const job = await finished(() => {
      throw new Permanent("BROKEN", "no way", { stage: "exec" });
    });
    expect(job).toMatchObject({ state: "failed", retry_count: 1, error: { code: "BROKEN", message: "no way", class: "permanent" } });
  });

  test("an error without a class is transient, with its code or its name", async () => {
    const missing = Object.assign(new Error("no such file"), { code: "ENOENT" });
    const job = await finished((job) => {
      if (job.attempt === 1) throw new RangeError("too far");
      if (job.attempt === 2) throw missing;
      // eslint-disable-next-line @typescript-eslint/only-throw-error
      throw "only a text";
    });
    const failures = [];
    for await (const event of client().history(job.id)) {
      if (event.trigger === "fail") failures.push(event.payload.error);
    }
    expect(failures.slice(0, 3)).toMatchObject([{ code: "RangeError" }, { code: "ENOENT" }, { code: "ERROR" }]);
  });

  test("a rejection", async () => {
    const job = await finished(() => {
      throw new Reject("not allowed");
    }, "image");
    expect(job.state).toBe("rejected");
  });

  test("a part of the result", async () => {
    const job = await finished(() => {
      throw new Partial("HALF", "some failed", { result: { done: 1 } });
    }, "pattern");
    expect(job).toMatchObject({ state: "partial", result: { done: 1 }, error: { code: "HALF" } });
  });

  test("a release with a checkpoint", async () => {
    const job = await finished((job) => {
      if (job.checkpoint === null) throw new Release({ checkpoint: { page: 7 }, delay: 10 });
      return { from: job.checkpoint, fence: job.fence };
    });
    expect(job).toMatchObject({ state: "succeeded", result: { from: { page: 7 }, fence: 2 }, retry_count: 0 });
    expect(await eventTypes(client(), job.id)).toContain("job_released");
  });

  test("a thrown error is transient", async () => {
    const job = await finished((job) => {
      if (job.attempt === 1) throw new RangeError("oops");
      return "second";
    });
    expect(job).toMatchObject({ state: "succeeded", retry_count: 1 });
    const [failure] = (await client().journal({ job_id: job.id, type: "job_retried" })).events;
    expect(JSON.stringify(failure?.payload)).toContain("oops");
  });

  test("a result that is not JSON, and one that the server refuses", async () => {
    expect(await finished(() => 1n)).toMatchObject({ state: "failed", error: { code: "BAD_RESULT" } });
    expect(await finished(() => "a\0b")).toMatchObject({ state: "failed", error: { code: "REPORT_REFUSED" } });
  });
});

describe("payloads", () => {
  test("a schema parses the payload, and a bad payload fails alone", async () => {
    const type = freshType();
    const schema = z.object({ prompt: z.string(), size: z.number().default(5) });
    const jobs = await client().createMany([{ prompt: "a" }, { prompt: 1 }, { prompt: "b" }].map((payload) => ({ type, payload })));
    start({ client: client(), slots: 3 }, (worker) =>
      worker.on(type, { payload: schema }, ({ payload }) => payload.prompt.repeat(payload.size)),
    );
    const ids = jobs.map(idOf);
    const [first, bad, last] = await Promise.all(ids.map((id) => client().wait(id, "20s")));
    expect([first?.result, last?.result]).toEqual(["aaaaa", "bbbbb"]);
    expect(bad).toMatchObject({ state: "failed", error: { code: "BAD_PAYLOAD", stage: "input", class: "permanent" } });
    expect(bad?.error?.message).toContain("prompt");
  });

  test("any Standard Schema, also one that is asynchronous", async () => {
    const type = freshType();
    const schema: StandardSchema<number> = {
      "~standard": { version: 1, vendor: "test", validate: (value) => Promise.resolve({ value: Number(value) + 1 }) },
    };
    start({ client: client() }, (worker) => worker.on(type, { payload: schema }, ({ payload }) => payload * 2));
    const { id } = await client().create({ type, payload: 4 });
    expect((await client().wait(id, "20s")).result).toBe(10);
  });
});

describe("output", () => {
  test("lines are in order and before the end; the newest progress wins", async () => {
    const job = await finished(async (job) => {
      for (let n = 0; n < 300; n += 1) {
        job.log(`line ${String(n)}`, n % 2 ? { stream: "stderr", level: "error" } : {});
        if (n % 50 === 0) await new Promise(setImmediate);
      }
      job.progress(10, "begin");
      job.progress(40, "half way");
    });
    const { lines } = await client().logs(job.id, { limit: 500 });
    expect(lines.map(({ text }) => text)).toEqual(Array.from({ length: 300 }, (_, n) => `line ${String(n)}`));
    expect(lines[1]).toMatchObject({ n: 2, stream: "stderr", level: "error" });
    expect(job).toMatchObject({ progress_message: "half way" });
  });

  test("a line over the limit is split", async () => {
    const job = await finished((job) => job.log("ü".repeat(50_000)));
    const { lines } = await client().logs(job.id);
    expect(lines.map(({ text }) => text.length)).toEqual([32_768, 17_232]);
  });

  test("an asset is stored, also if the handler does not wait for it", async () => {
    const job = await finished((job) => {
      void job.asset("later.txt", "not awaited");
      return job.asset("picture.png", new Uint8Array([1, 2, 3]));
    });
    expect(job.result).toMatchObject({ asset_type: "png" });
    const { assets } = await client().assets(job.id);
    const contents = await Promise.all(assets.map(async ({ id }) => (await client().download(job.id, id)).text()));
    expect(contents.sort()).toEqual(["\u0001\u0002\u0003", "not awaited"]);
  });
});

describe("stop", () => {
  test("a soft cancel is honoured by a call that got the signal", async () => {
    const running = deferred();
    start({ client: client() }, (worker) =>
      worker.on("brisk", async ({ signal }) => {
        running.resolve();
        await new Promise((_, reject) => {
          signal.addEventListener("abort", () => {
            reject(signal.reason as Error);
          });
        });
      }),
    );
    const { id } = await client().create({ type: "brisk" });
    await running.promise;
    await client().cancel(id);
    expect(await client().wait(id, "20s")).toMatchObject({ state: "cancelled" });
  });

  test("a soft cancel is confirmed with a checkpoint", async () => {
    const running = deferred();
    start({ client: client() }, (worker) =>
      worker.on("brisk", async (job) => {
        running.resolve();
        await new Promise((resolve) => {
          job.signal.addEventListener("abort", resolve);
        });
        throw new Cancelled({ checkpoint: { reason: job.stopReason } });
      }),
    );
    const { id } = await client().create({ type: "brisk" });
    await running.promise;
    await client().cancel(id);
    expect(await client().wait(id, "20s")).toMatchObject({ state: "cancelled", checkpoint: { reason: "soft_cancel" } });
  });

  test("a soft cancel is ignored, and the result counts", async () => {
    const running = deferred();
    start({ client: client() }, (worker) =>
      worker.on("brisk", async ({ signal }) => {
        running.resolve();
        await new Promise((resolve) => {
          signal.addEventListener("abort", resolve);
        });
        return "finished";
      }),
    );
    const { id } = await client().create({ type: "brisk" });
    await running.promise;
    await client().cancel(id);
    expect(await client().wait(id, "20s")).toMatchObject({ state: "succeeded", result: "finished" });
  });

  test("a hard cancel stops the handler, and nothing is reported", async () => {
    const [running, lost] = [deferred(), deferred<unknown>()];
    start({ client: client() }, (worker) =>
      worker.on("brisk", async (job) => {
        running.resolve();
        await new Promise((resolve) => {
          job.lost.addEventListener("abort", resolve);
        });
        lost.resolve(job.stopReason);
        return "too late";
      }),
    );
    const { id } = await client().create({ type: "brisk" });
    await running.promise;
    expect((await client().cancel(id, { mode: "hard" })).state).toBe("cancelled");
    expect(await lost.promise).toBe("hard_cancel");
    expect(await client().get(id)).toMatchObject({ state: "cancelled", result: null });
  });

  test("a blocked event loop keeps its leases, also of jobs that have not started", async () => {
    start({ client: client(), slots: 2 }, (worker) =>
      worker.on("brisk", () => {
        // Longer than a lease lasts without a heartbeat.
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3_000);
      }),
    );
    const jobs = await client().createMany([{ type: "brisk" }, { type: "brisk" }]);
    for (const job of jobs) {
      const ended = await client().wait(idOf(job), "20s");
      expect(ended).toMatchObject({ state: "succeeded", attempt: 1, retry_count: 0 });
    }
  });

  test("a blocked handler can read that it should stop", async () => {
    const running = deferred();
    start({ client: client() }, (worker) =>
      worker.on("brisk", async (job) => {
        running.resolve();
        // The cancel is sent before the loop is blocked.
        await client().cancel(job.id);
        const cell = new Int32Array(new SharedArrayBuffer(4));
        for (let tries = 0; tries < 1_000 && !job.stopReason; tries += 1) Atomics.wait(cell, 0, 0, 10);
        throw new Cancelled({ result: job.stopReason });
      }),
    );
    const { id } = await client().create({ type: "brisk" });
    await running.promise;
    expect(await client().wait(id, "20s")).toMatchObject({ state: "cancelled", result: "soft_cancel" });
  });
});

describe("batches", () => {
  /** Runs three jobs with a batch handler. */
  async function finishedBatch(handler: BatchHandler<{ n: number }>) {
    const worker = start({ client: client(), slots: 3 }, (added) => added.onBatch("grouped", handler));
    const jobs = await client().createMany([1, 2, 3].map((n) => ({ type: "grouped", payload: { n } })));
    const ended = await Promise.all(jobs.map((job) => client().wait(idOf(job), "20s")));
    await worker.stop();
    return ended;
  }

  test("a handler gets a group, and each job its own result and output", async () => {
    const jobs = await finishedBatch((group) => {
      for (const job of group) job.log(`job ${String(job.payload.n)} of ${String(group.length)}`);
      return [group.length, new Permanent("BROKEN", "no"), null];
    });
    expect(jobs).toMatchObject([
      { state: "succeeded", result: 3 },
      { state: "failed", error: { code: "BROKEN" } },
      { state: "succeeded", result: null },
    ]);
    const logs = await Promise.all(jobs.map(({ id }) => client().logs(id)));
    expect(logs.map(({ lines }) => lines[0]?.text)).toEqual(["job 1 of 3", "job 2 of 3", "job 3 of 3"]);
  });

  test("what it throws fails all", async () => {
    const jobs = await finishedBatch(() => {
      throw new RangeError("too far");
    });
    expect(jobs.map(({ error }) => error?.code)).toEqual(["RangeError", "RangeError", "RangeError"]);
  });

  test("another number of results fails all", async () => {
    const jobs = await finishedBatch(() => ["one"]);
    expect(jobs.map(({ error }) => error?.code)).toEqual(["BAD_RESULT", "BAD_RESULT", "BAD_RESULT"]);
    expect((await finishedBatch(() => undefined)).map(({ state }) => state)).toEqual(["succeeded", "succeeded", "succeeded"]);
  });

  test("a payload that cannot be read fails alone", async () => {
    const worker = start({ client: client(), slots: 3 }, (added) =>
      added.onBatch("grouped", { payload: z.object({ n: z.number() }) }, (jobs) => jobs.map(({ payload }) => payload.n)),
    );
    const jobs = await client().createMany([1, "two", 3].map((n) => ({ type: "grouped", payload: { n } })));
    const ended = await Promise.all(jobs.map((job) => client().wait(idOf(job), "20s")));
    expect(ended).toMatchObject([{ result: 1 }, { error: { code: "BAD_PAYLOAD" } }, { result: 3 }]);
    await worker.stop();
  });

  test("a job without a group is a list of one", async () => {
    const type = freshType();
    start({ client: client(), slots: 4 }, (worker) => worker.onBatch<number>(type, (jobs) => jobs.map(({ payload }) => payload)));
    const jobs = await client().createMany([1, 2, 3].map((n) => ({ type, payload: n })));
    const ended = await Promise.all(jobs.map((job) => client().wait(idOf(job), "20s")));
    expect(ended.map(({ result }) => result)).toEqual([1, 2, 3]);
  });
});

describe("uploads", () => {
  /** Runs a handler through a proxy that refuses uploads. */
  async function withoutUploads(handler: Handler<unknown>) {
    const proxy = await Proxy.start(client().url);
    try {
      const type = freshType();
      proxy.fault = ({ path }) => (path.includes("/assets") ? { status: 413, code: "too_large", headers: {} } : "pass");
      start({ client: new Client({ url: proxy.url }) }, (worker) => worker.on(type, handler));
      const { id } = await client().create({ type, max_attempts: 1 });
      return await client().wait(id, "20s");
    } finally {
      await stopWorkers();
      await proxy.close();
    }
  }

  test("an upload that failed unnoticed fails the attempt", async () => {
    const job = await withoutUploads((job) => {
      void job.asset("a.txt", "x");
      return "done";
    });
    expect(job).toMatchObject({ outcome: "dead", error: { code: "too_large", class: "transient" } });
  });

  test("an upload whose failure the handler has seen does not", async () => {
    const job = await withoutUploads(async (job) => {
      await Promise.allSettled([job.asset("a.txt", "x")]);
      return job.asset("b.txt", "x").catch(() => "done");
    });
    expect(job).toMatchObject({ state: "succeeded", result: "done" });
  });

  test("the failure of the handler goes first", async () => {
    const job = await withoutUploads((job) => {
      void job.asset("a.txt", "x");
      throw new Permanent("BROKEN", "no");
    });
    expect(job).toMatchObject({ state: "failed", error: { code: "BROKEN" } });
  });

  test("they have more time for more content", () => {
    expect([uploadTimeout(""), uploadTimeout("ü".repeat(8 << 10)), uploadTimeout(new Uint8Array(16 << 10)), uploadTimeout(new Blob(["x"]))]).toEqual([
      30_000,
      31_000,
      31_000,
      30_000 + 1_000 / (16 << 10),
    ]);
  });
});

test("a line with a name that the server refuses has the default", async () => {
  const job = await finished((job) => job.log("kept", { stream: "", level: "x".repeat(256) }));
  expect((await client().logs(job.id)).lines).toMatchObject([{ text: "kept", stream: "stdout", level: "info" }]);
});

describe("drain", () => {
  test("without a limit the handler finishes", async () => {
    const [running, go] = [deferred(), deferred()];
    const type = freshType();
    const worker = start({ client: client(), drain: "1h" }, (added) =>
      added.on(type, async () => {
        running.resolve();
        await go.promise;
        return "finished";
      }),
    );
    const { id } = await client().create({ type });
    await running.promise;
    const later = await client().create({ type });
    const stopped = worker.stop();
    go.resolve();
    await stopped;
    expect(await client().get(id)).toMatchObject({ state: "succeeded", result: "finished" });
    expect((await client().get(later.id)).state).toBe("queued");
  });

  test("after the limit the job is released, even if the handler ignores the signal", async () => {
    const [running, stopped] = [deferred(), deferred<unknown>()];
    const type = freshType();
    const worker = start({ client: client(), drain: 0 }, (added) =>
      added.on(type, ({ signal }) => {
        running.resolve();
        signal.addEventListener("abort", () => {
          stopped.resolve(signal.reason);
        });
        return new Promise(() => undefined);
      }),
    );
    const { id } = await client().create({ type });
    await running.promise;
    await worker.stop();
    expect(await stopped.promise).toMatchObject({ reason: "shutdown" });
    expect(await eventTypes(client(), id)).toContain("job_released");
  });
});

test("the kit runs a worker until no work is left", async () => {
  const kit = await startServer();
  try {
    const [now, later] = await kit.client.createMany([{ type: "t" }, { type: "t", delay: "1h" }]);
    await kit.work(new Worker({ client: kit.client, logger: silent }).on("t", () => "done"));
    expect(await kit.client.get(idOf(now))).toMatchObject({ result: "done" });
    expect(await kit.client.get(idOf(later))).toMatchObject({ state: "queued" });
  } finally {
    await kit.stop();
  }
});

test("a span around the handler continues the trace of the job", async () => {
  const exporter = new InMemorySpanExporter();
  trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }));
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  const type = freshType();
  let inside: string | undefined;
  run(type, () => {
    inside = trace.getActiveSpan()?.spanContext().traceId;
    throw new Permanent("BROKEN", "no");
  });
  const traceId = "0af7651916cd43dd8448eb211c80319c";
  const { id } = await client().create({ type }, { traceparent: `00-${traceId}-b7ad6b7169203331-01` });
  await client().wait(id, "20s");
  const [span] = exporter.getFinishedSpans();
  expect(inside).toBe(traceId);
  expect(span).toMatchObject({ name: `run ${type}`, parentSpanContext: { traceId, isRemote: true } });
  expect(span?.attributes).toMatchObject({ "messaging.message.id": id, "error.type": "BROKEN" });
});
