// Tenure through its SDK for TypeScript, whose built module is PEER_SDK.
import { pathToFileURL } from "node:url";
import { measure } from "./measure.mjs";

const { Client, Worker } = await import(pathToFileURL(process.env.PEER_SDK));
const type = `peer-${process.pid}`;
const drain = new AbortController();
let client, slots, ended;

await measure({
  async open(url, plan) {
    client = new Client({ url });
    slots = plan.slots;
  },
  add: (payload) => client.create({ type, payload }),
  addMany: (payloads) => client.createMany(payloads.map((payload) => ({ type, payload }))),
  async work(handler) {
    ended = new Worker({ client, slots }).on(type, async (job) => handler(job.payload)).run({ signal: drain.signal });
  },
  async close() {
    drain.abort();
    await ended;
  },
});
