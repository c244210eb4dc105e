//! The span around a handler. With the feature `otel` it continues the trace of the job: its parent is the span of the attempt,
//! which the server exports, or the span that created the job.

use tenure_api::{JobRecord, Verb};
use tracing::Span;
use tracing::field::Empty;

use crate::request::Report;

/// The span of an attempt's handler.
pub(super) fn span_of(record: &JobRecord) -> Span {
    let span = tracing::info_span!(
        "run",
        otel.name = format!("run {}", record.job_type),
        otel.status_code = Empty,
        "error.type" = Empty,
        messaging.system = "tenure",
        messaging.message.id = record.id,
        messaging.destination.name = record.queue,
        "tenure.job.type" = record.job_type,
        tenure.job.attempt = record.attempt,
    );
    #[cfg(feature = "otel")]
    if let Some(traceparent) = &record.traceparent {
        otel::set_parent(&span, traceparent);
    }
    span
}

/// Records how the attempt ended.
pub(super) fn end(span: &Span, report: &Report) {
    if matches!(report.verb, Verb::Fail | Verb::Reject) {
        let code = report.body.get("error").and_then(|error| error["code"].as_str());
        span.record("otel.status_code", "ERROR");
        span.record("error.type", code.unwrap_or(report.verb.as_str()));
    }
}

#[cfg(feature = "otel")]
mod otel {
    use opentelemetry::Context;
    use opentelemetry::trace::{SpanContext, SpanId, TraceContextExt as _, TraceFlags, TraceId, TraceState};
    use tracing::Span;
    use tracing_opentelemetry::OpenTelemetrySpanExt as _;

    /// Makes a span a child of the one in a `traceparent`. An invalid text is ignored.
    pub(super) fn set_parent(span: &Span, traceparent: &str) {
        if let Some(parent) = parse(traceparent) {
            // Fails only if the span is not traced.
            let _untraced = span.set_parent(Context::new().with_remote_span_context(parent));
        }
    }

    fn parse(traceparent: &str) -> Option<SpanContext> {
        let mut fields = traceparent.split('-').skip(1);
        let trace_id = TraceId::from_hex(fields.next()?).ok()?;
        let span_id = SpanId::from_hex(fields.next()?).ok()?;
        let flags = u8::from_str_radix(fields.next()?, 16).ok()?;
        Some(SpanContext::new(trace_id, span_id, TraceFlags::new(flags), true, TraceState::default()))
    }
}
