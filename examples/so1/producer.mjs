// A client of the lifecycle API at /so1/api/jobs: posts actions, follows their logs, and checks their final states.

import assert from "node:assert/strict";

const mount = `${process.env.TENURE_URL ?? "http://127.0.0.1:7117"}/so1/api/jobs`;
const key = process.env.TENURE_KEY;

function call(method, path, body, more = {}) {
  const headers = { "content-type": "application/json", ...(key && { authorization: `Bearer ${key}` }), ...more };
  return fetch(mount + path, { method, headers, body: body && JSON.stringify(body) });
}

async function post(path, body, headers) {
  const response = await call("POST", path, body, headers);
  const answer = await response.json();
  assert.ok(response.ok, `${answer.code}: ${answer.detail}`);
  return { ...answer, http: response.status };
}

// Server-sent events: blocks of `name: value`, each followed by an empty line. The server closes the stream after the last one.
async function* events(id) {
  const response = await call("GET", `/${id}/stream`);
  let rest = "";
  for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
    const blocks = (rest + piece).split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) {
      const fields = Object.fromEntries(block.split("\n").map((line) => line.split(/: ?(.*)/s, 2)));
      if (fields.data) yield { name: fields.event, data: JSON.parse(fields.data) };
    }
  }
}

// Prints the log as it grows; returns the final status.
async function follow(id, onLine = () => {}) {
  for await (const { name, data } of events(id)) {
    if (name === "status") return data;
    console.log(`  ${data.stream}: ${data.text}`);
    await onLine();
  }
}

const action = "trigger-workflow";

console.log("the workflow succeeds");
const again = { "idempotency-key": `ci-${process.pid}` };
const ci = await post("", { action, input: { workflow: "ci" } }, again);
assert.equal(ci.http, 202);
assert.equal(ci.state, "pending");
const same = await post("", { action, input: { workflow: "ci" } }, again);
assert.equal(same.id, ci.id, "the same key returns the same job");
const succeeded = await follow(ci.id);
assert.equal(succeeded.state, "success");
assert.equal(succeeded.output.conclusion, "success");

console.log("the workflow fails, and a retry is a new job");
const broken = await post("", { action, input: { workflow: "broken" } });
assert.equal((await follow(broken.id)).state, "failed");
const retry = await post(`/${broken.id}/retry`, {});
assert.notEqual(retry.id, broken.id);
assert.equal(retry.retry_of, broken.id);
assert.equal((await follow(retry.id)).state, "failed");

console.log("cancelled before a worker claims it");
const later = await post("", { action, input: { workflow: "ci" }, delay: "1h" });
const cancelled = await post(`/${later.id}/cancel`, {});
assert.equal(cancelled.state, "cancelled");
assert.equal(cancelled.startedAt, null);
assert.ok(cancelled.completedAt);

console.log("cancelled while running");
const deploy = await post("", { action, input: { workflow: "deploy" } });
const stopped = await follow(deploy.id, () => post(`/${deploy.id}/cancel`, {}));
assert.equal(stopped.state, "cancelled");
console.log("all checks passed");
