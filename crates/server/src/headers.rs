//! Headers that mean something to Tenure.

use axum::extract::FromRequestParts;
use http::HeaderMap;
use http::request::Parts;
use tenure_core::id::Name;

use crate::problem::Problem;
use crate::telemetry;
use crate::trace_context::TraceContext;

/// The `traceparent` of what a request creates. Where our own span is traced it hangs off that, and that off the
/// caller's.
#[derive(Clone, Debug)]
pub(crate) struct Trace(pub(crate) Option<Name>);

impl<S: Sync> FromRequestParts<S> for Trace {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let own = telemetry::traceparent_of(&tracing::Span::current());
        let context = own.or_else(|| trace(&parts.headers).map(|context| context.to_string()));
        Ok(Self(context.map(Name::from)))
    }
}

/// The trace that a request belongs to; a header that does not fit, or comes twice, is as good as none.
pub(crate) fn trace(headers: &HeaderMap) -> Option<TraceContext> {
    let mut given = headers.get_all("traceparent").iter();
    let context = TraceContext::parse(given.next()?.to_str().ok()?);
    if given.next().is_some() { None } else { context }
}

/// The `Idempotency-Key`: 1 to 255 printable ASCII characters, bare or as a quoted string.
pub(crate) fn idempotency_key(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    let mut given = headers.get_all("idempotency-key").iter();
    let Some(key) = given.next() else { return Ok(None) };
    let bad = || Problem::malformed("#", "Idempotency-Key must be 1 to 255 printable ASCII characters, once");
    let key = key.to_str().map_err(|_| bad())?;
    let key = key.strip_prefix('"').and_then(|key| key.strip_suffix('"')).unwrap_or(key);
    let fits = (1..=255).contains(&key.len()) && key.bytes().all(|byte| (b' '..=b'~').contains(&byte));
    if fits && given.next().is_none() { Ok(Some(key.to_owned())) } else { Err(bad()) }
}
