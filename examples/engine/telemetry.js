// A front end: prints the events of every job that it may see, live.

const { io } = require("socket.io-client");

const url = process.env.TENURE_URL ?? "http://127.0.0.1:7117";
const socket = io(`${url}/jobs`, { auth: { token: process.env.TENURE_KEY }, transports: ["websocket"] });

socket.on("connect", () => console.log("watching"));
socket.on("connect_error", (error) => console.log(error.message));
socket.onAny((name, fields) => {
  // Each event is also sent under its old name (`job_started`), for front ends that have not been updated.
  if (name.startsWith("JOB_")) console.log(name, JSON.stringify(fields));
});
