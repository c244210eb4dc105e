/**
 * The test kit: a real server for a test, on a free port, by default with its data in memory and a clock that only the test
 * moves. It needs no test runner:
 *
 * ```ts
 * const server = await startServer();       // before, beforeAll
 * const { client } = server;
 * await server.advance("1h");
 * await server.stop();                      // after, afterAll
 * ```
 *
 * @packageDocumentation
 */

import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";

import { binaryPath } from "./binary.js";
import { Client } from "./client.js";
import { toSpan } from "./duration.js";
import type { Duration } from "./duration.js";
import type * as wire from "./generated.js";
import type { Worker } from "./worker/worker.js";

const START_TIMEOUT = 20_000;
const POLL_INTERVAL = 20;
/** Settings for another server. */
const FOREIGN = ["TENURE_URL", "TENURE_KEY", "TENURE_KEY_FILE", "TENURE_DATABASE_URL", "TENURE_LISTEN", "TENURE_DATA"];

export interface ServerOptions {
  /** The text of `tenure.toml`. Default: no configuration. */
  config?: string;
  /** The program. Default: `TENURE_BINARY`, or else that of this package, or else `tenure` on the path. */
  binary?: string;
  /**
   * `memory` (default): no data outlives the process, and the clock stands still until {@link TestServer.advance}. `embedded`: a
   * temporary folder. Or the URL of an empty PostgreSQL database. Both have the clock of this machine.
   */
  store?: "memory" | "embedded" | (string & {});
}

/** Starts a server and waits until it answers. */
export async function startServer(options: ServerOptions = {}): Promise<TestServer> {
  const folder = await mkdtemp(join(tmpdir(), "tenure-"));
  const config = join(folder, "tenure.toml");
  await writeFile(config, `${options.config ?? ""}\n`);
  const server = new TestServer(options.binary ?? binaryPath() ?? "tenure", folder, options.store ?? "memory");
  try {
    await server.start();
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
  return server;
}

/** A server for a test. */
export class TestServer implements AsyncDisposable {
  readonly #binary: string;
  readonly #folder: string;
  readonly #store: string;
  #address = "127.0.0.1:0";
  #process: ChildProcess | undefined;
  #client: Client | undefined;
  #answers: AsyncIterator<string> | undefined;
  #now: Date | undefined;

  /** Use {@link startServer}.
   * @internal */
  constructor(binary: string, folder: string, store: string) {
    this.#binary = binary;
    this.#folder = folder;
    this.#store = store;
  }

  /** Its address, which stays the same when it is started again. */
  get url(): string {
    return `http://${this.#address}`;
  }

  /** A client of this server. */
  get client(): Client {
    return (this.#client ??= new Client({ url: this.url }));
  }

  /** The time of the server. */
  get now(): Date {
    return this.#now ?? new Date();
  }

  /**
   * Moves the clock of a server in memory and returns its time. What is due by then happens within a moment, and before
   * any call that changes its job.
   */
  async advance(by: Duration): Promise<Date> {
    if (!this.#answers) throw new Error("only a server in memory has a clock that a test can move");
    this.#process?.stdin?.write(`advance ${toSpan(by)}\n`);
    await this.#readTime(this.#answers);
    return this.now;
  }

  /** Starts it again after {@link shutDown} or {@link kill}, with the same data, unless that was in memory. */
  async start(): Promise<void> {
    const { TENURE_BINARY: _, ...env } = process.env;
    for (const name of FOREIGN) Reflect.deleteProperty(env, name);
    const inMemory = this.#store === "memory";
    if (!inMemory) env.TENURE_ASSETS_STORE = `file:${join(this.#folder, "assets")}`;
    const data = this.#store === "embedded" ? ["--data", "data"] : inMemory ? [] : ["--database-url", this.#store];
    const args = [inMemory ? "test-server" : "serve", "--config", "tenure.toml", "--listen", this.#address, ...data];
    const child = spawn(this.#binary, args, { cwd: this.#folder, env, stdio: ["pipe", "pipe", "pipe"] });
    const kill = () => child.kill("SIGKILL");
    process.once("exit", kill);
    child.once("exit", () => process.off("exit", kill));
    this.#process = child;
    if (!inMemory) {
      this.#address = await printedAddress(child);
      return;
    }
    const errors: string[] = [];
    createInterface({ input: child.stderr }).on("line", (line) => errors.push(line));
    child.once("error", (error) => errors.push(error.message));
    this.#answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const first = await this.#readTime(this.#answers, errors);
    this.#address = (first.url ?? "").replace("http://", "");
  }

  /** Reads a line of a server in memory, which has the time. */
  async #readTime(answers: AsyncIterator<string>, errors: string[] = []): Promise<Record<string, string>> {
    const line = await answers.next();
    if (line.done === true) throw new Error(`the server has ended:\n${errors.join("\n")}`);
    const printed = JSON.parse(line.value) as Record<string, string>;
    if (printed.error) throw new RangeError(printed.error);
    this.#now = new Date(printed.now ?? "");
    return printed;
  }

  /** Sends SIGTERM and waits for the end; the data stays, unless it is in memory. */
  shutDown(): Promise<void> {
    return this.#end("SIGTERM");
  }

  /** Sends SIGKILL and waits for the end; the data stays, unless it is in memory. */
  kill(): Promise<void> {
    return this.#end("SIGKILL");
  }

  /** Ends the server and removes its data. */
  async stop(): Promise<void> {
    await this.kill();
    await rm(this.#folder, { recursive: true, force: true });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  /** Runs a worker until no job is ready, held or active. */
  async work(worker: Worker): Promise<void> {
    const idle = new AbortController();
    const run = worker.run({ signal: idle.signal });
    const isOver = run.then(() => true, () => true);
    while (!(await Promise.race([isOver, this.#isIdle()]))) await sleep(POLL_INTERVAL);
    idle.abort();
    await run;
  }

  async #isIdle(): Promise<boolean> {
    const phases: wire.Phase[] = ["ready", "held", "active"];
    const pages = await Promise.all(phases.map((phase) => this.client.list({ phase, limit: 500 })));
    const now = this.now.getTime();
    const isLater = (job: wire.Job | wire.JobRequest) => job.phase === "ready" && Date.parse(job.run_at) > now;
    return pages.every(({ jobs }) => jobs.every(isLater));
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#process;
    this.#process = this.#answers = this.#now = undefined;
    if (child?.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    child.kill(signal);
    await ended;
  }
}

/** Waits until the server prints its address. */
async function printedAddress(child: ChildProcess): Promise<string> {
  const printed: string[] = [];
  const address = new Promise<string>((resolve) => {
    for (const stream of [child.stdout, child.stderr]) {
      if (!stream) continue;
      createInterface({ input: stream }).on("line", (line) => {
        if (printed.length < 100) printed.push(line);
        const found = /http:\/\/([^ ]+)/.exec(line)?.[1];
        if (found) resolve(found);
      });
    }
  });
  const failed = new Promise<never>((_, reject) => {
    child.once("error", reject);
    child.once("exit", (code) => {
      reject(new Error(`the server ended with ${String(code)}:\n${printed.join("\n")}`));
    });
  });
  failed.catch(() => undefined);
  const timer = new AbortController();
  const late = sleep(START_TIMEOUT, undefined, { signal: timer.signal }).then(() => {
    child.kill("SIGKILL");
    throw new Error(`the server did not start in time:\n${printed.join("\n")}`);
  });
  late.catch(() => undefined);
  try {
    return await Promise.race([address, failed, late]);
  } finally {
    timer.abort();
  }
}
