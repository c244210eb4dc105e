/**
 * The TypeScript SDK of Tenure: a client with a method for each call of the HTTP API, and the worker.
 *
 * A handler may run more than once for a job, never under two live leases at once. `job.id`, `job.attempt` and `job.fence` are
 * there to make its effects safe.
 *
 * @packageDocumentation
 */

export { Client, DEFAULT_URL } from "./client.js";
export type { ClientOptions, CreateOptions, FinalStatus, Followed, Holder, NewJob, Options } from "./client.js";
export type { Duration } from "./duration.js";
export { Problem, ProtocolError, Unreachable, isRetryable } from "./errors.js";
export type { ProblemMembers } from "./errors.js";
export type * as wire from "./generated.js";
export type { Content } from "./transport.js";
export { Cancelled, Ended, Partial, Permanent, Reject, Release, Transient } from "./worker/errors.js";
export type { FailureOptions, Pause, PermanentOptions, TransientOptions } from "./worker/errors.js";
export type { Job } from "./worker/job.js";
export type { Logger } from "./worker/logger.js";
export type { LineOptions } from "./worker/output.js";
export type { StandardSchema } from "./worker/schema.js";
export { Stopped } from "./worker/stop.js";
export type { StopReason } from "./worker/stop.js";
export { Worker } from "./worker/worker.js";
export type { BatchHandler, Handler, WorkerOptions } from "./worker/worker.js";
