//! The handlers of the HTTP API, a file for each noun, and the answers that they share.

pub(crate) mod accounts;
pub(crate) mod assets;
pub(crate) mod audit;
mod automations;
mod batch_answer;
pub(crate) mod bulk;
pub(crate) mod catalog;
pub(crate) mod claims;
pub(crate) mod dead_letters;
pub(crate) mod events;
pub(crate) mod health;
pub(crate) mod history;
pub(crate) mod jobs;
pub(crate) mod keys;
pub(crate) mod logs;
pub(crate) mod pages;
mod prelude;
pub(crate) mod reports;
pub(crate) mod resources;
pub(crate) mod schedules;
pub(crate) mod stream;
pub(crate) mod system;
pub(crate) mod users;
pub(crate) mod webhooks;

use axum::body::Body;
use axum::response::{IntoResponse as _, Response};
use http::{HeaderValue, StatusCode, header};
use serde::Serialize;
use serde::ser::{SerializeMap as _, Serializer};
use tenure_api::{CallId, JobBriefOf};
use tenure_core::automation::Automation;
use tenure_core::time::Now;
use tenure_service::extract::Reply;
use tenure_service::wire::{ClaimedTrace, JobExtras, JobView};

use crate::headers::ReturnPreference;
use crate::prelude::*;
use crate::telemetry;

/// The usual size of an answer: a job.
const ANSWER_BYTES: usize = 1024;

/// An answer with a JSON body.
pub(crate) fn answer(status: StatusCode, body: &impl Serialize) -> Response {
    let mut text = Vec::with_capacity(ANSWER_BYTES);
    serde_json::to_writer(&mut text, body).expect("our values have string keys and finite numbers");
    let mut response = (status, text).into_response();
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// An answer that is text of this kind. `Bytes` and a `&'static str` are not copied.
pub(crate) fn text(kind: &'static str, body: impl Into<Body>) -> Response {
    let body: Body = body.into();
    ([(header::CONTENT_TYPE, kind)], body).into_response()
}

/// Adds the path of what was created.
pub(crate) fn set_location(response: &mut Response, path: String) {
    if let Ok(path) = HeaderValue::try_from(path) {
        response.headers_mut().insert(header::LOCATION, path);
    }
}

#[allow(clippy::unnecessary_wraps, reason = "the last line of most handlers")]
pub(crate) fn ok(body: &impl Serialize) -> Reply {
    Ok(answer(StatusCode::OK, body))
}

/// A page of a list, in the form that the table describes for the call.
pub(crate) fn page<T: Serialize>(call: CallId, rows: Vec<T>, next_cursor: Option<String>) -> Reply {
    struct Page<T>(&'static str, Vec<T>, Option<String>);
    impl<T: Serialize> Serialize for Page<T> {
        fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
            let mut map = to.serialize_map(Some(2))?;
            map.serialize_entry(self.0, &self.1)?;
            map.serialize_entry("next_cursor", &self.2)?;
            map.end()
        }
    }
    let name = call.call().rows().expect("the table describes the call as a list");
    ok(&Page(name, rows, next_cursor))
}

/// The cursor of the next page: the last row, if the page is full.
pub(crate) fn next_cursor<T>(rows: &[T], limit: usize, cursor: impl Fn(&T) -> String) -> Option<String> {
    rows.last().filter(|_| rows.len() == limit).map(cursor)
}

/// The output of a command, as it is answered.
#[derive(Clone, Debug)]
pub(crate) struct OutputAnswer {
    pub(crate) output: CommandOutput,
    pub(crate) now: Now,
}

impl Serialize for OutputAnswer {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let now = self.now;
        match &self.output {
            CommandOutput::Job { job, replayed, ignored } => {
                let extras = JobExtras { replayed: *replayed, ignored: *ignored, ..JobExtras::default() };
                wire::job_with(job, now, extras).serialize(to)
            }
            CommandOutput::Amended(job) => wire::job(job, now).serialize(to),
            CommandOutput::Heartbeat { lease, cancel } => {
                wire::heartbeat_answer(lease, *cancel, now).serialize(to)
            }
            CommandOutput::Claimed { jobs, .. } => {
                let is_traced = telemetry::is_traced();
                let trace = if is_traced { ClaimedTrace::Attempt } else { ClaimedTrace::Job };
                let extras = JobExtras { claimed: Some(trace), ..JobExtras::default() };
                let jobs: Vec<_> = jobs.iter().map(|job| JobView { job, now, extras }).collect();
                to.collect_map([("jobs", jobs)])
            }
            CommandOutput::Logged(lines) => tenure_api::LogCount { lines: *lines }.serialize(to),
            CommandOutput::Account(account) => wire::account(*account).serialize(to),
            CommandOutput::Key { key, .. } => wire::api_key(key).serialize(to),
            CommandOutput::Automation { automation, .. } => match &**automation {
                Automation::Schedule(schedule) => wire::schedule(schedule).serialize(to),
                Automation::Webhook(webhook) => wire::webhook(webhook).serialize(to),
                // The call that erases answers with its progress.
                Automation::Erasure(_) => to.serialize_map(Some(0))?.end(),
            },
            CommandOutput::Asset { asset, .. } => wire::asset(asset).serialize(to),
            CommandOutput::TakenIn { .. } | CommandOutput::RequestBound { .. } | CommandOutput::Nothing => {
                to.serialize_map(Some(0))?.end()
            }
        }
    }
}

/// The answer to a command, marked if the command had been executed before.
pub(crate) fn output_reply(status: StatusCode, output: CommandOutput, now: Now) -> Response {
    let replayed = matches!(
        output,
        CommandOutput::Job { replayed: true, .. }
            | CommandOutput::Key { replayed: true, .. }
            | CommandOutput::Asset { replayed: true, .. }
    );
    let mut response = answer(status, &OutputAnswer { output, now });
    if replayed {
        mark_replayed(&mut response);
    }
    response
}

/// A job without its fields, if the output is a job and the caller prefers that.
pub(crate) fn brief(
    output: &CommandOutput,
    preference: ReturnPreference,
) -> Option<JobBriefOf<Borrowed<'static>>> {
    match output {
        CommandOutput::Amended(job) if preference == ReturnPreference::Minimal => {
            Some(wire::brief(job, JobExtras::default()))
        }
        CommandOutput::Job { job, replayed, ignored } if preference == ReturnPreference::Minimal => {
            let extras = JobExtras { replayed: *replayed, ignored: *ignored, ..JobExtras::default() };
            Some(wire::brief(job, extras))
        }
        _ => None,
    }
}

/// The answer to a call that changes a job. An ignored call is answered with the whole job.
pub(crate) fn changed(call: &CallContext, output: CommandOutput) -> Response {
    match brief(&output, call.preference) {
        Some(brief) if !brief.ignored => minimal(StatusCode::NO_CONTENT.into_response(), brief.replayed),
        _ => output_reply(StatusCode::OK, output, call.runtime().reading()),
    }
}

/// Marks an answer as reduced, and as a repeat if it is one.
pub(crate) fn minimal(mut response: Response, replayed: bool) -> Response {
    response.headers_mut().insert("preference-applied", HeaderValue::from_static("return=minimal"));
    if replayed {
        mark_replayed(&mut response);
    }
    response
}

/// Marks the answer to a repeated call.
pub(crate) fn mark_replayed(response: &mut Response) {
    response.headers_mut().insert("idempotent-replayed", HeaderValue::from_static("true"));
}

/// The output for one item of a batch.
#[derive(Serialize)]
#[serde(untagged)]
pub(crate) enum ItemOutput {
    Whole(Box<OutputAnswer>),
    Brief(JobBriefOf<Borrowed<'static>>),
}

impl ItemOutput {
    fn of(call: &CallContext, output: CommandOutput, preference: ReturnPreference) -> Self {
        match brief(&output, preference) {
            Some(brief) => Self::Brief(brief),
            None => Self::Whole(Box::new(OutputAnswer { output, now: call.runtime().reading() })),
        }
    }
}
