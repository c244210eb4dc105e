// The worker: takes one job at a time, runs its workflow, and sends its output as the job's log.
// A worker only needs a few HTTP calls. If this process dies, its lease expires and the job is `failed`.

import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";

const url = process.env.TENURE_URL ?? "http://127.0.0.1:7117";
const key = process.env.TENURE_KEY;
const worker = `worker-${process.pid}`;

const node = process.execPath;
const workflows = {
  ci: [[node, "--check", "producer.mjs"], [node, "--eval", "console.log('producer.mjs: no errors')"]],
  broken: [[node, "--eval", "console.error('a test fails'); process.exitCode = 3"]],
  deploy: [[node, "--eval", "console.log('deploying'); setInterval(() => {}, 1000)"]],
};

// Repeats the call until it has a definite answer, so that the worker survives a restart of the server. The key lets the server
// recognise a repeat of what it has done; a repeated claim has its `request_id`.
async function call(path, body) {
  const headers = { "content-type": "application/json", ...(key && { authorization: `Bearer ${key}` }) };
  if (!body.request_id) headers["idempotency-key"] = randomUUID();
  for (;;) {
    const response = await fetch(url + path, { method: "POST", headers, body: JSON.stringify(body) }).catch(() => null);
    const answer = await response?.json().catch(() => null);
    if (answer && response.ok) return answer;
    if (answer && response.status !== 503) throw new Error(`${path}: ${answer.code}: ${answer.detail}`);
    await sleep(500);
  }
}

// Runs one command and passes its output to `line`. Returns its exit code, which is null after a kill.
async function run([program, ...args], line, running) {
  const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"] });
  running.child = child;
  const ended = new Promise((resolve) => child.on("close", resolve));
  const read = async (stream) => {
    for await (const text of createInterface({ input: child[stream] })) await line(stream, text);
  };
  await Promise.all([read("stdout"), read("stderr")]);
  return ended;
}

async function runJob(job) {
  // Every report carries the fence: the server refuses reports under an expired lease.
  const report = (verb, more) => call(`/api/jobs/${job.id}/${verb}`, { worker, fence: job.lease.fence, ...more });
  const line = (stream, text) =>
    report("logs", { lines: [{ stream, level: stream === "stderr" ? "error" : "info", text }] });

  // A heartbeat renews the lease, and its answer says whether a cancel was requested.
  const running = { child: null, cancelled: false };
  const heartbeat = setInterval(async () => {
    // A refusal means that the lease has ended: stop the work.
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
        const message = `a step exited with ${code}`;
        return await report("fail", { error: { code: "WORKFLOW_FAILED", message, class: "permanent" } });
      }
    }
    await report("succeed", { result: { workflow: job.payload.workflow, conclusion: "success" } });
  } finally {
    clearInterval(heartbeat);
  }
}

for (;;) {
  // The server answers when there is work, or after 20 s.
  const claim = { worker, types: ["trigger-workflow"], max: 1, wait: "20s", request_id: randomUUID() };
  const { jobs } = await call("/api/claims", claim);
  for (const job of jobs) await runJob(job).catch((error) => console.log(error.message));
}
