//! What Tenure tells those who run it: lines on stderr, and traces by OTLP where an endpoint is configured.
//!
//! Lines are text or JSON. Either way a value cannot end its line or steer a terminal: what jobs and callers write is
//! data, and is escaped. Metrics are elsewhere, and the journal is neither of these.

mod escape;
mod lines;
mod traces;

use std::io::{self, IsTerminal};
use std::sync::atomic::{AtomicBool, Ordering};

use opentelemetry::trace::{
    SpanContext, SpanId, TraceContextExt, TraceFlags, TraceId, TraceState, TracerProvider,
};
use opentelemetry_sdk::trace::SdkTracerProvider;
use tracing::{Span, Subscriber};
use tracing_opentelemetry::OpenTelemetrySpanExt;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, registry};

use crate::trace_context::TraceContext;

static TRACED: AtomicBool = AtomicBool::new(false);

/// What the lines look like.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Format {
    /// For people.
    #[default]
    Text,
    /// For machines: one object a line.
    Json,
}

/// What is told, how, and to whom.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TelemetrySettings {
    /// The form of the lines on stderr.
    pub format: Format,
    /// Which lines and spans, as in `info,tenure_store=debug`.
    pub filter: String,
    /// Where traces go, as in `http://127.0.0.1:4318`; nowhere if `None`.
    pub otlp_endpoint: Option<String>,
}

/// Keeps telemetry going. Whoever holds it calls [`Guard::shutdown`] at the end, or the last spans are lost.
#[derive(Debug)]
#[must_use = "spans are lost if the guard is dropped at once"]
pub struct Guard {
    traces: Option<SdkTracerProvider>,
}

impl Guard {
    /// Sends what has not been sent and stops. Waits for the collector, but not for long. What cannot be sent is
    /// said in the error: there is nobody else to tell any more.
    pub fn shutdown(mut self) -> Result<(), String> {
        self.traces.take().map_or(Ok(()), traces::shut_down)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if let Some(traces) = self.traces.take() {
            let _unsent = traces::shut_down(traces);
        }
    }
}

/// Starts telemetry for the whole process; a second call is an error. May be called inside or outside of an async
/// runtime.
pub fn start(settings: &TelemetrySettings) -> Result<Guard, String> {
    let colour = io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|it| it.is_empty());
    let (subscriber, traces) = subscriber(settings, colour, io::stderr)?;
    subscriber.try_init().map_err(|error| format!("telemetry has been started already: {error}"))?;
    TRACED.store(traces.is_some(), Ordering::Relaxed);
    Ok(Guard { traces })
}

/// Whether spans go anywhere.
pub fn is_traced() -> bool {
    TRACED.load(Ordering::Relaxed)
}

/// Makes a span part of the caller's trace. Call it before the span is entered; a header that does not fit, or no
/// OTLP endpoint, leaves the span as it is.
pub fn set_parent(span: &Span, traceparent: &str) {
    let Some(parent) = TraceContext::parse(traceparent) else { return };
    let context = SpanContext::new(
        TraceId::from_bytes(parent.trace_id.to_be_bytes()),
        SpanId::from_bytes(parent.parent_id.to_be_bytes()),
        TraceFlags::new(parent.flags),
        true,
        TraceState::default(),
    );
    // Fails only where nothing is traced: no endpoint, or a span that the filter leaves out.
    let _untraced = span.set_parent(opentelemetry::Context::new().with_remote_span_context(context));
}

/// The `traceparent` that makes others children of this span; `None` if the span is not traced.
pub fn traceparent_of(span: &Span) -> Option<String> {
    let context = span.context().span().span_context().clone();
    let written = TraceContext {
        trace_id: u128::from_be_bytes(context.trace_id().to_bytes()),
        parent_id: u64::from_be_bytes(context.span_id().to_bytes()),
        flags: context.trace_flags().to_u8(),
    };
    context.is_valid().then(|| written.to_string())
}

fn subscriber<W>(
    settings: &TelemetrySettings,
    colour: bool,
    writer: W,
) -> Result<(impl Subscriber + Send + Sync + use<W>, Option<SdkTracerProvider>), String>
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    // What the database's driver has to say of itself is nobody's information.
    let filter = EnvFilter::try_new(format!("tokio_postgres=warn,{}", settings.filter))
        .map_err(|error| format!("the log filter {:?}: {error}", settings.filter))?;
    let traces = settings.otlp_endpoint.as_deref().map(traces::open).transpose()?;
    // Only our own spans: those of the client that sends them would beget others.
    let traced = traces.as_ref().map(|provider| {
        let layer =
            tracing_opentelemetry::layer().with_tracer(provider.tracer("tenure")).with_location(false);
        layer.with_filter(filter_fn(|about| about.target().starts_with("tenure")))
    });
    let lines = match settings.format {
        Format::Text => lines::text(colour, writer).boxed(),
        Format::Json => lines::json(writer).boxed(),
    };
    Ok((registry().with(filter).with(traced).with(lines), traces))
}

#[cfg(test)]
mod tests;
