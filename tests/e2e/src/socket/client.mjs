// A Socket.IO client on strings: told what to do by JSON lines on stdin, tells what happens by JSON lines on stdout.
// The official client; SOCKET_CLIENT is the folder in which it is installed.
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const { io } = createRequire(process.env.SOCKET_CLIENT + "/")("socket.io-client");
const say = (what) => process.stdout.write(JSON.stringify(what) + "\n");
let socket;
let answers = 0;

const emit = (args) => {
  const number = answers++;
  const plain = args.map((arg) => (arg && arg.binary ? Buffer.from(arg.binary) : arg));
  socket.emit(...plain, (answer) => say({ answer: number, data: answer }));
};

const todo = {
  connect: ({ url, auth, ...options }) => {
    socket = io(url, { auth, forceNew: true, reconnection: false, ...options });
    socket.on("connect", () => say({ connected: true }));
    socket.on("connect_error", (error) => say({ connect_error: error.message }));
    socket.on("disconnect", (reason) => say({ disconnected: reason }));
    socket.onAny((event, data) => say({ event, data }));
  },
  emit: (many) => many.forEach(emit),
  disconnect: () => socket.disconnect(),
  // Says its last word and is gone before it can be answered.
  emit_and_disconnect: (args) => {
    socket.emit(...args);
    socket.disconnect();
  },
  exit: () => process.exit(0),
};

createInterface({ input: process.stdin })
  .on("line", (line) => {
    for (const [what, data] of Object.entries(JSON.parse(line))) todo[what](data);
  })
  .on("close", () => process.exit(0));
