/**
 * The test kit: a real server for a test, with its data in a temporary folder, on a free port. It needs no test runner:
 *
 * ```ts
 * const server = await startServer();       // before, beforeAll
 * const { client } = server;
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

import { Client } from "./client.js";
import type * as wire from "./generated.js";
import type { Worker } from "./worker/worker.js";

const START_TIMEOUT = 20_000;
const POLL_INTERVAL = 20;
/** Settings for another server. */
const FOREIGN = ["TENURE_URL", "TENURE_KEY", "TENURE_KEY_FILE", "TENURE_DATABASE_URL", "TENURE_LISTEN", "TENURE_DATA"];

export interface ServerOptions {
  /** The text of `tenure.toml`. Default: no configuration. */
  config?: string;
  /** The program. Default: `TENURE_BINARY`, or else `tenure` on the path. */
  binary?: string;
}

/** Starts a server and waits until it answers. */
export async function startServer(options: ServerOptions = {}): Promise<TestServer> {
  const folder = await mkdtemp(join(tmpdir(), "tenure-"));
  const config = join(folder, "tenure.toml");
  await writeFile(config, `${options.config ?? ""}\n`);
  const server = new TestServer(options.binary ?? process.env.TENURE_BINARY ?? "tenure", folder);
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
  #address = "127.0.0.1:0";
  #process: ChildProcess | undefined;
  #client: Client | undefined;

  /** Use {@link startServer}.
   * @internal */
  constructor(binary: string, folder: string) {
    this.#binary = binary;
    this.#folder = folder;
  }

  /** Its address, which stays the same when it is started again. */
  get url(): string {
    return `http://${this.#address}`;
  }

  /** A client of this server. */
  get client(): Client {
    return (this.#client ??= new Client({ url: this.url }));
  }

  /** Starts it again after {@link shutDown} or {@link kill}, with the same data. */
  async start(): Promise<void> {
    const { TENURE_BINARY: _, ...env } = process.env;
    for (const name of FOREIGN) Reflect.deleteProperty(env, name);
    env.TENURE_ASSETS_STORE = `file:${join(this.#folder, "assets")}`;
    const args = ["serve", "--config", "tenure.toml", "--data", "data", "--listen", this.#address];
    const child = spawn(this.#binary, args, { cwd: this.#folder, env, stdio: ["ignore", "pipe", "pipe"] });
    const kill = () => child.kill("SIGKILL");
    process.once("exit", kill);
    child.once("exit", () => process.off("exit", kill));
    this.#process = child;
    this.#address = await printedAddress(child);
  }

  /** Sends SIGTERM and waits for the end; the data stays. */
  shutDown(): Promise<void> {
    return this.#end("SIGTERM");
  }

  /** Sends SIGKILL and waits for the end; the data stays. */
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
    const isLater = (job: wire.Job) => job.phase === "ready" && Date.parse(job.run_at) > Date.now();
    return pages.every(({ jobs }) => jobs.every(isLater));
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#process;
    this.#process = undefined;
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
