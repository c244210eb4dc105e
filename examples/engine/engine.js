// An engine: Tenure pushes jobs to it over the socket. It writes scenes to files that any 3D program can open.

const { writeFileSync } = require("node:fs");
const { join } = require("node:path");
const { io } = require("socket.io-client");

const url = process.env.TENURE_URL ?? "http://127.0.0.1:7117";
const [folder = "."] = process.argv.slice(2);

// The corners of a cube, and its faces as corner numbers.
const CORNERS = [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [1, 1, 1], [0, 1, 1]];
const FACES = [[1, 4, 3, 2], [5, 6, 7, 8], [1, 2, 6, 5], [2, 3, 7, 6], [3, 4, 8, 7], [4, 1, 5, 8]];

const work = {
  async BUILD_SCENE({ name, cubes }, progress) {
    const lines = [`o ${name}`];
    for (const [number, at] of cubes.entries()) {
      for (const corner of CORNERS) lines.push(`v ${corner.map((value, axis) => value + at[axis]).join(" ")}`);
      for (const face of FACES) lines.push(`f ${face.map((corner) => corner + 8 * number).join(" ")}`);
      await progress(Math.round((100 * (number + 1)) / cubes.length));
    }
    const file = join(folder, `${name}.obj`);
    writeFileSync(file, lines.join("\n") + "\n");
    return { file, cubes: cubes.length };
  },

  async LOAD_ASSETS({ textures }) {
    const bad = textures.find((texture) => texture.startsWith("corrupted"));
    if (bad) throw new Error(`BAD_ASSET: ${bad}`);
    return { loaded: textures.length };
  },

  async SPAWN_ENTITY({ entity }) {
    // An engine can die at any moment. Its job must not get lost.
    if (entity === "black_hole") process.exit(1);
    return { entity };
  },
};

const socket = io(`${url}/engine`, {
  auth: { token: process.env.TENURE_KEY, engineId: "engine_local_01", jobTypes: Object.keys(work), capacity: 1 },
  transports: ["websocket"],
});
socket.on("connect", () => console.log("connected"));
socket.on("connect_error", (error) => console.log(error.message));

// Renews every lease that this engine holds; an engine without heartbeats loses its jobs.
setInterval(() => socket.connected && socket.emit("heartbeat", {}), 5000);

socket.on("job_dispatch", async ({ jobId, jobType, payload, fence }) => {
  // Every report is acknowledged, with success or with an error.
  const report = async (event, more) => {
    const { error } = await socket.emitWithAck(event, { jobId, fence, ...more });
    if (error) throw new Error(`${error.code}: ${error.detail}`);
  };
  try {
    await report("job_ack");
    const result = await work[jobType](payload, (progress) => report("job_progress", { progress }));
    await report("job_complete", { result });
  } catch (error) {
    console.log(`${jobId}: ${error.message}`);
    socket.emit("job_failed", { jobId, fence, error: error.message });
  }
});
