//! What callers ask, as values: new jobs, filters, pages, claims and reports.

use std::time::{Duration, SystemTime};

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::error::{Error, Result};
use crate::wire::{instant, span};

/// A job to be created.
#[derive(Clone, Debug, PartialEq)]
pub struct NewJob {
    pub(crate) body: Map<String, Value>,
    pub(crate) key: Key,
    pub(crate) traceparent: Option<String>,
}

/// Where the idempotency key of a new job comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    Made,
    Given(String),
    Derived,
}

impl NewJob {
    /// A job of this type with this payload.
    pub fn new(job_type: impl Into<String>, payload: &impl Serialize) -> Result<Self> {
        let payload = to_value("the payload", payload)?;
        let body = Map::from_iter([("type".into(), json!(job_type.into())), ("payload".into(), payload)]);
        Ok(Self { body, key: Key::Made, traceparent: None })
    }

    /// The same key again finds the same job. Without one the client makes a key for each call of `create`, so that
    /// it can repeat a call whose answer was lost.
    #[must_use]
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Key::Given(key.into());
        self
    }

    /// Sends no key, so that the lifecycle's own derived key decides what is the same job. A call whose answer was
    /// lost is then not repeated.
    #[must_use]
    pub fn derived_key(mut self) -> Self {
        self.key = Key::Derived;
        self
    }

    /// The queue, instead of the type's.
    #[must_use]
    pub fn queue(self, queue: impl Into<String>) -> Self {
        self.with("queue", json!(queue.into()))
    }

    /// Higher is claimed first.
    #[must_use]
    pub fn priority(self, priority: i32) -> Self {
        self.with("priority", json!(priority))
    }

    /// Not before this moment.
    #[must_use]
    pub fn run_at(self, moment: SystemTime) -> Self {
        self.with("run_at", json!(instant::text(moment)))
    }

    /// Not before this much time has passed.
    #[must_use]
    pub fn delay(self, delay: Duration) -> Self {
        self.with("delay", json!(span::text(delay)))
    }

    /// The owner.
    #[must_use]
    pub fn user(self, user: impl Into<String>) -> Self {
        self.with("user_id", json!(user.into()))
    }

    /// The lifecycle, where the type leaves it open.
    #[must_use]
    pub fn lifecycle(self, lifecycle: impl Into<String>) -> Self {
        self.with("lifecycle", json!(lifecycle.into()))
    }

    /// How many attempts may fail, instead of the type's number.
    #[must_use]
    pub fn max_attempts(self, count: u32) -> Self {
        self.with("max_attempts", json!(count))
    }

    /// What this job belongs to; handed to the worker and to every event.
    #[must_use]
    pub fn correlation(self, id: impl Into<String>) -> Self {
        self.with("correlation_id", json!(id.into()))
    }

    /// The W3C trace context that this job continues.
    #[must_use]
    pub fn traceparent(mut self, traceparent: impl Into<String>) -> Self {
        self.traceparent = Some(traceparent.into());
        self
    }

    fn with(mut self, field: &str, value: Value) -> Self {
        self.body.insert(field.into(), value);
        self
    }
}

/// Which jobs; every field that is set must match. Times are RFC 3339.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[allow(missing_docs, reason = "the names are the job's own fields")]
pub struct JobFilter {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lifecycle: Option<String>,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub job_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worker: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_of: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_after: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_before: Option<String>,
}

/// Which dead letters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DeadLetterFilter {
    /// Those of these jobs.
    #[serde(flatten)]
    pub jobs: JobFilter,
    /// Those with this reason, such as `exhausted_retries`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason_code: Option<String>,
    /// Those whose last error arose at this stage.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stage: Option<String>,
}

/// Which events.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[allow(missing_docs, reason = "the names are the event's own fields")]
pub struct EventFilter {
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub event_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lifecycle: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_id: Option<String>,
}

/// Which page of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Page {
    /// At most this many; the server's own number if none is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// Where it begins: the `next_cursor` of the page before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// What dead letters are to be given another life.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Redrive {
    /// Those of these jobs.
    Ids(Vec<String>),
    /// Those that match.
    Filter(Box<DeadLetterFilter>),
}

/// What is done to every job of a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Cancel it in this way.
    Cancel(crate::wire::CancelMode),
    /// Create a new job like it.
    Retry,
}

/// A worker's question for work.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Claim {
    /// Who asks.
    pub worker: String,
    /// Only of these types; any if empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub types: Vec<String>,
    /// Only from these queues; any if empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub queues: Vec<String>,
    /// At most this many jobs.
    pub max: u32,
    /// How long to wait for work.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "written_span")]
    pub wait: Option<Duration>,
    /// The same again gets the same jobs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// Whether the jobs are started too.
    pub start: bool,
}

/// What a worker says about a job that it holds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// The job.
    pub job: String,
    /// The number of the worker's lease.
    pub fence: u64,
    /// What it says.
    pub verb: Verb,
    /// What goes with the verb, such as `result` or `error`.
    #[serde(flatten)]
    pub body: Map<String, Value>,
}

impl Report {
    /// A report with nothing but its verb.
    pub fn new(job: impl Into<String>, fence: u64, verb: Verb) -> Self {
        Self { job: job.into(), fence, verb, body: Map::new() }
    }

    /// Adds what goes with the verb.
    #[must_use]
    pub fn with(mut self, field: &str, value: Value) -> Self {
        self.body.insert(field.into(), value);
        self
    }
}

/// What a worker can say about a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs, reason = "the names are the protocol's own, explained there")]
pub enum Verb {
    Start,
    Heartbeat,
    Progress,
    Succeed,
    Partial,
    Fail,
    Reject,
    Release,
    CancelConfirm,
}

impl Verb {
    /// As it stands in a path.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Heartbeat => "heartbeat",
            Self::Progress => "progress",
            Self::Succeed => "succeed",
            Self::Partial => "partial",
            Self::Fail => "fail",
            Self::Reject => "reject",
            Self::Release => "release",
            Self::CancelConfirm => "cancel-confirm",
        }
    }
}

/// A line to be appended to a job's log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NewLine {
    /// `stdout`, `stderr`, or the worker's own word.
    pub stream: String,
    /// `info`, `error`, or the worker's own word.
    pub level: String,
    /// The line.
    pub text: String,
}

/// An asset whose content is elsewhere.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct NewAsset {
    /// What kind of thing it is.
    pub asset_type: String,
    /// Where it is to be had: `http://` or `https://`.
    pub url: String,
    /// Where it is kept, in its keeper's words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub storage_path: Option<String>,
    /// Its size in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file_size: Option<u64>,
}

/// Who holds a lease: what every word of a worker about a job carries.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Holder {
    /// The worker.
    pub worker: String,
    /// The number of its lease.
    pub fence: u64,
}

pub(crate) fn to_value(what: &str, value: &impl Serialize) -> Result<Value> {
    serde_json::to_value(value).map_err(|why| Error::Protocol(format!("{what} is no JSON: {why}")))
}

#[allow(clippy::ref_option, reason = "serde calls it so")]
fn written_span<S: serde::Serializer>(
    span: &Option<Duration>,
    to: S,
) -> std::result::Result<S::Ok, S::Error> {
    span.map(span::text).serialize(to)
}
