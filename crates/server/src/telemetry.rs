//! Telemetry of the process: log lines on stderr, and traces by OTLP if an endpoint is configured.
//!
//! Log lines are text or JSON. Values are escaped, so that text of jobs and callers cannot end a line or control a
//! terminal.

mod attempts;
mod escape;
mod lines;
#[cfg(feature = "otel")]
mod traces;
#[cfg(not(feature = "otel"))]
#[path = "telemetry/no_traces.rs"]
mod traces;

use std::io::{self, IsTerminal};
use std::sync::atomic::{AtomicBool, Ordering};

use http::{Method, StatusCode};
use tenure_config::{LogConfig, LogFormat, OtelConfig};
use tracing::field::Empty;
use tracing::{Span, Subscriber};
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::{Layer as _, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Registry, registry, reload};

pub(crate) use attempts::{export as export_attempts, link as link_attempts, traceparent as job_traceparent};

use crate::trace_context::TraceContext;
use traces::Traces;

static IS_TRACED: AtomicBool = AtomicBool::new(false);

/// Keeps telemetry running until [`Telemetry::shutdown`].
#[derive(Debug)]
#[must_use = "dropping it stops telemetry"]
pub struct Telemetry {
    traces: Option<Traces>,
    filter: FilterHandle,
}

type FilterHandle = reload::Handle<EnvFilter, Registry>;

impl Telemetry {
    /// Applies the filter of a configuration that was loaded again.
    pub fn set_filter(&self, log: &LogConfig) -> Result<(), String> {
        self.filter.reload(env_filter(log)?).map_err(|error| format!("log.filter: {error}"))
    }

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
    let (subscriber, filter, traces) = subscriber(log, otel, colour, io::stderr)?;
    subscriber.try_init().map_err(|error| format!("telemetry is already running: {error}"))?;
    traces.as_ref().into_iter().for_each(traces::export_attempts_to);
    IS_TRACED.store(traces.is_some(), Ordering::Relaxed);
    Ok(Telemetry { traces, filter })
}

/// Whether spans are exported.
pub fn is_traced() -> bool {
    IS_TRACED.load(Ordering::Relaxed)
}

/// The span of a request, as the conventions of OpenTelemetry describe it for HTTP servers. A span costs more than a small
/// request, so it is only created if it is exported.
pub(crate) fn request_span(method: &Method, route: Option<&str>, path: &str, is_secure: bool) -> Span {
    if is_traced() { new_request_span(method, route, path, is_secure) } else { Span::none() }
}

fn new_request_span(method: &Method, route: Option<&str>, path: &str, is_secure: bool) -> Span {
    tracing::info_span!(
        "request",
        otel.name = request_name(method, route),
        otel.kind = "server",
        otel.status_code = Empty,
        http.request.method = known_method(method).unwrap_or("_OTHER"),
        http.route = route,
        http.response.status_code = Empty,
        url.path = path,
        url.scheme = if is_secure { "https" } else { "http" },
        "error.type" = Empty,
    )
}

/// Callers can invent methods, which must not become names.
fn known_method(method: &Method) -> Option<&'static str> {
    let known = ["GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"];
    known.into_iter().find(|known| *known == method.as_str())
}

fn request_name(method: &Method, route: Option<&str>) -> String {
    let method = known_method(method).unwrap_or("HTTP");
    route.map_or_else(|| method.to_owned(), |route| format!("{method} {route}"))
}

/// Records in the span of a request its route, if that was not known at its start.
pub(crate) fn set_route(span: &Span, method: &Method, route: &str) {
    if !span.is_disabled() {
        span.record("http.route", route);
        traces::rename(span, request_name(method, Some(route)));
    }
}

/// Records the answer in the span of a request. Only a failure of the server is an error of the span.
pub(crate) fn end_request(span: &Span, status: StatusCode) {
    if span.is_disabled() {
        return;
    }
    span.record("http.response.status_code", i64::from(status.as_u16()));
    if status.is_server_error() {
        span.record("otel.status_code", "ERROR").record("error.type", status.as_str());
    }
}

/// Makes a span part of the caller's trace. Must be called before the span is entered; an invalid header is ignored.
pub fn set_parent(span: &Span, traceparent: &str) {
    if let Some(parent) = TraceContext::parse(traceparent) {
        traces::set_parent(span, &parent);
    }
}

/// The `traceparent` of a span's children; `None` if the span is not traced.
pub fn traceparent_of(span: &Span) -> Option<String> {
    traces::context_of(span).map(|context| context.to_string())
}

fn subscriber<W>(
    log: &LogConfig,
    otel: Option<&OtelConfig>,
    colour: bool,
    writer: W,
) -> Result<(impl Subscriber + Send + Sync + use<W>, FilterHandle, Option<Traces>), String>
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let (filter, handle) = reload::Layer::new(env_filter(log)?);
    let traces = otel.map(|otel| traces::open(&otel.endpoint)).transpose()?;
    let traced = traces.as_ref().map(traces::layer);
    let lines = match log.format {
        LogFormat::Text => lines::text(colour, writer).boxed(),
        LogFormat::Json => lines::json(writer).boxed(),
    };
    Ok((registry().with(filter).with(traced).with(lines), handle, traces))
}

fn env_filter(log: &LogConfig) -> Result<EnvFilter, String> {
    // At info level the database driver logs every notice.
    EnvFilter::try_new(format!("tokio_postgres=warn,{}", log.filter))
        .map_err(|error| format!("log.filter {:?}: {error}", log.filter))
}

#[cfg(all(test, feature = "otel"))]
mod tests;
