// A client of the door: posts actions, follows their log to the end, and checks that each lies in its tray.

import assert from "node:assert/strict";

const door = `${process.env.TENURE_URL ?? "http://127.0.0.1:7117"}/so1/api/jobs`;
const key = process.env.TENURE_KEY;

function call(method, path, body, more = {}) {
  const headers = { "content-type": "application/json", ...(key && { authorization: `Bearer ${key}` }), ...more };
  return fetch(door + path, { method, headers, body: body && JSON.stringify(body) });
}

async function post(path, body, headers) {
  const answer = await call("POST", path, body, headers);
  const said = await answer.json();
  assert.ok(answer.ok, `${said.code}: ${said.detail}`);
  return { ...said, http: answer.status };
}

// Server-sent events: blocks of `name: value`, with an empty line after each. The server closes after the last one.
async function* events(id) {
  const answer = await call("GET", `/${id}/stream`);
  let rest = "";
  for await (const piece of answer.body.pipeThrough(new TextDecoderStream())) {
    const blocks = (rest + piece).split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) {
      const fields = Object.fromEntries(block.split("\n").map((line) => line.split(/: ?(.*)/s, 2)));
      if (fields.data) yield { name: fields.event, data: JSON.parse(fields.data) };
    }
  }
}

// Prints the log while it grows; answers the one status that ends it.
async function follow(id, onLine = () => {}) {
  for await (const { name, data } of events(id)) {
    if (name === "status") return data;
    console.log(`  ${data.stream}: ${data.text}`);
    await onLine();
  }
}

const action = "trigger-workflow";

console.log("delivered: the workflow succeeds");
const again = { "idempotency-key": `ci-${process.pid}` };
const ci = await post("", { action, input: { workflow: "ci" } }, again);
assert.equal(ci.http, 202);
assert.equal(ci.state, "pending");
const same = await post("", { action, input: { workflow: "ci" } }, again);
assert.equal(same.id, ci.id, "the same key is the same job");
const delivered = await follow(ci.id);
assert.equal(delivered.state, "success");
assert.equal(delivered.output.conclusion, "success");

console.log("returned: the workflow fails, and a retry is a new job");
const broken = await post("", { action, input: { workflow: "broken" } });
assert.equal((await follow(broken.id)).state, "failed");
const retry = await post(`/${broken.id}/retry`, {});
assert.notEqual(retry.id, broken.id);
assert.equal(retry.retry_of, broken.id);
assert.equal((await follow(retry.id)).state, "failed");

console.log("recalled before any courier came");
const later = await post("", { action, input: { workflow: "ci" }, delay: "1h" });
const recalled = await post(`/${later.id}/cancel`, {});
assert.equal(recalled.state, "cancelled");
assert.equal(recalled.startedAt, null);
assert.ok(recalled.completedAt);

console.log("recalled on the way");
const deploy = await post("", { action, input: { workflow: "deploy" } });
const stopped = await follow(deploy.id, () => post(`/${deploy.id}/cancel`, {}));
assert.equal(stopped.state, "cancelled");
console.log("as README.md says");
