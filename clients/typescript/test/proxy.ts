/** A proxy between worker and server that delays, drops, doubles and cuts. */

import { once } from "node:events";
import { Agent, createServer, request as send } from "node:http";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { buffer } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";

/**
 * What happens to a request: `pass`; `lose`: the server gets it, but the answer is lost; `double`: the server gets it twice;
 * `{ delay }`: the answer is late by this many milliseconds; `{ status, headers }`: the proxy answers with a problem; `{ json }`: with this.
 */
export type Fault = "pass" | "lose" | "double" | { delay: number } | { json: object } | { status: number; code: string; headers: Record<string, string> };

export interface Seen {
  path: string;
  body: string;
  headers: IncomingMessage["headers"];
}

export class Proxy {
  /** Decides for each request. */
  fault: (request: Seen) => Fault = () => "pass";
  readonly seen: Seen[] = [];
  readonly #target: string;
  readonly #agent = new Agent({ keepAlive: false });
  readonly #sockets = new Set<Socket>();
  readonly #server: Server;
  #isCut = false;

  private constructor(target: string) {
    this.#target = target;
    this.#server = createServer((request, response) => {
      this.#handle(request, response).catch(() => response.destroy());
    });
    this.#server.on("connection", (socket) => {
      if (this.#isCut) return void socket.destroy();
      this.#sockets.add(socket);
      socket.on("close", () => this.#sockets.delete(socket)).on("error", () => socket.destroy());
    });
  }

  static async start(target: string): Promise<Proxy> {
    const proxy = new Proxy(target);
    proxy.#server.listen(0, "127.0.0.1");
    await once(proxy.#server, "listening");
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${String((this.#server.address() as AddressInfo).port)}`;
  }

  /** Requests to this path. */
  to(path: string): Seen[] {
    return this.seen.filter((request) => request.path === path);
  }

  /** Breaks every connection and refuses new ones. */
  cut(): void {
    this.#isCut = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  heal(): void {
    this.#isCut = false;
  }

  async close(): Promise<void> {
    this.cut();
    this.#server.close();
    await once(this.#server, "close");
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await buffer(request);
    const path = request.url ?? "";
    const seen = { path, body: body.toString(), headers: request.headers };
    this.seen.push(seen);
    const fault = this.fault(seen);
    const gone = new AbortController();
    response.on("close", () => {
      gone.abort();
    });
    if (typeof fault === "object" && "status" in fault) return refuse(response, fault);
    if (typeof fault === "object" && "json" in fault) return void response.end(JSON.stringify(fault.json));
    if (fault === "double") (await this.#forward(request, body, gone.signal)).resume();
    const answer = await this.#forward(request, body, gone.signal);
    if (fault === "lose") return void response.destroy();
    if (typeof fault === "object") await sleep(fault.delay);
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.on("error", () => response.destroy()).pipe(response);
  }

  async #forward({ method, url, headers }: IncomingMessage, body: Buffer, signal: AbortSignal): Promise<IncomingMessage> {
    const forwarded = { ...headers, host: new URL(this.#target).host, connection: "close" };
    const outgoing = send(this.#target + (url ?? ""), { method, headers: forwarded, agent: this.#agent, signal });
    outgoing.end(body);
    const [answer] = (await once(outgoing, "response")) as [IncomingMessage];
    return answer;
  }
}

function refuse(response: ServerResponse, { status, code, headers }: Extract<Fault, { status: number }>): void {
  const problem = { type: `/problems/${code}`, title: code, status, detail: "by the proxy", instance: "/", code };
  response.writeHead(status, { ...headers, "content-type": "application/problem+json" });
  response.end(JSON.stringify(problem));
}
