//! Telemetry of the process: log lines on stderr, and traces by OTLP if an endpoint is configured.
//!
//! Log lines are text or JSON. Values are escaped, so that text of jobs and callers cannot end a line or control a
//! terminal.

mod escape;
mod lines;
mod traces;

use std::io::{self, IsTerminal};
use std::sync::atomic::{AtomicBool, Ordering};

use opentelemetry::trace::{
    SpanContext, SpanId, TraceContextExt, TraceFlags, TraceId, TraceState, TracerProvider,
};
use opentelemetry_sdk::trace::SdkTracerProvider;
use tenure_config::{LogConfig, LogFormat, OtelConfig};
use tracing::{Span, Subscriber};
use tracing_opentelemetry::OpenTelemetrySpanExt;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, registry};

use crate::trace_context::TraceContext;

static IS_TRACED: AtomicBool = AtomicBool::new(false);

/// Keeps telemetry running until [`Telemetry::shutdown`].
#[derive(Debug)]
#[must_use = "dropping it stops telemetry"]
pub struct Telemetry {
    traces: Option<SdkTracerProvider>,
}

impl Telemetry {
    /// Sends the remaining spans, waiting a few seconds for the collector. The error cannot be logged any more.
    pub fn shutdown(mut self) -> Result<(), String> {
        self.traces.take().map_or(Ok(()), traces::shut_down)
    }
}

impl Drop for Telemetry {
    fn drop(&mut self) {
        if let Some(traces) = self.traces.take() {
            let _unsent = traces::shut_down(traces);
        }
    }
}

/// Starts telemetry for the whole process; a second call fails. May be called inside or outside an async runtime.
pub fn start(log: &LogConfig, otel: Option<&OtelConfig>) -> Result<Telemetry, String> {
    let colour = io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|it| it.is_empty());
    let (subscriber, traces) = subscriber(log, otel, colour, io::stderr)?;
    subscriber.try_init().map_err(|error| format!("telemetry is already running: {error}"))?;
    IS_TRACED.store(traces.is_some(), Ordering::Relaxed);
    Ok(Telemetry { traces })
}

/// Whether spans are exported.
pub fn is_traced() -> bool {
    IS_TRACED.load(Ordering::Relaxed)
}

/// Makes a span part of the caller's trace. Must be called before the span is entered; an invalid header is ignored.
pub fn set_parent(span: &Span, traceparent: &str) {
    let Some(parent) = TraceContext::parse(traceparent) else { return };
    let context = SpanContext::new(
        TraceId::from_bytes(parent.trace_id.to_be_bytes()),
        SpanId::from_bytes(parent.parent_id.to_be_bytes()),
        TraceFlags::new(parent.flags),
        true,
        TraceState::default(),
    );
    // Fails only if the span is not traced.
    let _untraced = span.set_parent(opentelemetry::Context::new().with_remote_span_context(context));
}

/// The `traceparent` of a span's children; `None` if the span is not traced.
pub fn traceparent_of(span: &Span) -> Option<String> {
    let context = span.context().span().span_context().clone();
    let parent = TraceContext {
        trace_id: u128::from_be_bytes(context.trace_id().to_bytes()),
        parent_id: u64::from_be_bytes(context.span_id().to_bytes()),
        flags: context.trace_flags().to_u8(),
    };
    context.is_valid().then(|| parent.to_string())
}

fn subscriber<W>(
    log: &LogConfig,
    otel: Option<&OtelConfig>,
    colour: bool,
    writer: W,
) -> Result<(impl Subscriber + Send + Sync + use<W>, Option<SdkTracerProvider>), String>
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    // At info level the database driver logs every notice.
    let filter = EnvFilter::try_new(format!("tokio_postgres=warn,{}", log.filter))
        .map_err(|error| format!("log.filter {:?}: {error}", log.filter))?;
    let traces = otel.map(|otel| traces::open(&otel.endpoint)).transpose()?;
    // Only our own spans: exporting those of the exporter's client would create more.
    let traced = traces.as_ref().map(|provider| {
        let layer =
            tracing_opentelemetry::layer().with_tracer(provider.tracer("tenure")).with_location(false);
        layer.with_filter(filter_fn(|metadata| metadata.target().starts_with("tenure")))
    });
    let lines = match log.format {
        LogFormat::Text => lines::text(colour, writer).boxed(),
        LogFormat::Json => lines::json(writer).boxed(),
    };
    Ok((registry().with(filter).with(traced).with(lines), traces))
}

#[cfg(test)]
mod tests;
