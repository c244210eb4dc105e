// The courier: takes one job at a time, runs its workflow, and sends every line as a line of the job's log.
// A worker needs nothing but a few calls over HTTP. If this process dies, its lease runs out and the job is `failed`.

import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

const url = process.env.TENURE_URL ?? "http://127.0.0.1:7117";
const key = process.env.TENURE_KEY;
const worker = `courier-${process.pid}`;

const node = process.execPath;
const workflows = {
  ci: [[node, "--check", "producer.mjs"], [node, "--eval", "console.log('producer.mjs: no flaw')"]],
  broken: [[node, "--eval", "console.error('a test fails'); process.exitCode = 3"]],
  deploy: [[node, "--eval", "console.log('waiting for the train'); setInterval(() => {}, 1000)"]],
};

async function call(path, body) {
  const headers = { "content-type": "application/json", ...(key && { authorization: `Bearer ${key}` }) };
  const answer = await fetch(url + path, { method: "POST", headers, body: JSON.stringify(body) });
  const said = await answer.json();
  if (!answer.ok) throw new Error(`${path}: ${said.code}: ${said.detail}`);
  return said;
}

// Runs one command; `line` gets everything it prints. Answers its exit code, which is null after a kill.
async function run([program, ...words], line, running) {
  const child = spawn(program, words, { stdio: ["ignore", "pipe", "pipe"] });
  running.child = child;
  const ended = new Promise((resolve) => child.on("close", resolve));
  const read = async (stream) => {
    for await (const text of createInterface({ input: child[stream] })) await line(stream, text);
  };
  await Promise.all([read("stdout"), read("stderr")]);
  return ended;
}

async function deliver(job) {
  // Every report carries the fence: if this lease is over, it is refused, whatever we believe.
  const report = (verb, more) => call(`/api/jobs/${job.id}/${verb}`, { worker, fence: job.lease.fence, ...more });
  const line = (stream, text) =>
    report("logs", { lines: [{ stream, level: stream === "stderr" ? "error" : "info", text }] });

  // A heartbeat keeps the lease, and its answer says whether someone wants the job cancelled.
  const running = { child: null, cancelled: false };
  const beat = setInterval(async () => {
    // A refusal means that the lease is over: what we do no longer counts.
    const { cancel } = await report("heartbeat").catch(() => ({ cancel: "hard" }));
    if (cancel) {
      running.cancelled = true;
      running.child?.kill();
    }
  }, 1000);

  try {
    for (const command of workflows[job.payload.workflow]) {
      const code = await run(command, line, running);
      if (running.cancelled) return await report("cancel-confirm");
      if (code !== 0) {
        const message = `a step ended with ${code}`;
        return await report("fail", { error: { code: "WORKFLOW_FAILED", message, class: "permanent" } });
      }
    }
    await report("succeed", { result: { workflow: job.payload.workflow, conclusion: "success" } });
  } finally {
    clearInterval(beat);
  }
}

for (;;) {
  // Waits at the server until there is work.
  const { jobs } = await call("/api/claims", { worker, types: ["trigger-workflow"], max: 1, wait: "20s" });
  for (const job of jobs) await deliver(job).catch((error) => console.log(error.message));
}
