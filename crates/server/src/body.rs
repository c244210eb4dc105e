//! Parses request bodies strictly: declared as JSON, UTF-8, within limits, no duplicate keys, no unknown fields.

use axum::extract::{FromRequest, Request};
use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, header};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tenure_api::{CallId, ObjectOnly};
use tenure_config::Limits;
use tenure_core::limits::{CALL_BODY_BYTES_MAX, JOB_BODY_BYTES_MAX};
use tenure_service::body::read;

use crate::headers::idempotency_key;
use crate::prelude::*;

/// Larger bodies are checked and parsed on a thread for blocking work, so that other requests of this thread do not wait.
const BLOCKING_BYTES_MIN: usize = 256 << 10;

/// The limit of a request's body, which the router sets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BodyLimit(pub(crate) usize);

impl BodyLimit {
    /// Only calls about many jobs or lines have bodies up to `limits.body`.
    pub(crate) fn of(call: CallId, limits: &Limits) -> Self {
        let bytes_max = match call {
            CallId::CreateJobs | CallId::ReportJobs | CallId::AppendJobLogs => limits.body,
            CallId::CreateJob
            | CallId::AmendJob
            | CallId::SignalJob
            | CallId::CreateSchedule
            | CallId::ReplaceSchedule => JOB_BODY_BYTES_MAX,
            _ if call.verb().is_some() => JOB_BODY_BYTES_MAX,
            _ => CALL_BODY_BYTES_MAX,
        };
        Self(bytes_max.min(limits.body))
    }
}

/// A body: a required one, or one that may be empty because the call has no required fields.
#[derive(Debug)]
pub(crate) struct Body<T, const REQUIRED: bool = true> {
    pub(crate) value: T,
    /// The `Idempotency-Key`, with the digest of the body.
    pub(crate) key: Option<IdempotencyKey>,
}

pub(crate) type OptionalBody<T> = Body<T, false>;

impl<T: DeserializeOwned + Send + 'static, const REQUIRED: bool> FromRequest<App> for Body<T, REQUIRED> {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &App) -> Result<Self> {
        let (mut parts, body) = request.into_parts();
        if REQUIRED {
            check_media_type(&parts.headers)?;
        }
        let text = text_of(&mut parts, body, app).await?;
        let is_absent = !REQUIRED && text.is_empty();
        if !REQUIRED && !is_absent {
            check_media_type(&parts.headers)?;
        }
        let text = if is_absent { Bytes::from_static(b"{}") } else { text };
        let key = idempotency_key(&parts.headers);
        unblocked(text.len(), move || {
            let text = check(utf8(&text)?)?;
            let with_digest = |key: String| {
                let fingerprint = Json::stored(text).digest();
                IdempotencyKey { key: key.into(), fingerprint }
            };
            let key = key?.map(with_digest);
            Ok(Self { value: parse(text)?, key })
        })
        .await
    }
}

/// Runs work on this many bytes here, or on a thread for blocking work if they are many.
pub(crate) async fn unblocked<T: Send + 'static>(
    bytes: usize,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    if bytes <= BLOCKING_BYTES_MIN {
        return work();
    }
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        // The runtime is shutting down.
        Err(_) => Err(Problem::new(ProblemCode::Overloaded, "the server is shutting down").retry_after(1)),
    }
}

/// The body of a batch. Only its outer form is checked here: its items are checked one by one where they are used, so that
/// an invalid one does not affect the others.
#[derive(Debug)]
pub(crate) struct BatchBody<T> {
    pub(crate) value: T,
    /// The `Idempotency-Key` of the request.
    pub(crate) key: Option<String>,
}

impl<T: DeserializeOwned + Send + 'static> FromRequest<App> for BatchBody<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &App) -> Result<Self> {
        let (mut parts, body) = request.into_parts();
        check_media_type(&parts.headers)?;
        let text = text_of(&mut parts, body, app).await?;
        let key = idempotency_key(&parts.headers);
        unblocked(text.len(), move || {
            let text = utf8(&text)?;
            // If the whole text is not valid, that is the better message.
            let value = parse(text).map_err(|problem| check(text).err().unwrap_or(problem))?;
            Ok(Self { value, key: key? })
        })
        .await
    }
}

fn utf8(text: &[u8]) -> Result<&str> {
    std::str::from_utf8(text).map_err(|_| Problem::malformed("#", "the body is not UTF-8"))
}

/// Text that is JSON without duplicate keys.
pub(crate) fn check(text: &str) -> Result<&str> {
    Json::check(text).map_err(|flaw| Problem::malformed("#", flaw.to_string()))
}

/// Parses checked JSON.
pub(crate) fn parse<T: for<'de> Deserialize<'de>>(text: &str) -> Result<T> {
    serde_json::from_str(text).map(|ObjectOnly(value)| value).map_err(|error| {
        let message = error.to_string();
        let place = format!(" at line {} column {}", error.line(), error.column());
        let detail = message.strip_suffix(&place).unwrap_or(&message);
        Problem::malformed(pointer_of(text, error.line(), error.column(), detail), detail)
    })
}

/// The field of an error: the one its message names, or the one where parsing stopped.
fn pointer_of(text: &str, line: usize, column: usize, detail: &str) -> String {
    let named = ["unknown field `", "missing field `", "duplicate field `"];
    if let Some(rest) = named.iter().find_map(|start| detail.strip_prefix(start)) {
        return format!("#/{}", rest.split('`').next().unwrap_or_default());
    }
    let lines: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    let upto = text.as_bytes().get(..(lines + column).min(text.len())).unwrap_or_default();
    pointer_at(upto)
}

/// The path of keys and indexes at the end of a truncated JSON text.
fn pointer_at(text: &[u8]) -> String {
    let mut open: Vec<(u8, String)> = Vec::new();
    let (mut string, mut last, mut escaped) = (None::<String>, String::new(), false);
    for &byte in text {
        if let Some(current) = &mut string {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => last = string.take().unwrap_or_default(),
                _ => current.push(char::from(byte)),
            }
            continue;
        }
        match (byte, open.last_mut()) {
            (b'"', _) => string = Some(String::new()),
            (b'{', _) => open.push((b'{', String::new())),
            (b'[', _) => open.push((b'[', "0".to_owned())),
            (b'}' | b']', Some(_)) => drop(open.pop()),
            (b':', Some((b'{', key))) => key.clone_from(&last),
            (b',', Some((b'[', index))) => {
                *index = (index.parse::<usize>().unwrap_or(0) + 1).to_string();
            }
            _ => {}
        }
    }
    let steps = open.iter().filter(|(_, step)| !step.is_empty());
    let steps: Vec<String> = steps.map(|(_, step)| step.replace('~', "~0").replace('/', "~1")).collect();
    if steps.is_empty() { "#".to_owned() } else { format!("#/{}", steps.join("/")) }
}

fn check_media_type(headers: &HeaderMap) -> Result<()> {
    let unsupported = |detail: &str| Err(Problem::new(ProblemCode::UnsupportedMediaType, detail));
    if headers.get(header::CONTENT_ENCODING).is_some_and(|encoding| encoding != "identity") {
        return unsupported("Content-Encoding is not supported; send the body without it");
    }
    let given = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if given == "application/json" {
        return Ok(());
    }
    let mut parts = given.split(';').map(str::trim);
    let is_json = parts.next().is_some_and(|kind| kind.eq_ignore_ascii_case("application/json"));
    let mut settings = parts.filter(|part| !part.is_empty());
    let is_utf8 = |part: &str| {
        part.split_once('=').is_some_and(|(name, value)| {
            name.eq_ignore_ascii_case("charset") && value.trim_matches('"').eq_ignore_ascii_case("utf-8")
        })
    };
    if is_json && settings.all(is_utf8) { Ok(()) } else { unsupported("send application/json in UTF-8") }
}

/// A body that a lifecycle API has read already, within limits, and may have rewritten.
#[derive(Clone, Debug)]
pub(crate) struct BufferedBody(pub(crate) Bytes);

async fn text_of(parts: &mut Parts, body: axum::body::Body, app: &App) -> Result<Bytes> {
    if let Some(BufferedBody(text)) = parts.extensions.remove() {
        return Ok(text);
    }
    let limit = parts.extensions.get().map_or(app.limits().body, |BodyLimit(limit)| *limit);
    read(body, &parts.headers, limit).await
}
