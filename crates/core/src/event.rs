//! Events, one for each transition, and telemetry, which has no sequence number and expires.

use serde::{Deserialize, Serialize};

use crate::flow::{BucketId, FlowKeys, TokenLevel};
use crate::id::{Actor, Fence, JobId, Name, StateName, WorkerId};
use crate::job::{JobError, Lease, LeaseEnd};
use crate::json::Json;
use crate::lifecycle::{Outcome, Phase, Trigger};
use crate::time::{Deadline, Timestamp};

/// Bytes of an event besides its texts, about.
const EVENT_BYTES: usize = 500;
/// A log line or a line of telemetry in memory without its text, about.
const LINE_BYTES: usize = 128;

/// The record of one transition or amendment; or, without a `seq`, a note after the end (`job_compensated`).
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    pub job_id: JobId,
    /// The number of the transition or amendment, from 1; `None` for a note.
    pub seq: Option<u32>,
    /// The event name that the lifecycle declares.
    pub name: Name,
    pub trigger: Trigger,
    /// `None` at creation.
    pub from: Option<StateName>,
    pub to: StateName,
    /// The attempt after the transition.
    pub attempt: u32,
    /// Never before the previous event.
    pub ts: Timestamp,
    pub actor: Actor,
    /// An error code, or the reason of a cancel.
    pub cause: Option<Name>,
    pub facts: Facts,
}

/// The details of a transition. With these, [`crate::job::Job::evolve`] needs no lifecycle.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Facts {
    pub(crate) phase: PhaseName,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) outcome: Option<Outcome>,
    /// The earliest time at which the job may be claimed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_at: Option<Timestamp>,
    /// When the new state's `timeout` fires.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Deadline>,
    /// When the new state's `due` fires.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub due: Option<Deadline>,
    /// A lease that is granted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease: Option<Box<Lease>>,
    /// The end of a lease.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease_end: Option<LeaseEnded>,
    /// The number of failed attempts, if this transition is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_count: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Box<JobError>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<Json>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<Json>,
    /// The credential of the caller that caused the transition; `None` for clocks and other causes in Tenure itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credential: Option<Name>,
    /// A payload that an amendment changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload: Option<Json>,
    /// A priority that an amendment changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<i32>,
    /// The keys of the changed payload, if they differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flow: Option<Box<FlowKeys>>,
    /// The tokens that buckets lack after a claim has taken some.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub levels: Vec<(BucketId, TokenLevel)>,
    /// The payload of a signal, or the id of the compensating job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<Json>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaseEnded {
    pub how: LeaseEnd,
    /// When the lease would have expired, renewals included.
    pub expires: Deadline,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PhaseName {
    #[default]
    Ready,
    Held,
    Active,
    Waiting,
    Final,
}

impl Event {
    /// Bytes in memory, about: the texts that callers choose, and the rest.
    pub fn bytes(&self) -> usize {
        let Facts { error, result, checkpoint, note, payload, .. } = &self.facts;
        let details = error.as_ref().and_then(|error| error.details.as_ref());
        let texts = [result.as_ref(), checkpoint.as_ref(), note.as_ref(), payload.as_ref(), details];
        let message = error.as_ref().map_or(0, |error| error.message.len());
        EVENT_BYTES + message + texts.into_iter().flatten().map(|text| text.as_str().len()).sum::<usize>()
    }
}

impl Facts {
    pub fn entering(phase: Phase) -> Self {
        let name = match phase {
            Phase::Ready => PhaseName::Ready,
            Phase::Held => PhaseName::Held,
            Phase::Active => PhaseName::Active,
            Phase::Waiting => PhaseName::Waiting,
            Phase::Final(_) => PhaseName::Final,
        };
        Self { phase: name, outcome: phase.outcome(), ..Self::default() }
    }

    pub fn phase(&self) -> Phase {
        match (self.phase, self.outcome) {
            (PhaseName::Ready, _) => Phase::Ready,
            (PhaseName::Held, _) => Phase::Held,
            (PhaseName::Active, _) => Phase::Active,
            (PhaseName::Waiting, _) => Phase::Waiting,
            (PhaseName::Final, outcome) => Phase::Final(outcome.unwrap_or(Outcome::Failed)),
        }
    }
}

/// Heartbeats, renewals and progress between transitions.
#[derive(Clone, Debug, PartialEq)]
pub struct Telemetry {
    pub job_id: JobId,
    pub ts: Timestamp,
    pub worker: WorkerId,
    pub fence: Fence,
    pub signal: Signal,
    pub keep_until: Timestamp,
}

impl Telemetry {
    /// Bytes in memory, about.
    pub fn bytes(&self) -> usize {
        let message = match &self.signal {
            Signal::JobProgress { message: Some(message), .. } => message.len(),
            _ => 0,
        };
        LINE_BYTES + message
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Signal {
    /// A heartbeat that did not renew the lease.
    JobHeartbeat,
    /// A heartbeat that renewed the lease.
    JobLeaseRenewed,
    JobProgress {
        /// 0 to 100.
        progress: f64,
        message: Option<String>,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    /// From 1, without gaps.
    pub n: u64,
    pub ts: Timestamp,
    /// `stdout`, `stderr`, or a name that the worker chose.
    pub stream: Name,
    /// `info`, `error`, or a name that the worker chose.
    pub level: Name,
    pub text: String,
}

impl LogLine {
    /// Bytes in memory, about.
    pub fn bytes(&self) -> usize {
        LINE_BYTES + self.text.len()
    }
}

/// A line of the audit log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditLine {
    pub ts: Timestamp,
    /// The `audit` value of a rule, or an operator's action.
    pub action: Name,
    pub actor: Actor,
    pub job_id: Option<JobId>,
    pub reason: Option<String>,
    /// `{ "credential", "before", "after" }`: the credential of the caller, and the values that the action changed. `None` in
    /// lines of earlier versions.
    pub details: Option<Json>,
}

impl AuditLine {
    /// The action of a start or a reload with another configuration.
    pub const CONFIGURE: &str = "configure";

    /// Whether the line only records what later changes are compared with: the configuration of the first start. It is no action, so
    /// lists leave it out.
    pub fn is_baseline(&self) -> bool {
        self.action == Self::CONFIGURE
            && self
                .details
                .as_ref()
                .is_some_and(|details| details.to_value().is_ok_and(|details| details["before"].is_null()))
    }
}
