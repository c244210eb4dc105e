//! Requests of callers as values: new jobs, pages, claims and reports.

use std::time::{Duration, SystemTime};

use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use tenure_api::{CancelMode, instant, request, span};

use crate::error::{Error, Result};

pub use tenure_api::Verb;
pub use tenure_api::request::{
    DeadLetterFilter, EventFilter, JobFilter, NewAsset, NewKey, NewKeyScopes, NewLine, NewSchedule,
    NewWebhook, NewWebhookFilter, StatsFilter,
};

/// A job to create.
#[derive(Clone, Debug)]
#[must_use = "a new job exists after it is passed to `create` or `enqueue`"]
pub struct NewJob {
    pub(crate) body: request::NewJob,
    pub(crate) key: Key,
    pub(crate) traceparent: Option<String>,
}

/// The source of a new job's idempotency key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    Made,
    Given(String),
    Derived,
}

impl NewJob {
    /// A job of this type with this payload.
    pub fn new(job_type: impl Into<String>, payload: &impl Serialize) -> Result<Self> {
        let payload = Some(to_raw("the payload", payload)?);
        let body = request::NewJob { job_type: job_type.into(), payload, ..request::NewJob::default() };
        Ok(Self { body, key: Key::Made, traceparent: None })
    }

    setters! {
        /// A second creation with the same key returns the first job. Without a key the client makes one for each call
        /// of `create`, so that it can repeat a call whose answer was lost.
        key(key: impl Into<String>) => key = Key::Given(key.into());
        /// The queue, instead of the type's.
        queue(queue: impl Into<String>) => body.queue = Some(queue.into());
        /// Higher is claimed first.
        priority(priority: i32) => body.priority = Some(priority.into());
        /// Cannot be claimed before this time.
        run_at(time: SystemTime) => body.run_at = Some(instant::text(time));
        /// Cannot be claimed before this much time has passed.
        delay(delay: Duration) => body.delay = Some(span::text(delay));
        /// The owner.
        user(user: impl Into<String>) => body.user_id = Some(user.into());
        /// The lifecycle, where the type allows a choice.
        lifecycle(lifecycle: impl Into<String>) => body.lifecycle = Some(lifecycle.into());
        /// How many attempts may fail, instead of the type's number.
        max_attempts(count: u32) => body.max_attempts = Some(count.into());
        /// Groups related jobs; the worker and every event have it.
        correlation(id: impl Into<String>) => body.correlation_id = Some(id.into());
        /// The W3C trace context that this job continues.
        traceparent(traceparent: impl Into<String>) => traceparent = Some(traceparent.into());
    }

    /// Sends no key, so that the key that the lifecycle derives decides which jobs are the same. A call whose answer
    /// was lost is then not repeated.
    pub fn derived_key(self) -> Self {
        Self { key: Key::Derived, ..self }
    }
}

/// New values of a job that no worker holds. The others stay.
#[derive(Clone, Debug, Default)]
#[must_use = "a job is changed after this is passed to `amend`"]
pub struct Amendment {
    pub(crate) body: request::Amend,
    pub(crate) if_seq: Option<u64>,
}

impl Amendment {
    setters! {
        /// Higher is claimed first.
        priority(priority: i32) => body.priority = Some(priority.into());
        /// Cannot be claimed before this time.
        run_at(time: SystemTime) => body.run_at = Some(instant::text(time));
        /// Refused with `precondition_failed` unless this is the job's `seq`.
        if_seq(seq: u64) => if_seq = Some(seq);
    }

    /// Replaces the payload.
    pub fn payload(mut self, payload: &impl Serialize) -> Result<Self> {
        self.body.payload = Some(to_raw("the payload", payload)?);
        Ok(self)
    }
}

/// Which page of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Page {
    /// At most this many; `None` for the server's default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// Where it begins: the `next_cursor` of the previous page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// Which dead letters to redrive.
#[derive(Clone, Debug)]
pub enum Redrive {
    /// Those of these jobs.
    Ids(Vec<String>),
    /// Those that match.
    Filter(Box<DeadLetterFilter>),
}

/// An action on every job that matches a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Cancel it in this mode.
    Cancel(CancelMode),
    /// Create a new job like it.
    Retry,
    /// Delete it, if it is finished.
    Delete,
}

/// A worker's request for jobs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Claim {
    pub worker: String,
    /// Only of these types; any if empty.
    pub types: Vec<String>,
    /// Only from these queues; any if empty.
    pub queues: Vec<String>,
    /// At most this many jobs.
    pub max: u32,
    /// How long to wait for jobs.
    pub wait: Option<Duration>,
    /// The same request again returns the same jobs.
    pub request_id: Option<String>,
    /// Whether the jobs are started too.
    pub start: bool,
}

impl Claim {
    pub(crate) fn body(&self) -> request::Claim {
        let named = |names: &[String]| (!names.is_empty()).then(|| names.to_vec());
        request::Claim {
            worker: self.worker.clone(),
            types: named(&self.types),
            queues: named(&self.queues),
            max: Some(self.max.into()),
            wait: self.wait.map(span::text),
            request_id: self.request_id.clone(),
            start: self.start,
        }
    }
}

/// A worker's report about a job that it holds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    pub job: String,
    /// The fence of the worker's lease.
    pub fence: u64,
    /// The kind of report.
    pub verb: Verb,
    /// Members that belong to the verb, such as `result` or `error`.
    #[serde(flatten)]
    pub body: Map<String, Value>,
}

impl Report {
    /// A report without further members.
    pub fn new(job: impl Into<String>, fence: u64, verb: Verb) -> Self {
        Self { job: job.into(), fence, verb, body: Map::new() }
    }

    /// Adds a member.
    #[must_use]
    pub fn with(mut self, field: &str, value: Value) -> Self {
        self.body.insert(field.into(), value);
        self
    }
}

/// The holder of a lease: part of every report of a worker about a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Holder {
    pub worker: String,
    /// The fence of its lease.
    pub fence: u64,
}

fn not_json(what: &str, why: &serde_json::Error) -> Error {
    Error::Protocol(format!("{what} cannot be written as JSON: {why}"))
}

pub(crate) fn to_value(what: &str, value: &impl Serialize) -> Result<Value> {
    serde_json::to_value(value).map_err(|why| not_json(what, &why))
}

pub(crate) fn to_raw(what: &str, value: &impl Serialize) -> Result<Box<RawValue>> {
    serde_json::value::to_raw_value(value).map_err(|why| not_json(what, &why))
}

/// For values that are JSON objects.
pub(crate) fn to_object(what: &str, value: &impl Serialize) -> Result<Map<String, Value>> {
    match to_value(what, value)? {
        Value::Object(members) => Ok(members),
        _ => Err(Error::Protocol(format!("{what} is not a JSON object"))),
    }
}
