//! What the server tells, as types. Fields that a newer server adds are ignored, and fields that are not there are
//! empty, so that an SDK and a server of different ages understand each other.

pub(crate) mod instant;
pub(crate) mod span;

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A job, as the server tells it. Times are RFC 3339.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
#[allow(missing_docs, reason = "the names are the protocol's own, explained there")]
pub struct JobRecord {
    pub id: String,
    pub lifecycle: String,
    pub lifecycle_version: u32,
    #[serde(rename = "type")]
    pub job_type: String,
    pub queue: String,
    pub user_id: Option<String>,
    pub state: String,
    /// The role of the state, or `final`.
    pub phase: String,
    pub outcome: Option<String>,
    /// How many transitions it has made.
    pub seq: u64,
    pub attempt: u32,
    pub retry_count: u32,
    pub max_attempts: Option<u32>,
    pub priority: i32,
    pub progress: Option<f64>,
    pub progress_message: Option<String>,
    pub payload: Value,
    pub result: Option<Value>,
    pub error: Option<JobError>,
    pub checkpoint: Option<Value>,
    pub worker: Option<String>,
    pub lease: Option<Lease>,
    pub cancel_requested: Option<CancelRequest>,
    pub correlation_id: Option<String>,
    pub trace_id: Option<String>,
    /// W3C trace context; only in answers to a claim.
    pub traceparent: Option<String>,
    pub idempotency_key: Option<String>,
    pub retry_of: Option<String>,
    pub run_at: Option<String>,
    pub created_at: String,
    pub updated_at: Option<String>,
    pub claimed_at: Option<String>,
    pub started_at: Option<String>,
    pub completed_at: Option<String>,
    /// When each state was last entered.
    pub entered: BTreeMap<String, String>,
    pub duration_ms: Option<u64>,
    pub run_ms: Option<u64>,
}

impl JobRecord {
    /// Whether it has come to its end.
    pub fn is_final(&self) -> bool {
        self.phase == "final"
    }

    /// Whether it has come to a good end.
    pub fn is_succeeded(&self) -> bool {
        self.outcome.as_deref() == Some("succeeded")
    }
}

/// What went wrong in a job's work.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
#[allow(missing_docs, reason = "the names are the protocol's own, explained there")]
pub struct JobError {
    pub code: String,
    pub message: String,
    pub category: String,
    /// `transient`, `permanent`, `validation` or `lease_conflict`.
    pub class: String,
    pub stage: Option<String>,
    pub reason_code: Option<String>,
    pub details: Option<Value>,
    /// "CODE: message".
    pub text: String,
}

/// A worker's sole, timed right to a job.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Lease {
    /// The number that tells this lease from the ones before.
    pub fence: u64,
    /// The earlier of the lease's end and the second missed heartbeat, on the server's calendar.
    pub expires_at: String,
    /// How often a heartbeat is expected; only for the holder.
    #[serde(with = "span::option")]
    pub heartbeat: Option<Duration>,
    /// How long a lease is; only for the holder.
    #[serde(with = "span::option")]
    pub ttl: Option<Duration>,
}

/// That someone wants a job to stop.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
#[allow(missing_docs, reason = "the names are the protocol's own, explained there")]
pub struct CancelRequest {
    pub mode: Option<CancelMode>,
    pub reason: Option<String>,
    pub by: Option<String>,
    pub at: String,
    /// When a soft request becomes a hard one.
    pub hard_at: Option<String>,
}

/// How a job is cancelled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CancelMode {
    /// The worker is told, may save where it was, and confirms.
    #[default]
    Soft,
    /// The job is cancelled now and its lease revoked.
    Hard,
}

/// The record of one transition.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
#[allow(missing_docs, reason = "the names are the protocol's own, explained there")]
pub struct Event {
    pub id: String,
    pub job_id: String,
    /// Its number among the job's transitions; none for a note after the end.
    pub seq: Option<u64>,
    #[serde(rename = "type")]
    pub event_type: String,
    pub trigger: Option<String>,
    pub from: Option<String>,
    pub to: Option<String>,
    pub attempt: Option<u32>,
    pub ts: String,
    pub actor: Option<String>,
    pub cause: Option<String>,
    pub correlation_id: Option<String>,
    pub trace_id: Option<String>,
    pub payload: Value,
    pub version: u32,
}

/// One line of a job's log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct LogLine {
    /// From 1, without a gap.
    pub n: u64,
    /// When it was accepted.
    pub ts: String,
    /// `stdout`, `stderr`, or the worker's own word.
    pub stream: String,
    /// `info`, `error`, or the worker's own word.
    pub level: String,
    /// The line.
    pub text: String,
}

/// What a job left behind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
#[allow(missing_docs, reason = "the names are the protocol's own, explained there")]
pub struct Asset {
    pub id: String,
    pub job_id: String,
    pub user_id: Option<String>,
    pub asset_type: String,
    /// Where it is to be had; below the server's address, if it begins with a slash.
    pub url: String,
    pub storage_path: Option<String>,
    pub file_size: Option<u64>,
    pub created_at: String,
    pub discarded_at: Option<String>,
}

/// The record of a job that ended dead.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
#[allow(missing_docs, reason = "the names are the protocol's own, explained there")]
pub struct DeadLetter {
    pub job_id: String,
    pub created_at: String,
    pub reason_code: String,
    pub stage: Option<String>,
    pub last_error: Option<JobError>,
    pub attempts: u32,
    pub last_owner: Option<String>,
    pub last_lease_expires_at: Option<String>,
    pub correlation_id: Option<String>,
    pub dismissed_at: Option<String>,
    pub dismissed_by: Option<String>,
    pub dismissed_reason: Option<String>,
}

/// What a user may still spend, and every movement of it.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
#[allow(missing_docs, reason = "the names are the protocol's own, explained there")]
pub struct Account {
    pub granted: u64,
    pub reserved: u64,
    pub spent: u64,
    pub available: u64,
    pub ledger: Vec<Value>,
}

/// A page of a list.
#[derive(Clone, Debug, PartialEq)]
pub struct Listing<T> {
    /// What is on this page.
    pub rows: Vec<T>,
    /// Where the next page begins; none at the end.
    pub next_cursor: Option<String>,
}

/// What a heartbeat is answered with.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Beat {
    /// The lease as it stands now.
    pub lease: Option<Lease>,
    /// That the job should stop.
    pub cancel: Option<CancelMode>,
}
