//! Request headers: trace context, `Prefer`, `Idempotency-Key`, `If-Match`.

use axum::extract::FromRequestParts;
use http::request::Parts;
use http::{HeaderMap, HeaderName};

use crate::prelude::*;
use crate::telemetry;
use crate::trace_context::TraceContext;

/// The `traceparent` of jobs that a request creates: that of the request's span if it is traced, else the caller's.
#[derive(Clone, Debug)]
pub(crate) struct Trace(pub(crate) Option<Name>);

impl<S: Sync> FromRequestParts<S> for Trace {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self> {
        let own = telemetry::traceparent_of(&tracing::Span::current());
        let context = own.or_else(|| trace(&parts.headers).map(|context| context.to_string()));
        Ok(Self(context.map(Into::into)))
    }
}

/// How much of a job is returned by a call that changes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReturnPreference {
    Whole,
    /// `Prefer: return=minimal` (RFC 7240): only what the caller cannot know.
    Minimal,
}

impl ReturnPreference {
    /// The first `return` decides; other preferences are ignored.
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        static PREFER: HeaderName = HeaderName::from_static("prefer");
        match headers.get(&PREFER) {
            None => return Self::Whole,
            // The usual form, without parsing.
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

/// The `seq` that a job must have to be changed: a number, bare or as an entity tag.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IfMatch(pub(crate) Option<u32>);

impl<S: Sync> FromRequestParts<S> for IfMatch {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self> {
        let mut given = parts.headers.get_all(http::header::IF_MATCH).iter();
        let Some(value) = given.next() else { return Ok(Self(None)) };
        let number = value.to_str().ok().and_then(key_text);
        let number = number.filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
        let seq = number.and_then(|text| text.parse().ok()).filter(|_| given.next().is_none());
        let bad = || Problem::malformed("#", "If-Match must be the `seq` of the job, once");
        seq.map(|seq| Self(Some(seq))).ok_or_else(bad)
    }
}

/// The caller's trace; an invalid or repeated header is ignored.
pub(crate) fn trace(headers: &HeaderMap) -> Option<TraceContext> {
    let mut given = headers.get_all("traceparent").iter();
    let context = TraceContext::parse(given.next()?.to_str().ok()?);
    if given.next().is_some() { None } else { context }
}

/// The `Idempotency-Key` of a request.
pub(crate) fn idempotency_key(headers: &HeaderMap) -> Result<Option<String>> {
    let mut given = headers.get_all("idempotency-key").iter();
    let Some(key) = given.next() else { return Ok(None) };
    let key = key.to_str().ok().and_then(key_text).filter(|_| given.next().is_none());
    let bad = || Problem::malformed("#", "Idempotency-Key must be 1 to 255 printable ASCII characters, once");
    key.map(|key| Some(key.to_owned())).ok_or_else(bad)
}

/// An idempotency key: 1 to 255 printable ASCII characters, bare or as a quoted string. White space around it is not part of
/// it, as around the value of any header, so that a key means the same in a header and in an item of a batch.
pub(crate) fn key_text(given: &str) -> Option<&str> {
    let given = given.trim_matches([' ', '\t']);
    let key = given.strip_prefix('"').and_then(|key| key.strip_suffix('"')).unwrap_or(given);
    let fits = (1..=255).contains(&key.len()) && key.bytes().all(|byte| (b' '..=b'~').contains(&byte));
    fits.then_some(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_return_preference_decides() {
        let of = |given: &[&'static str]| {
            let values = given.iter().map(|value| http::HeaderValue::from_static(value));
            ReturnPreference::of(&values.map(|value| (HeaderName::from_static("prefer"), value)).collect())
        };
        for minimal in [
            &["return=minimal"][..],
            &["Return = \"minimal\"; foo=bar"],
            &["respond-async, wait=10 , return=minimal"],
            &["respond-async", "return=minimal, return=representation"],
        ] {
            assert_eq!(of(minimal), ReturnPreference::Minimal, "{minimal:?}");
        }
        for whole in [
            &[][..],
            &["return=representation, return=minimal"],
            &["return", "minimal", ",;=,"],
            &["note=\"a, return=minimal\""],
            &["returns=minimal"],
        ] {
            assert_eq!(of(whole), ReturnPreference::Whole, "{whole:?}");
        }
    }
}
