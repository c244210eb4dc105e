// A front end: prints what happens to every job that it may see, while it happens.

const { io } = require("socket.io-client");

const url = process.env.TENURE_URL ?? "http://127.0.0.1:7117";
const socket = io(`${url}/jobs`, { auth: { token: process.env.TENURE_KEY }, transports: ["websocket"] });

socket.on("connect", () => console.log("watching"));
socket.on("connect_error", (error) => console.log(error.message));
socket.onAny((name, fields) => {
  // The same events also come under their old names (`job_started`), for front ends that still know only those.
  if (name.startsWith("JOB_")) console.log(name, JSON.stringify(fields));
});
