/** The client: a method for each call of the API. */

import { readFileSync } from "node:fs";

import { change, get, pathOf, put, remove, spans, withQuery } from "./calls.js";
import type { Query, WithDurations } from "./calls.js";
import { Coalescer, JOB_CHARS_MAX } from "./coalesce.js";
import type { CreationTransport } from "./coalesce.js";
import { toMillis, toSpan } from "./duration.js";
import type { Duration } from "./duration.js";
import { Problem, ProtocolError } from "./errors.js";
import { sentEvents } from "./follow.js";
import type { StreamRequest } from "./follow.js";
import type * as wire from "./generated.js";
import { freshId, generatedKey } from "./ids.js";
import { Limit } from "./limit.js";
import { Transport, decode, retrying, uploadTimeout, wait } from "./transport.js";
import type { SentEvent } from "./sse.js";
import type { Content, Request } from "./transport.js";

/** The address of a server with default settings. */
export const DEFAULT_URL = "http://127.0.0.1:7117";

const MINIMAL = { prefer: "return=minimal" };
/** Milliseconds between two looks at a request in SQL that no node has taken in. That takes milliseconds while one runs. */
const LOOK_PAUSE = 100;
/** Behind the last line of every log: the stream then begins with the final status. */
const AFTER_ALL_LINES = "9".repeat(18);

export interface ClientOptions {
  /** Default: `TENURE_URL`, or else {@link DEFAULT_URL}. */
  url?: string | undefined;
  /** A key or a JWT. Default: `TENURE_KEY`, or else the file that `TENURE_KEY_FILE` names. */
  key?: string | undefined;
  /** Whether concurrent `create` and `enqueue` calls travel together. Default: `true`. */
  coalesce?: boolean | undefined;
}

/**
 * A job to create. Without an `idempotency_key` the client makes one, so that it can repeat a call whose answer was lost.
 * With `null` none is sent: the key that the lifecycle derives decides which jobs are the same.
 */
export type NewJob = WithDurations<wire.NewBatchJob, "delay">;

export interface CreateOptions {
  /** The W3C trace context that the job continues. A job with one travels alone. */
  traceparent?: string;
}

/** The holder of a lease: part of every report of a worker about a job. */
export interface Holder {
  worker: string;
  fence: number;
}

/** What a followed job produces: the lines of its log, then its final status. */
export type Followed = { type: "log"; line: wire.LogLine } | { type: "status"; status: FinalStatus };

/** How a job ended. */
export interface FinalStatus {
  job_id: string;
  state: string;
  outcome: wire.Outcome;
  output: unknown;
  error: wire.JobError | null;
}

export interface Options {
  signal?: AbortSignal | undefined;
}

/** A client of a Tenure server. Nothing is sent before the first call. */
export class Client {
  readonly #http: Transport;
  readonly #whole: Coalescer<wire.JobAnswer> | undefined;
  readonly #brief: Coalescer<wire.JobBrief> | undefined;

  constructor({ url, key, coalesce = true }: ClientOptions = {}) {
    this.#http = new Transport({ url: checkedUrl(url ?? variable("TENURE_URL") ?? DEFAULT_URL), key: checkedKey(key ?? keyFromEnv()) });
    if (coalesce) {
      this.#whole = new Coalescer(this.#creations<wire.JobAnswer>({}));
      this.#brief = new Coalescer(this.#creations<wire.JobBrief>(MINIMAL));
    }
  }

  /** The server's address, without a trailing slash. */
  get url(): string {
    return this.#http.target.url;
  }

  /** For the worker, which has separate connections.
   * @internal */
  get transport(): Transport {
    return this.#http;
  }

  /** Any call: the answer's JSON, null if it has no body. With a key it takes effect once and is retried like a GET. */
  call<T = unknown>(method: Request["method"], path: string, body?: unknown, key?: string): Promise<T> {
    return this.#http.json({ method, path, body: body === undefined ? undefined : JSON.stringify(body), key });
  }

  // Jobs.

  /** Creates a job, or returns the one that has its key, with `replayed`. Concurrent calls travel together. */
  create(job: NewJob, options?: CreateOptions): Promise<wire.JobAnswer> {
    return this.#create(this.#whole, job, {}, options);
  }

  /** Like {@link create}, but the server sends only the job's id. */
  enqueue(job: NewJob, options?: CreateOptions): Promise<wire.JobBrief> {
    return this.#create(this.#brief, job, MINIMAL, options);
  }

  /** Creates up to 10,000 jobs, each independently: a job or a {@link Problem} for each, in order. */
  createMany(jobs: NewJob[]): Promise<(wire.JobAnswer | Problem)[]> {
    const bodies = jobs.map((job) => {
      const { body, key } = keyed(job);
      return batchItem(body, key);
    });
    const isKeyedInside = jobs.every((job) => job.idempotency_key !== null);
    return this.#batch({ bodies, isKeyedInside }, (request) => this.#http.repeated(request));
  }

  /** A job, or the request in SQL with this id, whose `state` is null: not taken in yet, refused, or merged. */
  get(job: string): Promise<wire.Job | wire.JobRequest> {
    return get(this.#http, "/api/jobs/{id}", [job]);
  }

  /** Jobs, newest first; with `phase: "refused"` requests in SQL that were refused. */
  list(query: Query<"/api/jobs"> = {}): Promise<{ jobs: (wire.Job | wire.JobRequest)[]; next_cursor: string | null }> {
    return get(this.#http, "/api/jobs", [], query);
  }

  /** The events of a job in order; with `telemetry` also its heartbeats, renewals and progress. */
  async *history(job: string, options: { telemetry?: boolean } = {}): AsyncGenerator<wire.Event | wire.Telemetry, void> {
    let cursor: string | null | undefined;
    do {
      const query = { ...options, ...(cursor ? { cursor } : {}) };
      const page = await get(this.#http, "/api/jobs/{id}/events", [job], query);
      yield* page.events;
      cursor = page.next_cursor;
    } while (cursor);
  }

  /** The job as it was after this many transitions. */
  replay(job: string, seq: number): Promise<wire.Job> {
    return get(this.#http, "/api/jobs/{id}/replay", [job], { seq });
  }

  /** Why a job is in its state, and what can happen next. */
  explain(job: string): Promise<wire.Explanation> {
    return get(this.#http, "/api/jobs/{id}/explain", [job]);
  }

  /** A token with which a browser opens the stream of this job, and nothing else, for 5 minutes and its reconnects. */
  streamToken(job: string): Promise<wire.StreamToken> {
    return change(this.#http, "/api/jobs/{id}/stream-token", [job], undefined);
  }

  /** Cancels a job. `soft` asks its worker to stop and is the default. */
  cancel(job: string, body: wire.Cancel = {}): Promise<wire.JobAnswer> {
    return change(this.#http, "/api/jobs/{id}/cancel", [job], body);
  }

  /** Changes values of a job that no worker holds. With `ifSeq` it is refused unless that is the job's `seq`. */
  amend(job: string, body: wire.Amend, ifSeq?: number): Promise<wire.JobAnswer> {
    const headers = { "if-match": ifSeq?.toString() };
    const path = pathOf("/api/jobs/{id}", job);
    return this.#http.json({ method: "PATCH", path, body: JSON.stringify(body), key: freshId(), headers });
  }

  /** Creates a new job like this finished one, with `retry_of`. */
  retry(job: string): Promise<wire.JobAnswer> {
    return change(this.#http, "/api/jobs/{id}/retry", [job], undefined) as Promise<wire.JobAnswer>;
  }

  /** Sends a signal that the job's lifecycle declares. */
  signal(job: string, name: string, body: wire.Signal = {}): Promise<wire.JobAnswer> {
    return change(this.#http, "/api/jobs/{id}/signals/{name}", [job, name], body);
  }

  /** Gives a job up, with a reason such as `policy_violation`. */
  deadLetter(job: string, body: wire.GiveUp): Promise<wire.JobAnswer> {
    return change(this.#http, "/api/jobs/{id}/dead-letter", [job], body);
  }

  /** Deletes a finished job, with everything that belongs to it. */
  delete(job: string): Promise<wire.Job> {
    return remove(this.#http, "/api/jobs/{id}", [job]);
  }

  /** Cancels, retries or deletes every job that matches; with `dry_run` it only counts them. */
  act(body: wire.JobAction): Promise<wire.ActionResults> {
    return change(this.#http, "/api/jobs/actions", [], body);
  }

  /**
   * Follows a job: its log from the start, then its final status. A request in SQL is followed as the job that it becomes or that answers
   * it; its refusal is thrown.
   */
  async *follow(job: string, { signal }: Options = {}): AsyncGenerator<Followed, void> {
    for await (const { name, text } of this.#jobEvents(job, { signal })) {
      if (name === "log") yield { type: "log", line: decode<wire.LogLine>(text) };
      if (name !== "status") continue;
      yield { type: "status", status: decode<FinalStatus>(text) };
      return;
    }
  }

  /**
   * Waits until a job has finished. After the timeout it throws a `TimeoutError`; without one it waits also while the server cannot be
   * reached. For a request in SQL it waits for the job that it becomes or that answers it; its refusal is thrown.
   */
  async wait(job: string, timeout?: Duration, { signal }: Options = {}): Promise<wire.Job> {
    const limit = new Limit(timeout === undefined ? null : toMillis(timeout), signal);
    const found = { id: job };
    const stream = { lastId: AFTER_ALL_LINES, signal: limit.signal, outageMax: Infinity };
    try {
      for await (const { name } of this.#jobEvents(job, stream, (id) => (found.id = id))) if (name === "status") break;
    } finally {
      limit.release();
    }
    return (await this.get(found.id)) as wire.Job;
  }

  /** The stream of a job, or of the job behind a request in SQL, whose id is passed to `onFound`. */
  async *#jobEvents(
    job: string,
    stream: Omit<StreamRequest, "path">,
    onFound: (id: string) => void = () => undefined,
  ): AsyncGenerator<SentEvent, void> {
    for (let id = job; ; onFound(id)) {
      try {
        return yield* sentEvents(this.#http, { path: pathOf("/api/jobs/{id}/stream", id), ...stream });
      } catch (error) {
        if (!(error instanceof Problem && error.status === 404)) throw error;
        id = await this.#jobBehind(job, id, error, stream.signal);
      }
    }
  }

  /** After the stream of `sought` was not found: the job that a request in SQL became, as soon as a node has taken it in, or that answers it. */
  async #jobBehind(request: string, sought: string, missing: Problem, signal: AbortSignal | undefined): Promise<string> {
    for (;;) {
      const found = await this.get(request);
      if (found.state !== null) return found.id;
      if (found.problem) throw new Problem(found.problem);
      if (found.phase !== "intake") {
        // The job that answers it is deleted, or the caller may not see it.
        if (found.job_id === undefined || found.job_id === sought) throw missing;
        return found.job_id;
      }
      await wait(LOOK_PAUSE, signal);
    }
  }

  /** Follows the journal after a cursor, or from its beginning, without end. Each event has the cursor after it. */
  async *events(
    after?: string,
    { signal, ...filter }: Options & Omit<Query<"/api/events">, "after" | "limit"> = {},
  ): AsyncGenerator<{ event: wire.Event; cursor: string }, void> {
    for await (const { id, text } of sentEvents(this.#http, { path: withQuery("/api/events", filter), lastId: after, signal })) {
      if (id) yield { event: decode<wire.Event>(text), cursor: id };
    }
  }

  /** A page of the journal. Its `next_cursor` is always set. */
  journal(query: Query<"/api/events"> = {}): Promise<{ events: wire.Event[]; next_cursor: string }> {
    return get(this.#http, "/api/events", [], query);
  }

  // Logs and assets.

  /** Lines of a job's log after the one with this number; from the start without a number. */
  logs(job: string, query: Query<"/api/jobs/{id}/logs"> = {}): Promise<{ lines: wire.LogLine[]; next_cursor: string | null }> {
    return get(this.#http, "/api/jobs/{id}/logs", [job], query);
  }

  /** Appends to a job's log: as its holder, or as its owner or an operator. The same key again appends nothing twice. */
  appendLogs(job: string, lines: wire.LogLineGiven[], holder?: Holder, key = freshId()): Promise<wire.LogCount> {
    return change(this.#http, "/api/jobs/{id}/logs", [job], { ...holder, lines }, { key });
  }

  /** A job's assets, newest first. */
  assets(job: string, query: Query<"/api/jobs/{id}/assets"> = {}): Promise<{ assets: wire.Asset[]; next_cursor: string | null }> {
    return get(this.#http, "/api/jobs/{id}/assets", [job], query);
  }

  asset(job: string, asset: string): Promise<wire.Asset> {
    return get(this.#http, "/api/jobs/{id}/assets/{asset}", [job, asset]);
  }

  /**
   * Uploads an asset. Its type is by default the extension of its name, or `file`. Each try may take 30 seconds, and one second more for
   * each 16 KiB.
   */
  upload(
    job: string,
    name: string,
    content: Content,
    { type, holder, key = freshId() }: { type?: string | undefined; holder?: Holder; key?: string } = {},
  ): Promise<wire.Asset> {
    const query = { asset_type: type ?? extension(name), name, ...holder };
    const path = withQuery(pathOf("/api/jobs/{id}/assets", job), query);
    return this.#http.json({ method: "POST", path, content, key, timeout: uploadTimeout(content) });
  }

  /** Registers an asset whose content is elsewhere. */
  registerAsset(job: string, asset: wire.NewAsset): Promise<wire.Asset> {
    return change(this.#http, "/api/jobs/{id}/assets", [job], asset);
  }

  /** The content of an uploaded asset; read its body. */
  download(job: string, asset: string): Promise<Response> {
    const path = pathOf("/api/jobs/{id}/assets/{asset}/content", job, asset);
    return retrying(() => this.#http.begin({ method: "GET", path }), true);
  }

  // Workers. Claims and reports are not retried here, except where the server did not accept them; the worker decides.

  /** Claims jobs, and waits for them as long as `wait` says. */
  claim(claim: WithDurations<wire.Claim, "wait">): Promise<wire.ClaimedJobs> {
    const body = spans(claim, ["wait"]) as wire.Claim;
    const timeout = toMillis(claim.wait ?? 0) + 10_000;
    return change(this.#http, "/api/claims", [], body, { timeout });
  }

  /** Reports about up to 10,000 jobs, each independently: what each would have been answered alone, in order. */
  async reports(worker: string, reports: wire.Report[]): Promise<(Ok<wire.ReportResult> | Problem)[]> {
    const { results } = await change(this.#http, "/api/reports", [], { worker, reports }, {});
    return results.map(okOrProblem);
  }

  /** Reports about one job. */
  async report(worker: string, report: wire.Report): Promise<Ok<wire.ReportResult>> {
    const [result] = await this.reports(worker, [report]);
    if (result === undefined) throw new ProtocolError("a report has no answer");
    if (result instanceof Problem) throw result;
    return result;
  }

  /** The workers that were seen, when, and what they hold. */
  workers() {
    return get(this.#http, "/api/workers", []);
  }

  // Operators.

  /** Dead letters: open ones, or with `dismissed` the others. */
  deadLetters(query: Query<"/api/dead-letters"> = {}): Promise<{ dead_letters: wire.DeadLetter[]; next_cursor: string | null }> {
    return get(this.#http, "/api/dead-letters", [], query);
  }

  /** Creates a new job for each of these dead letters. */
  redrive(body: wire.Redrive): Promise<wire.RedriveResults> {
    return change(this.#http, "/api/dead-letters/redrive", [], body);
  }

  dismiss(job: string, reason: string): Promise<wire.DeadLetter> {
    return change(this.#http, "/api/dead-letters/{job}/dismiss", [job], { reason });
  }

  queues() {
    return get(this.#http, "/api/queues", []);
  }

  /** Stops claims from a queue. */
  pauseQueue(name: string): Promise<wire.PausedQueue> {
    return change(this.#http, "/api/queues/{name}/pause", [name], undefined);
  }

  /** Allows claims from a queue again. */
  resumeQueue(name: string): Promise<wire.PausedQueue> {
    return change(this.#http, "/api/queues/{name}/resume", [name], undefined);
  }

  /** The declared resources of flow control, each with its busiest buckets. */
  resources(query: Query<"/api/resources"> = {}) {
    return get(this.#http, "/api/resources", [], query);
  }

  /** One resource, with its busiest buckets, or only that of a key. */
  resource(name: string, query: Query<"/api/resources/{name}"> = {}): Promise<wire.Resource> {
    return get(this.#http, "/api/resources/{name}", [name], query);
  }

  /** Overrides limits of a resource; null is no limit. Those that are not given are as in the configuration. */
  setResource(name: string, limits: wire.SetResourceLimits): Promise<wire.Resource> {
    return put(this.#http, "/api/resources/{name}", [name], limits);
  }

  /** Returns to the limits of the configuration. */
  resetResource(name: string): Promise<wire.Resource> {
    return remove(this.#http, "/api/resources/{name}", [name]);
  }

  /** Grants no leases that use a resource, or the bucket of a key: for this time, or until it is resumed. */
  pauseResource(name: string, pause: WithDurations<wire.ResourcePause, "for"> = {}): Promise<wire.Resource> {
    return change(this.#http, "/api/resources/{name}/pause", [name], spans(pause, ["for"]));
  }

  /** Ends the pauses of a resource, or of the bucket of a key. */
  resumeResource(name: string, resume: wire.ResourceResume = {}): Promise<wire.Resource> {
    return change(this.#http, "/api/resources/{name}/resume", [name], resume);
  }

  /** Sequences with unfinished jobs, or only those that a failure has halted. */
  sequences(query: Query<"/api/sequences"> = {}) {
    return get(this.#http, "/api/sequences", [], query);
  }

  /** Resumes a halted sequence with its next job. */
  resumeSequence(type: string, key: string): Promise<wire.Sequence> {
    return change(this.#http, "/api/sequences/{type}/{key}/resume", [type, key], undefined);
  }

  lifecycles() {
    return get(this.#http, "/api/lifecycles", []);
  }

  lifecycle(name: string): Promise<wire.Lifecycle> {
    return get(this.#http, "/api/lifecycles/{name}", [name]);
  }

  /** A lifecycle as a drawing (SVG). */
  diagram(lifecycle: string): Promise<string> {
    return this.#text(pathOf("/api/lifecycles/{name}/diagram.svg", lifecycle));
  }

  /** What another version of a lifecycle, given as the text of its file, would change. Changes nothing. */
  tryLifecycle(name: string, version: WithDurations<wire.TryLifecycle, "since">): Promise<wire.WhatIf> {
    return change(this.#http, "/api/lifecycles/{name}/what-if", [name], spans(version, ["since"]) as wire.TryLifecycle);
  }

  types() {
    return get(this.#http, "/api/types", []);
  }

  /** A user's account. */
  credits(user: string, query: Query<"/api/accounts/{user}/credits"> = {}): Promise<wire.Account> {
    return get(this.#http, "/api/accounts/{user}/credits", [user], query);
  }

  grant(user: string, grant: number, reason: string): Promise<wire.Account> {
    return change(this.#http, "/api/accounts/{user}/credits", [user], { grant, reason });
  }

  /** Erases a user: deletes the finished jobs now, the others when they are finished, then the name in the ledger. */
  eraseUser(user: string, reason: string): Promise<wire.ErasureProgress> {
    return change(this.#http, "/api/users/{user}/erase", [user], { reason });
  }

  audit(query: Query<"/api/audit"> = {}) {
    return get(this.#http, "/api/audit", [], query);
  }

  schedules() {
    return get(this.#http, "/api/schedules", []);
  }

  schedule(id: string): Promise<wire.Schedule> {
    return get(this.#http, "/api/schedules/{id}", [id]);
  }

  createSchedule(schedule: wire.NewSchedule): Promise<wire.Schedule> {
    return change(this.#http, "/api/schedules", [], schedule);
  }

  /** Replaces the times, the job and the policies of a schedule. */
  replaceSchedule(id: string, schedule: wire.NewSchedule): Promise<wire.Schedule> {
    return put(this.#http, "/api/schedules/{id}", [id], schedule);
  }

  /** Creates the job of a schedule now; its times stay. */
  runSchedule(id: string): Promise<wire.JobAnswer> {
    return change(this.#http, "/api/schedules/{id}/run", [id], undefined) as Promise<wire.JobAnswer>;
  }

  pauseSchedule(id: string): Promise<wire.Schedule> {
    return change(this.#http, "/api/schedules/{id}/pause", [id], undefined);
  }

  resumeSchedule(id: string): Promise<wire.Schedule> {
    return change(this.#http, "/api/schedules/{id}/resume", [id], undefined);
  }

  deleteSchedule(id: string): Promise<wire.Schedule> {
    return remove(this.#http, "/api/schedules/{id}", [id]);
  }

  webhooks() {
    return get(this.#http, "/api/webhooks", []);
  }

  webhook(id: string): Promise<wire.Webhook> {
    return get(this.#http, "/api/webhooks/{id}", [id]);
  }

  /** Creates a webhook. Only this answer has its secret, so the call is not retried: a repeat would not have it. */
  createWebhook(webhook: wire.NewWebhook): Promise<wire.IssuedWebhook> {
    return change(this.#http, "/api/webhooks", [], webhook, {}) as Promise<wire.IssuedWebhook>;
  }

  /** Enables a disabled webhook; it continues with the first event that was not delivered. */
  enableWebhook(id: string): Promise<wire.Webhook> {
    return change(this.#http, "/api/webhooks/{id}/enable", [id], undefined);
  }

  /** Stops the deliveries of a webhook until it is enabled. */
  disableWebhook(id: string): Promise<wire.Webhook> {
    return change(this.#http, "/api/webhooks/{id}/disable", [id], undefined);
  }

  /** Sends events of a webhook again: those after a position of the journal, or from this long ago on. */
  replayWebhook(id: string, replay: WithDurations<wire.WebhookReplay, "since">): Promise<wire.Webhook> {
    return change(this.#http, "/api/webhooks/{id}/replay", [id], spans(replay, ["since"]));
  }

  deleteWebhook(id: string): Promise<wire.Webhook> {
    return remove(this.#http, "/api/webhooks/{id}", [id]);
  }

  keys() {
    return get(this.#http, "/api/keys", []);
  }

  /** Creates a key. Only this answer has its secret, so the call is not retried: a repeat would not have it. */
  createKey(key: wire.NewKey): Promise<wire.IssuedKey> {
    return change(this.#http, "/api/keys", [], key, {}) as Promise<wire.IssuedKey>;
  }

  /** Gives a key a new secret; earlier ones stay valid for the overlap (1 h by default). Not retried, like {@link createKey}. */
  rotateKey(id: string, { overlap }: { overlap?: Duration } = {}): Promise<wire.IssuedKey> {
    const body = overlap === undefined ? {} : { overlap: toSpan(overlap) };
    return change(this.#http, "/api/keys/{id}/rotate", [id], body, {}) as Promise<wire.IssuedKey>;
  }

  revokeKey(id: string): Promise<wire.Key> {
    return remove(this.#http, "/api/keys/{id}", [id]);
  }

  /** Counts, rates and times, per lifecycle, state and type. */
  stats(): Promise<wire.Stats> {
    return get(this.#http, "/api/stats", []);
  }

  /** Whether the process runs. */
  health(): Promise<wire.Health> {
    return get(this.#http, "/healthz", []);
  }

  /** Whether the store answers. */
  readiness(): Promise<wire.Readiness> {
    return get(this.#http, "/readyz", []);
  }

  /** The metrics, in the format of Prometheus. */
  metrics(): Promise<string> {
    return this.#text("/metrics");
  }

  async #text(path: string): Promise<string> {
    return (await this.#http.repeated({ method: "GET", path })).text;
  }

  /** A batch can carry a job with a key and without a trace context; other jobs travel alone. */
  #create<T extends wire.JobBrief>(
    coalescer: Coalescer<T> | undefined,
    job: NewJob,
    headers: Headers,
    { traceparent }: CreateOptions = {},
  ): Promise<T> {
    const { body, key } = keyed(job);
    const alone = () => this.#http.repeated(creation({ body, key }, { ...headers, traceparent })).then(created<T>);
    if (!coalescer || key === undefined || traceparent !== undefined || body.length > JOB_CHARS_MAX) return alone();
    const send = async () => (await coalescer.send({ body, key })) ?? (await alone());
    return retrying(send, true);
  }

  #creations<T extends wire.JobBrief>(headers: Headers): CreationTransport<T> {
    return {
      single: async (job) => created<T>(await this.#http.once(creation(job, headers))),
      batch: (jobs) => {
        const bodies = jobs.map(({ body, key }) => batchItem(body, key));
        return this.#batch<T>({ bodies, headers }, (request) => this.#http.once(request));
      },
    };
  }

  async #batch<T>(
    { bodies, ...request }: { bodies: string[] } & Partial<Request>,
    send: (request: Request) => Promise<{ text: string }>,
  ): Promise<(T | Problem)[]> {
    const body = `{"jobs":[${bodies.join(",")}]}`;
    const { text } = await send({ method: "POST", path: "/api/jobs/batch", body, ...request });
    const { results } = decode<{ results: Result<T>[] }>(text);
    if (results.length !== bodies.length) throw new ProtocolError("the batch has another number of answers than jobs");
    return results.map(okOrProblem);
  }
}

type Headers = Record<string, string | undefined>;
type Result<T> = { ok: T } | { error: wire.Problem };
type Ok<R> = R extends { ok: infer T } ? T : never;

function okOrProblem<T>(result: Result<T>): T | Problem {
  return "ok" in result ? result.ok : new Problem(result.error);
}

function keyed({ idempotency_key, ...job }: NewJob): { body: string; key: string | undefined } {
  const key = idempotency_key === null ? undefined : (idempotency_key ?? generatedKey());
  return { body: JSON.stringify(spans(job, ["delay"])), key };
}

/** The body of a job is an object with at least a type. */
function batchItem(body: string, key: string | undefined): string {
  return key === undefined ? body : `{"idempotency_key":${JSON.stringify(key)},${body.slice(1)}`;
}

function creation({ body, key }: { body: string; key: string | undefined }, headers: Headers): Request {
  return { method: "POST", path: "/api/jobs", body, key, headers };
}

function created<T extends wire.JobBrief>({ status, text }: { status: number; text: string }): T {
  const job = decode<T>(text);
  return status === 200 ? { ...job, replayed: true } : job;
}

function extension(name: string): string {
  return /\.([^.]+)$/.exec(name)?.[1] ?? "file";
}

/** The value of a variable that is set and not empty. */
function variable(name: string): string | undefined {
  return process.env[name] || undefined;
}

function keyFromEnv(): string | undefined {
  const file = variable("TENURE_KEY_FILE");
  return variable("TENURE_KEY") ?? (file && readFileSync(file, "utf8").trim());
}

function checkedUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !["http:", "https:"].includes(url.protocol)) throw new TypeError(`"${text}" is not an address: write http://host:port`);
  return url.href.replace(/\/+$/, "");
}

/** An invalid key is not part of the message. */
function checkedKey(key: string | undefined): string | undefined {
  if (key !== undefined && !/^[!-~]+$/.test(key)) throw new TypeError("the key has characters that no key has");
  return key;
}
