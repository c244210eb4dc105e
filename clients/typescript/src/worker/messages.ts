/** Messages between the program's thread, which runs handlers, and the worker's thread, which talks to the server. */

import type * as wire from "../generated.js";
import type { Target } from "../transport.js";

/** What the worker's thread needs to begin. */
export interface ThreadSettings {
  target: Target;
  worker: string;
  types: string[];
  queues: string[];
  slots: number;
  /** Milliseconds that one claim waits at the server. */
  wait: number;
}

/** One lease of one job. */
export interface LeaseKey {
  job: string;
  fence: number;
}

/** A serialized report. */
export interface OutgoingReport extends LeaseKey {
  verb: wire.Report["verb"];
  text: string;
  /** If the server refuses the report, the attempt is failed with this class. */
  failureClass?: wire.Class | undefined;
}

/** A claimed job and its stop cell. */
export interface StartedJob {
  job: wire.ClaimedJob;
  stop: SharedArrayBuffer;
}

export type LogLevel = "debug" | "info" | "warn" | "error";

export type ToThread =
  /** A handler has ended: the slots of its jobs are free. */
  | { type: "free"; slots: number }
  /** An attempt is over; without a report if its lease is lost. */
  | { type: "ended"; lease: LeaseKey; report?: OutgoingReport }
  /** Claims end; the thread answers with `drained` when every report is answered. */
  | { type: "drain" };

export type FromThread =
  /** Jobs of one group, or one job. */
  | { type: "claimed"; jobs: StartedJob[] }
  /** The attempt's stop cell has changed. */
  | { type: "stop"; lease: LeaseKey }
  | { type: "log"; level: LogLevel; message: string; fields: Record<string, unknown> }
  /** The server refused this worker's claims: a problem, or the message of another error. */
  | { type: "refused"; problem?: wire.Problem; message: string }
  | { type: "drained" };

export function keyText({ job, fence }: LeaseKey): string {
  return `${job} ${String(fence)}`;
}
