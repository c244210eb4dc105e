//! Sends spans to a collector by OTLP over HTTP.
//!
//! The exporter's client blocks, and must not be created, used or dropped on a thread of an async runtime. It therefore
//! runs on its own thread, and is created and dropped on separate ones.

use std::cell::Cell;
use std::sync::OnceLock;
use std::thread;
use std::time::Duration;

use opentelemetry::trace::{
    Span as _, SpanBuilder, SpanContext, SpanId, SpanKind, Status, TraceContextExt as _, TraceFlags, TraceId,
    TraceState, Tracer as _, TracerProvider as _,
};
use opentelemetry::{Context, KeyValue};
use opentelemetry_otlp::{SpanExporter, WithExportConfig as _};
use opentelemetry_sdk::Resource;
pub(super) use opentelemetry_sdk::trace::SdkTracerProvider as Traces;
use opentelemetry_sdk::trace::{IdGenerator, RandomIdGenerator, SdkTracer};
use reqwest::Url;
use tracing::{Span, Subscriber};
use tracing_opentelemetry::OpenTelemetrySpanExt as _;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::Layer;
use tracing_subscriber::registry::LookupSpan;

use super::attempts::AttemptSpan;
use crate::trace_context::TraceContext;

const SERVICE: &str = "tenure";
const SEND_TIMEOUT: Duration = Duration::from_secs(5);
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);

/// Exports the spans of attempts.
static ATTEMPTS: OnceLock<SdkTracer> = OnceLock::new();

thread_local! {
    /// The id of the next span of this thread.
    static NEXT_SPAN_ID: Cell<Option<SpanId>> = const { Cell::new(None) };
}

/// Random ids, except for a span whose id was known before.
#[derive(Debug, Default)]
struct SpanIds(RandomIdGenerator);

impl IdGenerator for SpanIds {
    fn new_trace_id(&self) -> TraceId {
        self.0.new_trace_id()
    }

    fn new_span_id(&self) -> SpanId {
        NEXT_SPAN_ID.take().unwrap_or_else(|| self.0.new_span_id())
    }
}

/// Starts exporting spans to this endpoint. An unreachable collector is only noticed when they are sent.
pub(super) fn open(endpoint: &str) -> Result<Traces, String> {
    let url = spans_url(endpoint)?;
    // Reqwest needs a default provider; an installed one stays.
    let _already = rustls::crypto::ring::default_provider().install_default();
    on_new_thread(move || {
        let exporter =
            SpanExporter::builder().with_http().with_endpoint(url).with_timeout(SEND_TIMEOUT).build();
        let exporter = exporter.map_err(|error| format!("otel.endpoint: {error}"))?;
        let resource = Resource::builder().with_service_name(SERVICE).build();
        let traces = Traces::builder().with_batch_exporter(exporter).with_resource(resource);
        Ok(traces.with_id_generator(SpanIds::default()).build())
    })
}

/// Sends the remaining spans, and stops.
pub(super) fn shut_down(provider: Traces) -> Result<(), String> {
    on_new_thread(move || provider.shutdown_with_timeout(SHUTDOWN_TIMEOUT).map_err(|error| error.to_string()))
}

/// Exports only our own spans: exporting those of the exporter's client would create more.
pub(super) fn layer<S>(provider: &Traces) -> impl Layer<S> + Send + Sync + use<S>
where
    S: Subscriber + for<'a> LookupSpan<'a> + Send + Sync,
{
    let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("tenure"));
    let layer = layer.with_location(false).with_threads(false).with_tracked_inactivity(false);
    layer.with_filter(filter_fn(|metadata| metadata.target().starts_with("tenure")))
}

/// Makes a span a child of the caller's.
pub(super) fn set_parent(span: &Span, parent: &TraceContext) {
    // Fails only if the span is not traced.
    let _untraced = span.set_parent(Context::new().with_remote_span_context(span_context(parent)));
}

fn span_context(context: &TraceContext) -> SpanContext {
    SpanContext::new(
        TraceId::from_bytes(context.trace_id.to_be_bytes()),
        SpanId::from_bytes(context.parent_id.to_be_bytes()),
        TraceFlags::new(context.flags),
        true,
        TraceState::default(),
    )
}

/// Changes the name of a span that has started.
pub(super) fn rename(span: &Span, name: String) {
    span.context().span().update_name(name);
}

/// Links a span to another one.
pub(super) fn add_link(span: &Span, context: &TraceContext) {
    span.add_link(span_context(context));
}

/// Exports the spans of attempts with these traces, from now on.
pub(super) fn export_attempts_to(traces: &Traces) {
    ATTEMPTS.get_or_init(|| traces.tracer("tenure"));
}

/// Exports a span that has ended.
pub(super) fn export(attempt: AttemptSpan) {
    if let Some(tracer) = ATTEMPTS.get() {
        export_to(tracer, attempt);
    }
}

pub(super) fn export_to(tracer: &SdkTracer, attempt: AttemptSpan) {
    let AttemptSpan { name, parent, context, start, end, attributes, error } = attempt;
    let attributes = attributes.into_iter().map(|(name, value)| KeyValue::new(name, value));
    let builder = SpanBuilder::from_name(name).with_kind(SpanKind::Consumer).with_start_time(start);
    let parent = Context::new().with_remote_span_context(span_context(&parent));
    NEXT_SPAN_ID.set(Some(SpanId::from_bytes(context.parent_id.to_be_bytes())));
    let mut span = tracer.build_with_context(builder.with_attributes(attributes), &parent);
    NEXT_SPAN_ID.set(None);
    if let Some(error) = error {
        span.set_status(Status::error(error));
    }
    span.end_with_timestamp(end);
}

/// `None` if the span is not traced.
pub(super) fn context_of(span: &Span) -> Option<TraceContext> {
    let context = span.context().span().span_context().clone();
    context.is_valid().then(|| TraceContext {
        trace_id: u128::from_be_bytes(context.trace_id().to_bytes()),
        parent_id: u64::from_be_bytes(context.span_id().to_bytes()),
        flags: context.trace_flags().to_u8(),
    })
}

fn on_new_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    let thread = thread::Builder::new().name("telemetry".into()).spawn(work);
    let thread = thread.map_err(|error| error.to_string())?;
    thread.join().map_err(|_| "the telemetry thread panicked".to_string())?
}

/// By OTLP the endpoint is a base URL, and spans are posted to `v1/traces` below it.
fn spans_url(endpoint: &str) -> Result<String, String> {
    let url = Url::parse(endpoint).map_err(|error| format!("otel.endpoint {endpoint:?}: {error}"))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(format!("otel.endpoint {endpoint:?}: use http or https"));
    }
    let base = url.as_str().trim_end_matches('/');
    Ok(if base.ends_with("/v1/traces") { base.to_string() } else { format!("{base}/v1/traces") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_posted_below_the_endpoint() {
        for (endpoint, url) in [
            ("http://127.0.0.1:4318", "http://127.0.0.1:4318/v1/traces"),
            ("http://127.0.0.1:4318/", "http://127.0.0.1:4318/v1/traces"),
            ("https://otel.example/team", "https://otel.example/team/v1/traces"),
            ("https://otel.example/v1/traces", "https://otel.example/v1/traces"),
        ] {
            assert_eq!(spans_url(endpoint).as_deref(), Ok(url));
        }
        for endpoint in ["", "127.0.0.1:4318", "grpc://127.0.0.1:4317", "no url"] {
            let flaw = spans_url(endpoint).unwrap_err();
            assert!(flaw.starts_with("otel.endpoint"), "{flaw}");
        }
    }
}
