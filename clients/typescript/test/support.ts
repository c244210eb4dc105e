/** What the tests share: a server, running workers, and a wait for conditions. */

import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";

import pg from "pg";
import { Client, Worker } from "tenure";
import type { Logger, WorkerOptions, wire } from "tenure";
import { startServer } from "tenure/testing";
import type { TestServer } from "tenure/testing";
import { afterAll, afterEach, beforeAll } from "vitest";

const DEADLINE = 20_000;

/** `brisk`: a cancel arrives within a second, and a lease lasts two seconds without a heartbeat. */
export const CONFIG = `
[types."*"]
lifecycle = "distributed"
backoff = { base = "10ms", factor = 1.0, max = "10ms", jitter = "none" }

[types.brisk]
lifecycle = "distributed"
lease = "10s"
heartbeat = "1s"
cancel_grace = "30s"
backoff = { base = "10ms", factor = 1.0, max = "10ms", jitter = "none" }

[resources.openai]
running = 100

[types.metered]
lifecycle = "distributed"
uses = ["openai"]
backoff = { base = "10ms", factor = 1.0, max = "10ms", jitter = "none" }

[types.grouped]
lifecycle = "distributed"
batch = { size = 3, wait = "10m" }
max_attempts = 1

[types.ordered]
lifecycle = "distributed"
sequence = { key = "payload.account", on_failure = "halt" }

[types.pattern]
lifecycle = "pattern"

[types.image]
lifecycle = "image"

[types.checked]
lifecycle = "distributed"
schema = { type = "object", required = ["n"] }
`;

export const silent: Logger = { debug: drop, info: drop, warn: drop, error: drop };

function drop(): void {
  // Tests assert what the server knows.
}

/** Waits until `read` gives something else than `undefined` or `false`. */
export async function until<T>(read: () => Promise<T | undefined | false> | T | undefined | false): Promise<T> {
  for (const end = performance.now() + DEADLINE; performance.now() < end; await sleep(10)) {
    const found = await read();
    if (found !== undefined && found !== false) return found;
  }
  throw new Error(`not within ${String(DEADLINE)} ms: ${read.toString()}`);
}

/** A promise and its `resolve`. */
export function deferred<T = void>(): { promise: Promise<T>; resolve: (value: T) => void } {
  let resolve: (value: T) => void = drop;
  const promise = new Promise<T>((settle) => (resolve = settle));
  return { promise, resolve };
}

/** The URL of a new database on the server that `cargo xtask test` names in TENURE_TEST_POSTGRES. */
export async function newDatabase(): Promise<string> {
  const server = process.env.TENURE_TEST_POSTGRES ?? "";
  const name = `sdk_${randomUUID().replaceAll("-", "")}`;
  const admin = new pg.Client({ connectionString: server });
  await admin.connect();
  await admin.query(`create database ${name}`);
  await admin.end();
  return `${server.replace(/\/[^/]*$/, "")}/${name}`;
}

/** A server for the tests of a file, on the store of this run. */
export function useServer(config = CONFIG): { server: () => TestServer; client: () => Client } {
  let server: TestServer | undefined;
  beforeAll(async () => {
    server = await startServer({ config, store: process.env.TENURE_TEST_STORE === "postgres" ? await newDatabase() : "embedded" });
  });
  afterAll(() => server?.stop());
  const running = () => {
    if (!server) throw new Error("the server is not started");
    return server;
  };
  return { server: running, client: () => running().client };
}

interface RunningWorker {
  /** Drains. */
  stop: () => Promise<void>;
  ended: Promise<void>;
}

const running = new Set<RunningWorker>();

/** Runs a worker until the end of the test. */
export function start(options: WorkerOptions, add: (worker: Worker) => void): RunningWorker {
  const worker = new Worker({ logger: silent, slots: 1, drain: 0, ...options });
  add(worker);
  const drain = new AbortController();
  const ended = worker.run({ signal: drain.signal });
  ended.catch(drop);
  const handle = {
    ended,
    stop: () => {
      drain.abort();
      running.delete(handle);
      return ended;
    },
  };
  running.add(handle);
  return handle;
}

/** Drains the workers of a test. */
export async function stopWorkers(): Promise<void> {
  await Promise.all([...running].map(({ stop }) => stop().catch(drop)));
}

afterEach(stopWorkers);

let names = 0;

/** A type of the catch-all that no other test uses. */
export function freshType(): string {
  names += 1;
  return `type-${String(process.pid)}-${String(names)}`;
}

/** The id of a job that was created. */
export function idOf(created: wire.JobAnswer | Error | undefined): string {
  if (created === undefined || created instanceof Error) throw created ?? new Error("not created");
  return created.id;
}

/** The types of a job's events. */
export async function eventTypes(client: Client, job: string): Promise<string[]> {
  const types: string[] = [];
  for await (const event of client.history(job)) types.push(event.type);
  return types;
}

/** The job, once it is in this state. */
export function inState(client: Client, job: string, state: string): Promise<wire.Job> {
  return until(async () => {
    const found = await client.get(job);
    return found.state === state && found;
  });
}
