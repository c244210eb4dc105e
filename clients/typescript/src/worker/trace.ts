/** The span around a handler, where OpenTelemetry is installed. It continues the trace of the job. */

import type * as otel from "@opentelemetry/api";

import type * as wire from "../generated.js";
import type { Ending } from "./errors.js";

/** Runs a handler; returns how the attempt ended. */
export type Tracer = (record: wire.ClaimedJob, run: () => Promise<Ending>) => Promise<Ending>;

/** A tracer of the installed OpenTelemetry API; without one, handlers run without a span. */
export async function loadTracer(): Promise<Tracer> {
  try {
    return spansOf(await import("@opentelemetry/api"));
  } catch {
    return (_, run) => run();
  }
}

function spansOf(api: typeof otel): Tracer {
  const tracer = api.trace.getTracer("tenure");
  return (record, run) => {
    const attributes = {
      "messaging.system": "tenure",
      "messaging.message.id": record.id,
      "messaging.destination.name": record.queue,
      "tenure.job.type": record.type,
      "tenure.job.attempt": record.attempt,
    };
    const parent = remoteContext(api, record.traceparent);
    return tracer.startActiveSpan(`run ${record.type}`, { attributes }, parent, async (span) => {
      const ending = await run();
      if (ending.verb === "fail" || ending.verb === "reject") {
        const { code } = (ending.error ?? {}) as { code?: string };
        span.setStatus({ code: api.SpanStatusCode.ERROR });
        span.setAttribute("error.type", code ?? ending.verb);
      }
      span.end();
      return ending;
    });
  };
}

/** An invalid text is ignored. */
function remoteContext(api: typeof otel, traceparent: string): otel.Context {
  const [, traceId = "", spanId = "", flags = ""] = traceparent.split("-");
  const context = { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
  return api.isSpanContextValid(context) ? api.trace.setSpanContext(api.ROOT_CONTEXT, context) : api.ROOT_CONTEXT;
}
