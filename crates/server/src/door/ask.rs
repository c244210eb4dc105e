//! The way in: a request at a door as the canonical one.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{FromRequestParts as _, Request};
use bytes::Bytes;
use http::{Method, Uri};
use serde_json::value::RawValue;
use tenure_core::id::JobId;
use tenure_core::json::Json;
use tenure_store::Store as _;

use super::answer::{each, within};
use super::words::{Object, members};
use super::{AtDoor, CANONICAL, Door};
use crate::app::App;
use crate::body::{self, ReadBefore};
use crate::caller::Caller;
use crate::gate::Known;
use crate::http::reports::VERBS;
use crate::problem::Problem;
use crate::query::{decode, job_id};

/// The fields of a job that may be sent with a new one.
const CREATED: &[&str] = &[
    "type",
    "payload",
    "lifecycle",
    "user_id",
    "queue",
    "priority",
    "run_at",
    "max_attempts",
    "correlation_id",
];
/// Those that jobs are listed by.
const LISTED: &[&str] = &[
    "state",
    "phase",
    "outcome",
    "lifecycle",
    "type",
    "queue",
    "user_id",
    "worker",
    "correlation_id",
    "retry_of",
];
/// Those that a worker reports.
const REPORTED: &[&str] = &["worker", "progress", "result", "error", "checkpoint"];

/// What a path below a mount leads to, as far as words are concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Route {
    Jobs,
    Batch,
    Actions,
    /// One job, as it is or as a caller's call leaves it, or explained.
    Job,
    Replay,
    Report,
    Signal,
    Stream,
    Logs,
    /// Its assets, or one of them.
    Assets,
    /// Its events, what an asset contains, and whatever else has no words of a job.
    Other,
}

impl Route {
    fn of(segments: &[&str]) -> Self {
        match segments {
            [] => Self::Jobs,
            ["batch"] => Self::Batch,
            ["actions"] => Self::Actions,
            [_] | [_, "explain" | "cancel" | "retry" | "dead-letter"] => Self::Job,
            [_, "replay"] => Self::Replay,
            [_, "stream"] => Self::Stream,
            [_, "logs"] => Self::Logs,
            [_, "signals", _] => Self::Signal,
            [_, "assets"] | [_, "assets", _] => Self::Assets,
            [_, verb] if VERBS.contains(verb) => Self::Report,
            _ => Self::Other,
        }
    }

    /// The same for a path of the description.
    pub(super) fn of_path(path: &str) -> Self {
        let steps: Vec<&str> = path.split('/').filter(|step| !step.is_empty()).collect();
        Self::of(&steps)
    }

    /// The fields of a job that its query may name.
    pub(super) fn queried(self) -> &'static [&'static str] {
        match self {
            Self::Jobs => LISTED,
            Self::Replay => &["seq"],
            Self::Assets => &["worker"],
            _ => &[],
        }
    }

    /// The fields of a job that its body may have; `None` where the body is not ours to read.
    fn sent(self) -> Option<&'static [&'static str]> {
        match self {
            Self::Jobs | Self::Batch => Some(CREATED),
            Self::Actions => Some(LISTED),
            Self::Report => Some(REPORTED),
            Self::Signal => Some(&["payload"]),
            Self::Logs => Some(&["worker"]),
            Self::Job => Some(&[]),
            Self::Replay | Self::Stream | Self::Assets | Self::Other => None,
        }
    }
}

/// One request at a door.
#[derive(Debug)]
pub(super) struct Visit {
    pub(super) door: Arc<Door>,
    pub(super) method: Method,
    pub(super) route: Route,
    /// As it was asked for.
    pub(super) path: String,
    /// As it is answered inside.
    pub(super) inside: String,
    /// The body went in as it was sent, since it cannot be read.
    pub(super) is_as_sent: bool,
    job: Option<JobId>,
}

impl Visit {
    /// `rest` is what the path has below the mount; a slash at its end is ignored.
    pub(super) fn new(door: Arc<Door>, request: &Request, rest: &str) -> Self {
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        let segments: Vec<&str> = rest.split('/').skip(1).collect();
        let route = Route::of(&segments);
        let named = segments.first().filter(|_| !matches!(route, Route::Batch | Route::Actions));
        let job = named.and_then(|text| job_id(&decode(text).ok()?));
        let (method, path) = (request.method().clone(), request.uri().path().to_owned());
        Self { door, method, route, path, inside: format!("{CANONICAL}{rest}"), is_as_sent: false, job }
    }

    /// The request as it is answered inside. Whoever is not known is refused there.
    pub(super) async fn ask(&mut self, app: &App, request: Request) -> Result<Request, Problem> {
        let (mut parts, mut body) = request.into_parts();
        let known = Caller::from_request_parts(&mut parts, app).await;
        let mut inside = self.inside.clone();
        if known.is_ok() {
            self.check_job(app).await?;
            inside.push_str(&self.query(parts.uri.query().unwrap_or_default())?);
            if self.method == Method::POST
                && let Some(takes) = self.route.sent()
            {
                let text = body::read(body, &parts.headers, app.limits().body).await?;
                parts.extensions.insert(ReadBefore(self.canonical(text, takes)?));
                body = Body::empty();
            }
        }
        parts.uri =
            Uri::try_from(inside).expect("a path that was asked for below another beginning is a path");
        if self.method == Method::HEAD {
            // The answer is put into other words before its length is known.
            parts.method = Method::GET;
        }
        parts.extensions.insert(Known(known));
        if self.method == Method::POST && matches!(self.route, Route::Jobs | Route::Batch) {
            parts.extensions.insert(AtDoor(Some((Arc::clone(&self.door), app.runtime().catalog()))));
        }
        Ok(Request::from_parts(parts, body))
    }

    /// A job of another lifecycle is not there.
    async fn check_job(&self, app: &App) -> Result<(), Problem> {
        let Some(id) = self.job else { return Ok(()) };
        match app.store().job(id).await? {
            Some(job) if job.spec.lifecycle.name != self.door.lifecycle => Err(Problem::not_found("job", id)),
            _ => Ok(()),
        }
    }

    fn only_its_own(&self, pointer: &str) -> Problem {
        Problem::malformed(pointer, format!("here every job follows {}", self.door.lifecycle))
    }

    /// The query in canonical words, with its `?`; a listing has jobs of this lifecycle alone.
    fn query(&self, sent: &str) -> Result<String, Problem> {
        let own = self.door.lifecycle.as_str();
        let mut pairs = Vec::new();
        let mut narrowed = !(self.route == Route::Jobs && matches!(self.method, Method::GET | Method::HEAD));
        for pair in sent.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let name = decode(name)?;
            let name = self.door.words.canonical_name(&name, self.route.queried());
            if !narrowed && name == "lifecycle" {
                if decode(value)? != own {
                    return Err(self.only_its_own("?lifecycle"));
                }
                narrowed = true;
            }
            pairs.push(format!("{}={value}", encode(&name)));
        }
        if !narrowed {
            pairs.push(format!("lifecycle={own}"));
        }
        Ok(if pairs.is_empty() { String::new() } else { format!("?{}", pairs.join("&")) })
    }

    /// The body in canonical words. What is not JSON stays as it is, and is refused inside.
    fn canonical(&mut self, sent: Bytes, takes: &[&str]) -> Result<Bytes, Problem> {
        let text = std::str::from_utf8(&sent).ok().and_then(|text| Json::check(text).ok());
        let Some(whole) = text.and_then(|text| serde_json::from_str::<&RawValue>(text).ok()) else {
            self.is_as_sent = true;
            return Ok(sent);
        };
        let words = &self.door.words;
        let made = match self.route {
            Route::Batch => within(whole, "jobs", |jobs| each(jobs, |job| words.canonical(job, takes))),
            Route::Actions => {
                let filter = members(whole).into_iter().flatten().find(|(name, _)| name == "filter");
                if filter.is_some_and(|(_, filter)| self.asks_for_others(&words.canonical(filter, takes))) {
                    return Err(self.only_its_own("#/filter/lifecycle"));
                }
                within(whole, "filter", |filter| self.narrowed(&words.canonical(filter, takes)))
            }
            _ => words.canonical(whole, takes),
        };
        Ok(Bytes::from(made.get().to_owned()))
    }

    fn asks_for_others(&self, filter: &RawValue) -> bool {
        let asked = members(filter).into_iter().flatten().find(|(name, _)| name == "lifecycle");
        asked.is_some_and(|(_, asked)| {
            serde_json::from_str::<Option<String>>(asked.get())
                .is_ok_and(|asked| asked.is_some_and(|asked| asked != self.door.lifecycle.as_str()))
        })
    }

    /// A filter for jobs of this lifecycle alone.
    fn narrowed(&self, filter: &RawValue) -> Box<RawValue> {
        let Some(members) = members(filter) else { return filter.to_owned() };
        let mut object = Object::default();
        let is_null = |(name, value): &&(String, &RawValue)| name == "lifecycle" && value.get() == "null";
        for (name, value) in members.iter().filter(|member| !is_null(member)) {
            object.member(name, value.get());
        }
        if members.iter().filter(|member| !is_null(member)).all(|(name, _)| name != "lifecycle") {
            object.member("lifecycle", &format!("\"{}\"", self.door.lifecycle));
        }
        object.finish()
    }
}

/// Percent-encodes a name of a query.
fn encode(name: &str) -> String {
    let one = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    name.bytes().map(one).collect()
}
