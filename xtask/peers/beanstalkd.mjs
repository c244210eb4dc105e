// beanstalkd: its text protocol. Callers share a connection and pipeline their requests. A waiting `reserve` blocks its
// connection, so the worker has several.
import { connect } from "node:net";
import { measure } from "./measure.mjs";

const CONSUMERS = 16;
let address, producer, consumers;

/** A connection whose requests are answered in order. */
function open() {
  const socket = connect(address);
  socket.setNoDelay(true);
  const waiting = [];
  let buffer = Buffer.alloc(0);
  socket.on("data", (data) => {
    buffer = buffer.length ? Buffer.concat([buffer, data]) : data;
    let at = 0;
    for (;;) {
      const end = buffer.indexOf("\r\n", at);
      if (end < 0) break;
      const line = buffer.toString("latin1", at, end);
      let next = end + 2;
      let body;
      if (line.startsWith("RESERVED")) {
        const bytes = Number(line.split(" ")[2]);
        if (buffer.length < next + bytes + 2) break;
        body = buffer.toString("utf8", next, next + bytes);
        next += bytes + 2;
      }
      at = next;
      waiting.shift()({ line, body });
    }
    buffer = buffer.subarray(at);
  });
  const call = (request) => new Promise((done) => { waiting.push(done); socket.write(request); });
  return { call, socket };
}

async function put(payload) {
  const body = JSON.stringify(payload);
  const { line } = await producer.call(`put 0 0 120 ${Buffer.byteLength(body)}\r\n${body}\r\n`);
  if (!line.startsWith("INSERTED")) throw new Error(line);
}

await measure({
  async open(url) {
    const { hostname: host, port } = new URL(url);
    address = { host, port: Number(port) };
    producer = open();
    consumers = Array.from({ length: CONSUMERS }, open);
    const tube = `peer-${process.pid}`;
    await producer.call(`use ${tube}\r\n`);
    for (const consumer of consumers) {
      await consumer.call(`watch ${tube}\r\n`);
      await consumer.call("ignore default\r\n");
    }
  },
  add: put,
  addMany: (payloads) => Promise.all(payloads.map(put)),
  async work(handler) {
    const take = async (consumer) => {
      for (;;) {
        const { line, body } = await consumer.call("reserve\r\n");
        handler(JSON.parse(body));
        await consumer.call(`delete ${line.split(" ")[1]}\r\n`);
      }
    };
    consumers.forEach(take);
  },
  async close() {
    for (const { socket } of [producer, ...consumers]) socket.destroy();
  },
});
