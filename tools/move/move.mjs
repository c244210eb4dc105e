// Creates the waiting jobs of another system in Tenure, and removes each from its source once it is acknowledged.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";

export const BATCH = 100;
const ATTEMPTS_MAX = 1000;
const PRIORITY_MAX = 1_000_000;
const ROUNDS_MAX = 60;

/** Counts, and moves one page after another. */
export class Move {
  moved = 0;
  repeated = 0;
  left = 0;

  constructor({ dryRun }) {
    this.dryRun = dryRun;
  }

  /**
   * Moves a page of `{ id, job }`, or `{ id, reason }` for what cannot be moved, and returns how many are still in the source.
   * `remove` gets the acknowledged entries and returns the ids of those that a worker has taken meanwhile.
   */
  async page(entries, remove) {
    const left = this.left;
    const jobs = entries.filter(({ job }) => job);
    for (const { id, reason } of entries.filter(({ job }) => !job)) this.leave(id, reason);
    if (this.dryRun) {
      this.moved += jobs.length;
      return entries.length;
    }
    const results = await create(jobs.map(({ job }) => job));
    const created = jobs.filter((_, at) => results[at].ok);
    const taken = new Set(await remove(created));
    jobs.forEach(({ id }, at) => {
      const { ok, error } = results[at];
      if (error) this.leave(id, `${error.code}: ${error.detail}`);
      else if (taken.has(id)) this.leave(id, `a worker took it meanwhile; cancel its copy in Tenure, job ${ok.id}`);
      else {
        this.moved += 1;
        this.repeated += ok.replayed ? 1 : 0;
      }
    });
    return this.left - left;
  }

  leave(id, reason) {
    this.left += 1;
    console.error(`left ${id}: ${reason}`.replace(/\p{C}/gu, "?"));
  }

  /** Runs the work, prints the summary and sets the exit code. */
  async run(work) {
    let isComplete = true;
    try {
      await work();
    } catch (error) {
      console.error(`stopped: ${error.cause?.message ?? error.message}\nhelp: run it again with the same options`);
      isComplete = false;
    }
    console.log(
      this.dryRun
        ? `would move ${this.moved} and leave ${this.left}; nothing was changed`
        : `moved ${this.moved}, of which ${this.repeated} were already in Tenure; left ${this.left}`,
    );
    process.exitCode = isComplete && this.left === 0 ? 0 : 1;
  }
}

/** The same for the same job of the source, so that it is created once however often the script runs. */
export const keyOf = (...parts) => `${parts[0]}-${createHash("sha256").update(parts.join("\n")).digest("hex")}`;
export const attempts = (count) => Math.min(ATTEMPTS_MAX, Math.max(1, count));
export const priority = (value) => Math.min(PRIORITY_MAX, Math.max(-PRIORITY_MAX, value));

/** The options and the names of the queues; prints how the script is used if something is wrong. */
export function parse(usage, options) {
  try {
    const all = { ...options, "dry-run": { type: "boolean", default: false }, help: { type: "boolean" } };
    const { values, positionals } = parseArgs({ allowPositionals: true, options: all });
    if (!values.help && positionals.length > 0) return { values, queues: positionals };
    console.log(usage);
    process.exit(values.help ? 0 : 2);
  } catch (error) {
    end(`${error.message}\n\n${usage}`);
  }
}

/** Ends before anything was changed. */
export function end(message) {
  console.error(message);
  process.exit(2);
}

/** A result for each job, `{ ok }` or `{ error }`. Waits while the server refuses because of its load. */
async function create(jobs) {
  const results = [];
  let pending = jobs.map((_, at) => at);
  for (let round = 1; pending.length > 0 && round <= ROUNDS_MAX; round += 1) {
    const answers = await createOnce(pending.map((at) => jobs[at]));
    pending.forEach((at, index) => (results[at] = answers[index]));
    pending = pending.filter((at) => [429, 503].includes(results[at].error?.status));
    if (pending.length > 0) await new Promise((done) => setTimeout(done, 1000));
  }
  return results;
}

async function createOnce(jobs) {
  const server = process.env.TENURE_URL || "http://127.0.0.1:7117";
  const answer = await fetch(`${server.replace(/\/$/, "")}/api/jobs/batch`, {
    method: "POST",
    headers: { "content-type": "application/json", prefer: "return=minimal", ...authorization() },
    body: JSON.stringify({ jobs }),
  });
  const body = await answer.json();
  if (answer.ok) return body.results;
  if ([401, 403].includes(answer.status)) throw new Error(`${body.code}: ${body.detail}`);
  if (jobs.length === 1) return [{ error: body }];
  // The request as a whole was refused, for example because it was too large.
  const results = [];
  for (const job of jobs) results.push(...(await createOnce([job])));
  return results;
}

function authorization() {
  const file = process.env.TENURE_KEY_FILE;
  const key = process.env.TENURE_KEY || (file && readFileSync(file, "utf8").trim());
  return key ? { authorization: `Bearer ${key}` } : {};
}
