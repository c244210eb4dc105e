//! Headers that mean something to Tenure.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use http::request::Parts;
use http::{HeaderMap, HeaderName};
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

/// How much of a job a caller wants back from what he does to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    Whole,
    /// `Prefer: return=minimal` (RFC 7240): that it is done, and what he cannot know.
    Minimal,
}

impl<S: Sync> FromRequestParts<S> for Extent {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self::of(&parts.headers))
    }
}

impl Extent {
    /// The first `return` decides. Whatever else is preferred is not known here, which is no mistake.
    fn of(headers: &HeaderMap) -> Self {
        static PREFER: HeaderName = HeaderName::from_static("prefer");
        match headers.get(&PREFER) {
            None => return Self::Whole,
            // As nearly everybody says it.
            Some(value) if value == "return=minimal" => return Self::Minimal,
            Some(_) => {}
        }
        let given = headers.get_all(&PREFER).iter().filter_map(|value| value.to_str().ok());
        let preferences = given.flat_map(|text| {
            let mut is_quoted = false;
            text.split(move |letter| {
                is_quoted ^= letter == '"';
                letter == ',' && !is_quoted
            })
        });
        let mut returns = preferences.filter_map(|preference| {
            let (name, value) = preference.split(';').next()?.split_once('=')?;
            name.trim().eq_ignore_ascii_case("return").then(|| value.trim().trim_matches('"'))
        });
        match returns.next() {
            Some(value) if value.eq_ignore_ascii_case("minimal") => Self::Minimal,
            _ => Self::Whole,
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_return_decides_how_much_is_told() {
        let of = |given: &[&'static str]| {
            let values = given.iter().map(|value| http::HeaderValue::from_static(value));
            Extent::of(&values.map(|value| (HeaderName::from_static("prefer"), value)).collect())
        };
        for minimal in [
            &["return=minimal"][..],
            &["Return = \"minimal\"; foo=bar"],
            &["respond-async, wait=10 , return=minimal"],
            &["respond-async", "return=minimal, return=representation"],
        ] {
            assert_eq!(of(minimal), Extent::Minimal, "{minimal:?}");
        }
        for whole in [
            &[][..],
            &["return=representation, return=minimal"],
            &["return", "minimal", ",;=,"],
            &["note=\"a, return=minimal\""],
            &["returns=minimal"],
        ] {
            assert_eq!(of(whole), Extent::Whole, "{whole:?}");
        }
    }
}
