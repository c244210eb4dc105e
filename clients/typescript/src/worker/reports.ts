/** Reports of a worker as calls: each is sent once, and the server answers each separately. */

import { Problem, ProtocolError } from "../errors.js";
import type * as wire from "../generated.js";
import { decode } from "../transport.js";
import type { Transport } from "../transport.js";
import type { LeaseKey } from "./messages.js";

export class Reports {
  readonly #transport: Transport;
  readonly #worker: string;

  constructor(transport: Transport, worker: string) {
    this.#transport = transport;
    this.#worker = worker;
  }

  /** One answer or problem for each serialized report, in order. Of jobs the server sends only the ids. */
  async send<T = unknown>(reports: string[], timeout: number): Promise<(T | Problem)[]> {
    const body = `{"worker":${JSON.stringify(this.#worker)},"reports":[${reports.join(",")}]}`;
    const headers = { prefer: "return=minimal" };
    const { text } = await this.#transport.once({ method: "POST", path: "/api/reports", body, headers, timeout });
    const { results } = decode<wire.ReportResults>(text);
    if (results.length !== reports.length) throw new ProtocolError("another number of answers than reports");
    return results.map((result) => ("ok" in result ? (result.ok as T) : new Problem(result.error)));
  }

  heartbeats(leases: LeaseKey[], timeout: number): Promise<(wire.HeartbeatAnswer | Problem)[]> {
    return this.send(leases.map((lease) => JSON.stringify({ ...lease, verb: "heartbeat" })), timeout);
  }
}
