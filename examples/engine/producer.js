// Submits jobs at the engine's own door, in its own words, and says what it got.

const assert = require("node:assert/strict");

const url = process.env.TENURE_URL ?? "http://127.0.0.1:7117";
const key = process.env.TENURE_KEY;

async function submit(jobType, payload) {
  const headers = { "content-type": "application/json", ...(key && { authorization: `Bearer ${key}` }) };
  const body = JSON.stringify({ jobType, userId: "user_123", payload });
  const answer = await fetch(`${url}/engine/jobs`, { method: "POST", headers, body });
  const said = await answer.json();
  console.log(jobType, answer.status, answer.ok ? `${said.status} ${said.jobId}` : said.detail);
  return answer.status;
}

async function main() {
  assert.equal(await submit("BUILD_SCENE", { name: "stairs", cubes: [[0, 0, 0], [1, 1, 0], [2, 2, 0]] }), 202);
  assert.equal(await submit("LOAD_ASSETS", { textures: ["stone.png", "corrupted_texture.png"] }), 202);
  // No name: refused before it is queued, so there is no job that could fail.
  assert.equal(await submit("BUILD_SCENE", { cubes: [] }), 422);
  assert.equal(await submit("SPAWN_ENTITY", { entity: "black_hole" }), 202);
}

main();
