//! The calls of the HTTP interface, a file for each noun, and the shapes that their answers share.

pub(crate) mod accounts;
pub(crate) mod bulk;
pub(crate) mod catalog;
pub(crate) mod claims;
pub(crate) mod dead_letters;
pub(crate) mod events;
pub(crate) mod health;
pub(crate) mod jobs;
pub(crate) mod keys;
pub(crate) mod logs;
pub(crate) mod overview;
pub(crate) mod pages;
pub(crate) mod reports;
pub(crate) mod stream;

use axum::extract::{FromRequestParts, Path};
use axum::response::{IntoResponse as _, Response};
use http::request::Parts;
use http::{HeaderValue, StatusCode, header};
use serde_json::{Value, json};
use tenure_core::decide::Done;
use tenure_core::id::{JobId, Name};
use tenure_core::job::Job;
use tenure_core::time::Now;
use tenure_core::wire;

use crate::problem::Problem;
use crate::query::{is_name, job_id};

/// What a handler comes to.
pub(crate) type Reply = Result<Response, Problem>;

/// JSON, with a status.
pub(crate) fn answer(status: StatusCode, body: &Value) -> Response {
    let mut response = (status, body.to_string()).into_response();
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// JSON.
#[allow(clippy::unnecessary_wraps, reason = "the last line of most handlers")]
pub(crate) fn ok(body: &Value) -> Reply {
    Ok(answer(StatusCode::OK, body))
}

/// A page of a listing.
#[allow(clippy::needless_pass_by_value, reason = "made for the occasion")]
pub(crate) fn page(plural: &str, rows: Vec<Value>, next_cursor: Option<String>) -> Reply {
    ok(&json!({ plural: rows, "next_cursor": next_cursor }))
}

/// The job that a command left behind, as JSON; a repeat and a word without effect are marked.
pub(crate) fn done(done: &Done, now: Now) -> Value {
    match done {
        Done::Job { job, replayed, ignored } => {
            let mut body = wire::job(job, now);
            if *replayed {
                body["replayed"] = json!(true);
            }
            if *ignored {
                body["ignored"] = json!(true);
            }
            body
        }
        Done::Beat { lease, cancel } => json!({ "lease": self::lease(lease, now), "cancel": cancel }),
        Done::Logged(lines) => json!({ "lines": lines }),
        Done::Account(account) => wire::account(*account),
        Done::Key { key, .. } => wire::api_key(key),
        Done::Claimed { jobs, .. } => {
            json!({ "jobs": jobs.iter().map(|job| claimed(job, now)).collect::<Vec<_>>() })
        }
        Done::Nothing => json!({}),
    }
}

/// The same as an answer, marked as a repeat where it is one.
pub(crate) fn done_reply(status: StatusCode, it: &Done, now: Now) -> Response {
    let replayed = matches!(it, Done::Job { replayed: true, .. } | Done::Key { replayed: true, .. });
    let mut response = answer(status, &done(it, now));
    if replayed {
        response.headers_mut().insert("idempotent-replayed", HeaderValue::from_static("true"));
    }
    response
}

/// A job as its worker gets it.
pub(crate) fn claimed(job: &Job, now: Now) -> Value {
    let mut body = wire::job(job, now);
    body["traceparent"] = json!(job.spec.traceparent());
    body["lease"] = job.lease.as_ref().map_or(Value::Null, |lease| self::lease(lease, now));
    body
}

fn lease(lease: &tenure_core::job::Lease, now: Now) -> Value {
    json!({
        "fence": lease.fence,
        "expires_at": now.calendar(lease.expires()),
        "heartbeat": lease.heartbeat,
        "ttl": lease.ttl,
    })
}

/// The job id in a path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Id(pub(crate) JobId);

impl<S: Send + Sync> FromRequestParts<S> for Id {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let Segments(mut segments) = Segments::from_request_parts(parts, state).await?;
        let text = segments.swap_remove(0);
        job_id(&text)
            .map(Self)
            .ok_or_else(|| Problem::malformed("#", format!("`{}` is not a job's id", text.escape_debug())))
    }
}

/// The variable parts of a path, decoded.
#[derive(Debug)]
pub(crate) struct Segments(pub(crate) Vec<String>);

impl<S: Send + Sync> FromRequestParts<S> for Segments {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let Path(segments) = Path::<Vec<(String, String)>>::from_request_parts(parts, state)
            .await
            .map_err(|_| Problem::malformed("#", "the path is not percent-encoded UTF-8"))?;
        Ok(Self(segments.into_iter().map(|(_, value)| value).collect()))
    }
}

/// A name in a path: a queue, a user, a key.
#[derive(Debug)]
pub(crate) struct Named(pub(crate) Name);

impl<S: Send + Sync> FromRequestParts<S> for Named {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let Segments(mut segments) = Segments::from_request_parts(parts, state).await?;
        let text = segments.swap_remove(0);
        let name = is_name(&text).then(|| Self(text.into()));
        name.ok_or_else(|| Problem::malformed("#", "a name has 1 to 255 bytes and no control characters"))
    }
}

/// A name in a body.
pub(crate) fn name(pointer: &str, text: Option<String>) -> Result<Option<Name>, Problem> {
    match text {
        Some(text) if is_name(&text) => Ok(Some(text.into())),
        Some(_) => Err(Problem::malformed(pointer, "must have 1 to 255 bytes and no control characters")),
        None => Ok(None),
    }
}

/// One item of a batch.
pub(crate) fn item(result: Result<Value, Problem>, instance: &str) -> Value {
    match result {
        Ok(body) => json!({ "ok": body }),
        Err(problem) => json!({ "error": problem.to_json(instance) }),
    }
}
