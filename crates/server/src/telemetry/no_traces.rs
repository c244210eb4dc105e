//! Stands in for `traces` in a binary without the cargo feature `otel`: an endpoint is refused, and no span is traced.

use tracing::{Span, Subscriber};
use tracing_subscriber::layer::{Identity, Layer};

use super::attempts::AttemptSpan;
use crate::trace_context::TraceContext;

/// Has no values: traces cannot be opened.
#[derive(Debug)]
pub(super) enum Traces {}

pub(super) fn open(_: &str) -> Result<Traces, String> {
    Err("cannot use otel.endpoint: this binary was built without the cargo feature `otel`".to_owned())
}

#[allow(clippy::needless_pass_by_value, reason = "the signature is that of `traces`")]
pub(super) fn shut_down(traces: Traces) -> Result<(), String> {
    match traces {}
}

pub(super) fn layer<S: Subscriber>(_: &Traces) -> impl Layer<S> + Send + Sync + use<S> {
    Identity::new()
}

pub(super) fn set_parent(_: &Span, _: &TraceContext) {}

pub(super) fn rename(_: &Span, _: String) {}

pub(super) fn add_link(_: &Span, _: &TraceContext) {}

pub(super) fn export_attempts_to(traces: &Traces) {
    match *traces {}
}

pub(super) fn export(_: AttemptSpan) {}

pub(super) fn context_of(_: &Span) -> Option<TraceContext> {
    None
}
