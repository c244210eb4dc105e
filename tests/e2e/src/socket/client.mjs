// A Socket.IO client that is controlled by JSON lines: commands on stdin, events on stdout.
// The official client; SOCKET_CLIENT is the folder in which it is installed.
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const { io } = createRequire(process.env.SOCKET_CLIENT + "/")("socket.io-client");
const send = (message) => process.stdout.write(JSON.stringify(message) + "\n");
let socket;
let answers = 0;

const emit = (args) => {
  const number = answers++;
  const plain = args.map((arg) => (arg && arg.binary ? Buffer.from(arg.binary) : arg));
  socket.emit(...plain, (answer) => send({ answer: number, data: answer }));
};

const commands = {
  connect: ({ url, auth, ...options }) => {
    socket = io(url, { auth, forceNew: true, reconnection: false, ...options });
    socket.on("connect", () => send({ connected: true }));
    socket.on("connect_error", (error) => send({ connect_error: error.message }));
    socket.on("disconnect", (reason) => send({ disconnected: reason }));
    socket.onAny((event, data) => send({ event, data }));
  },
  emit: (many) => many.forEach(emit),
  disconnect: () => socket.disconnect(),
  // Emits an event and disconnects before it is acknowledged.
  emit_and_disconnect: (args) => {
    socket.emit(...args);
    socket.disconnect();
  },
  exit: () => process.exit(0),
};

createInterface({ input: process.stdin })
  .on("line", (line) => {
    for (const [name, data] of Object.entries(JSON.parse(line))) commands[name](data);
  })
  .on("close", () => process.exit(0));
