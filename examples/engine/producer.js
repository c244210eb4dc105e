// Submits jobs to the lifecycle API at /engine/jobs and prints the answers.

const assert = require("node:assert/strict");

const url = process.env.TENURE_URL ?? "http://127.0.0.1:7117";
const key = process.env.TENURE_KEY;

async function submit(jobType, payload) {
  const headers = { "content-type": "application/json", ...(key && { authorization: `Bearer ${key}` }) };
  const body = JSON.stringify({ jobType, userId: "user_123", payload });
  const response = await fetch(`${url}/engine/jobs`, { method: "POST", headers, body });
  const answer = await response.json();
  console.log(jobType, response.status, response.ok ? `${answer.status} ${answer.jobId}` : answer.detail);
  return response.status;
}

async function main() {
  assert.equal(await submit("BUILD_SCENE", { name: "stairs", cubes: [[0, 0, 0], [1, 1, 0], [2, 2, 0]] }), 202);
  assert.equal(await submit("LOAD_ASSETS", { textures: ["stone.png", "corrupted_texture.png"] }), 202);
  // No name: refused before it is queued, so no job is created.
  assert.equal(await submit("BUILD_SCENE", { cubes: [] }), 422);
  assert.equal(await submit("SPAWN_ENTITY", { entity: "black_hole" }), 202);
}

main();
