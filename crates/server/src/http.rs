//! The calls of the HTTP interface, a file for each noun, and the shapes that their answers share.

pub(crate) mod accounts;
pub(crate) mod assets;
pub(crate) mod bulk;
pub(crate) mod catalog;
pub(crate) mod claims;
pub(crate) mod dead_letters;
pub(crate) mod events;
pub(crate) mod health;
pub(crate) mod jobs;
pub(crate) mod keys;
pub(crate) mod logs;
mod orders;
pub(crate) mod overview;
pub(crate) mod pages;
pub(crate) mod reports;
pub(crate) mod schedules;
pub(crate) mod stream;
pub(crate) mod webhooks;

use axum::extract::{FromRequestParts, Path, RawPathParams};
use axum::response::{IntoResponse as _, Response};
use http::request::Parts;
use http::{HeaderValue, StatusCode, header};
use serde::Serialize;
use serde::ser::{SerializeMap as _, Serializer};
use serde_json::Value;
use tenure_core::decide::Done;
use tenure_core::id::{JobId, Name};
use tenure_core::time::Now;
use tenure_core::wire::{self, JobForm, LeaseForm};

use crate::app::App;
use crate::headers::Extent;
use crate::problem::Problem;
use crate::query::{is_name, job_id};

/// What most answers weigh: a job.
const ANSWER_BYTES: usize = 1024;

/// What a handler comes to.
pub(crate) type Reply = Result<Response, Problem>;

/// JSON, with a status.
pub(crate) fn answer(status: StatusCode, body: &impl Serialize) -> Response {
    let mut text = Vec::with_capacity(ANSWER_BYTES);
    serde_json::to_writer(&mut text, body).expect("our values have string keys and finite numbers");
    let mut response = (status, text).into_response();
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// JSON.
#[allow(clippy::unnecessary_wraps, reason = "the last line of most handlers")]
pub(crate) fn ok(body: &impl Serialize) -> Reply {
    Ok(answer(StatusCode::OK, body))
}

/// A page of a listing.
pub(crate) fn page<T: Serialize>(plural: &str, rows: Vec<T>, next_cursor: Option<String>) -> Reply {
    struct Page<'a, T>(&'a str, Vec<T>, Option<String>);
    impl<T: Serialize> Serialize for Page<'_, T> {
        fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
            let mut map = to.serialize_map(Some(2))?;
            map.serialize_entry(self.0, &self.1)?;
            map.serialize_entry("next_cursor", &self.2)?;
            map.end()
        }
    }
    ok(&Page(plural, rows, next_cursor))
}

/// What a command left behind, as it is written; a repeat and a word without effect are marked.
#[derive(Clone, Debug)]
pub(crate) struct Shown {
    pub(crate) done: Done,
    pub(crate) now: Now,
}

impl Serialize for Shown {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let now = self.now;
        match &self.done {
            Done::Job { job, replayed, ignored } => {
                JobForm { replayed: *replayed, ignored: *ignored, ..JobForm::new(job, now) }.serialize(to)
            }
            Done::Beat { lease, cancel } => {
                let mut map = to.serialize_map(Some(2))?;
                map.serialize_entry("lease", &LeaseForm { lease, now, whole: true })?;
                map.serialize_entry("cancel", cancel)?;
                map.end()
            }
            Done::Claimed { jobs, .. } => {
                let claimed = |job| JobForm { claimed: true, ..JobForm::new(job, now) };
                let jobs: Vec<JobForm<'_>> = jobs.iter().map(|job| claimed(&**job)).collect();
                to.collect_map([("jobs", jobs)])
            }
            Done::Logged(lines) => to.collect_map([("lines", lines)]),
            Done::Account(account) => wire::account(*account).serialize(to),
            Done::Key { key, .. } => wire::api_key(key).serialize(to),
            Done::Order { order, .. } => wire::order(order).serialize(to),
            Done::Asset { asset, .. } => wire::asset(asset).serialize(to),
            Done::Nothing => to.serialize_map(Some(0))?.end(),
        }
    }
}

/// The same as an answer, marked as a repeat where it is one.
pub(crate) fn done_reply(status: StatusCode, done: Done, now: Now) -> Response {
    let replayed = matches!(
        done,
        Done::Job { replayed: true, .. }
            | Done::Key { replayed: true, .. }
            | Done::Asset { replayed: true, .. }
    );
    let mut response = answer(status, &Shown { done, now });
    if replayed {
        mark_replayed(&mut response);
    }
    response
}

/// What is told of a job to those who do not need the whole of it.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Brief {
    id: JobId,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    replayed: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    ignored: bool,
}

impl Brief {
    /// Of what a command left behind, if that is a job and the caller wants no more.
    pub(crate) fn of(done: &Done, extent: Extent) -> Option<Self> {
        match done {
            Done::Job { job, replayed, ignored } if extent == Extent::Minimal => {
                Some(Self { id: job.id(), replayed: *replayed, ignored: *ignored })
            }
            _ => None,
        }
    }

    /// The same as an answer.
    pub(crate) fn reply(self, status: StatusCode) -> Response {
        minimal(answer(status, &self), self.replayed)
    }
}

/// The job that a call has changed, or that it has, where the caller wants no more. What had no effect is told whole.
pub(crate) fn changed(done: Done, app: &App, extent: Extent) -> Response {
    match Brief::of(&done, extent) {
        Some(Brief { replayed, ignored: false, .. }) => {
            minimal(StatusCode::NO_CONTENT.into_response(), replayed)
        }
        _ => done_reply(StatusCode::OK, done, app.runtime().reading()),
    }
}

/// Says that no more was told than was wanted, and whether it had been done before.
fn minimal(mut response: Response, replayed: bool) -> Response {
    response.headers_mut().insert("preference-applied", HeaderValue::from_static("return=minimal"));
    if replayed {
        mark_replayed(&mut response);
    }
    response
}

/// Says that this had been done before.
pub(crate) fn mark_replayed(response: &mut Response) {
    response.headers_mut().insert("idempotent-replayed", HeaderValue::from_static("true"));
}

/// One part of a batch's answer.
pub(crate) enum Part {
    Ok(Box<Shown>),
    Brief(Brief),
    Error(Value),
}

impl Part {
    pub(crate) fn new(result: Result<Done, Problem>, now: Now, (instance, extent): (&str, Extent)) -> Self {
        match result {
            Ok(done) => match Brief::of(&done, extent) {
                Some(brief) => Self::Brief(brief),
                None => Self::Ok(Box::new(Shown { done, now })),
            },
            Err(problem) => Self::Error(problem.to_json(instance)),
        }
    }
}

impl Serialize for Part {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Ok(shown) => to.collect_map([("ok", shown)]),
            Self::Brief(brief) => to.collect_map([("ok", brief)]),
            Self::Error(problem) => to.collect_map([("error", problem)]),
        }
    }
}

/// `{ "results": [ … ] }`: one for each, in order.
#[allow(clippy::unnecessary_wraps, reason = "the last line of handlers")]
pub(crate) fn results(parts: Vec<Part>, extent: Extent) -> Reply {
    let response = answer(StatusCode::OK, &std::collections::BTreeMap::from([("results", parts)]));
    Ok(if extent == Extent::Minimal { minimal(response, false) } else { response })
}

/// The job id in a path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Id(pub(crate) JobId);

impl<S: Send + Sync> FromRequestParts<S> for Id {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let segments = RawPathParams::from_request_parts(parts, state).await.map_err(|_| undecoded())?;
        let text = segments.iter().next().map_or("", |(_, text)| text);
        job_id(text)
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
        let Path(segments) =
            Path::<Vec<(String, String)>>::from_request_parts(parts, state).await.map_err(|_| undecoded())?;
        Ok(Self(segments.into_iter().map(|(_, value)| value).collect()))
    }
}

fn undecoded() -> Problem {
    Problem::malformed("#", "the path is not percent-encoded UTF-8")
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
