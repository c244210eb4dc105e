import { once } from "node:events";
import { createServer } from "node:http";
import type { ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { toMillis, toSpan } from "../src/duration.js";
import { sentEvents } from "../src/follow.js";
import type * as wire from "../src/generated.js";
import { freshId } from "../src/ids.js";
import { Limit } from "../src/limit.js";
import { SseReader } from "../src/sse.js";
import { Transport } from "../src/transport.js";
import { LocalLease } from "../src/worker/leases.js";
import { StopCell } from "../src/worker/stop.js";
import { chunks, truncate } from "../src/worker/text.js";
import { until } from "./support.js";

test("durations are milliseconds or texts", () => {
  expect(["500ms", "2s", "1m 30s", "1h", "1d"].map(toMillis)).toEqual([500, 2_000, 90_000, 3_600_000, 86_400_000]);
  expect([toSpan(1.4), toSpan("5s")]).toEqual(["1ms", "5s"]);
  expect(() => toMillis("soon")).toThrow(TypeError);
});

test("a timeout longer than a timer is not over at once", async () => {
  const limit = new Limit(toMillis("30d"));
  await sleep(20);
  expect(limit.signal.aborted).toBe(false);
  limit.restart(1);
  await until(() => limit.signal.aborted);
  limit.release();
});

describe("a stream", () => {
  const answers: ((response: ServerResponse) => void)[] = [];
  const server = createServer((_, response) => answers.shift()?.(response));
  let transport: Transport;

  beforeAll(async () => {
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    transport = new Transport({ url: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}` });
  });
  afterAll(() => server.close());

  const status = (response: ServerResponse) => void response.end("event: status\ndata: {}\n\n");
  const quiet = (response: ServerResponse) => void response.end(": quiet\nretry: 1\n\n");
  const busy = (response: ServerResponse) => {
    const problem = { code: "overloaded", status: 503, title: "busy", detail: "", instance: "/", type: "/problems/overloaded" };
    response.writeHead(503, { "retry-after": "0", "content-type": "application/problem+json" }).end(JSON.stringify(problem));
  };
  const next = async (outageMax?: number) =>
    (await sentEvents(transport, { path: "/", ...(outageMax !== undefined && { outageMax }) }).next()).value;

  test.each([["quiet", quiet], ["unreachable", busy]] as const)("that is %s is opened again and again", async (_, answer) => {
    answers.push(...Array.from({ length: 20 }, () => answer), status);
    expect(await next()).toMatchObject({ name: "status" });
  });

  test("that gives nothing for too long is an error", async () => {
    answers.push(...Array.from({ length: 20 }, () => busy));
    await expect(next(0)).rejects.toThrow("overloaded");
    expect(answers.length).toBeGreaterThan(10);
    answers.length = 0;
  });
});

test("ids are UUIDs of version 7", () => {
  expect(freshId()).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
});

test("texts are split between characters", () => {
  expect([truncate("grün", 3), truncate("a\0b", 9)]).toEqual(["gr", "a?b"]);
  expect([chunks("grün", 3), chunks("", 3)]).toEqual([["gr", "ün"], [""]]);
});

test("events are the same however the stream was cut", () => {
  const stream =
    ": warm\r\nid: 1\r\nevent: log\r\ndata: one\r\ndata:  two\r\n\r\n" +
    ":\n\nid\nid: 7\ndata: grün\n\nevent: log\n\nretry: 250\nnew: x\rdata\r\r\n";
  const expected = [
    { name: "log", id: "1", text: "one\n two" },
    { name: "message", id: "7", text: "grün" },
    { name: "message", id: "7", text: "" },
  ];
  for (let size = 1; size <= stream.length; size += 1) {
    const reader = new SseReader();
    const pieces = Array.from({ length: Math.ceil(stream.length / size) }, (_, n) => stream.slice(n * size, (n + 1) * size));
    expect(pieces.flatMap((piece) => reader.push(piece))).toEqual(expected);
    expect(reader.retry).toBe(250);
  }
});

test("a stop becomes stronger and is never taken back", () => {
  const cell = new StopCell();
  expect(cell.reason).toBeUndefined();
  cell.raise("hard_cancel");
  cell.raise("soft_cancel");
  expect([cell.reason, cell.isOver, new StopCell(cell.memory).reason]).toEqual(["hard_cancel", true, "hard_cancel"]);
});

describe("a lease", () => {
  const lease = (second: number): wire.GrantedLease => ({
    fence: 1,
    expires_at: new Date(second * 1_000).toISOString(),
    heartbeat: "20s",
    ttl: "1m",
  });

  test("expires here before it expires at the server", () => {
    // The claim was sent at 0 and granted at 3 by the server's clock.
    const local = new LocalLease(lease(43), 0);
    expect([local.ends, local.heartbeatAt]).toEqual([40_000, 20_000]);
    local.renew(lease(61), 20_000);
    expect([local.ends, local.heartbeatAt]).toEqual([58_000, 40_000]);
    // More than half was left, so it was not renewed by much.
    local.renew(lease(63), 31_000);
    expect(local.ends).toBe(61_000);
    // The server's clock was set forward: two heartbeats at most.
    local.renew(lease(900), 50_000);
    expect(local.ends).toBe(90_000);
    // The server's clock was set back: the end stays.
    local.renew(lease(100), 60_000);
    expect(local.ends).toBe(90_000);
  });

  test("that was granted late is not shortened for good", () => {
    // The claim was sent at 0 and granted at 20 by the server's clock.
    const local = new LocalLease(lease(60), 0);
    local.renew(lease(60), 20_000);
    expect(local.ends).toBe(50_000);
  });

  test("of unknown age has half of its time left", () => {
    expect(LocalLease.confirmed(lease(60), 0).ends).toBe(30_000);
  });
});
