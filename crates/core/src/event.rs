//! What happened: events, one for each transition, and telemetry, which is not numbered and not kept for long.

use serde::{Deserialize, Serialize};

use crate::id::{Actor, Fence, JobId, Name, StateName, WorkerId};
use crate::job::{JobError, Lease, LeaseEnd};
use crate::json::Json;
use crate::lifecycle::{Outcome, Phase, Trigger};
use crate::time::{Deadline, Timestamp};

/// The record of one transition; or, without a `seq`, a note after the end (`job_compensated`).
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Whose.
    pub job_id: JobId,
    /// Which transition of the job, from 1; `None` for a note.
    pub seq: Option<u32>,
    /// As the lifecycle names it.
    pub name: Name,
    /// What happened.
    pub trigger: Trigger,
    /// Where it was; `None` at creation.
    pub from: Option<StateName>,
    /// Where it is now.
    pub to: StateName,
    /// The attempt after it.
    pub attempt: u32,
    /// When. Never before the event before it.
    pub ts: Timestamp,
    /// Who did it.
    pub actor: Actor,
    /// Why, in short: an error's code, a canceller's reason.
    pub cause: Option<Name>,
    /// Everything that folding needs besides.
    pub facts: Facts,
}

/// What an event carries besides where from and where to. With these, [`crate::job::Job::evolve`] needs no lifecycle.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Facts {
    pub(crate) phase: PhaseName,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) outcome: Option<Outcome>,
    /// Not to be claimed before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_at: Option<Timestamp>,
    /// When the new state's `timeout` fires.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Deadline>,
    /// When the new state's `due` fires.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub due: Option<Deadline>,
    /// A lease that begins here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease: Option<Box<Lease>>,
    /// A lease that ends here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease_end: Option<LeaseEnded>,
    /// Failed attempts, if this is one more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_count: Option<u32>,
    /// What went wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Box<JobError>>,
    /// What came out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<Json>,
    /// Where the next attempt may go on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<Json>,
    /// What a signal brought, or who compensated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<Json>,
}

/// The end of a lease, as history tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaseEnded {
    /// How.
    pub how: LeaseEnd,
    /// When it would have run out, renewals included.
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

impl Facts {
    /// No facts but the phase of the state that is entered.
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

    /// The phase of the state that was entered.
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

/// What a worker's life sends between transitions. Kept for a while, never numbered with the events.
#[derive(Clone, Debug, PartialEq)]
pub struct Telemetry {
    /// Whose.
    pub job_id: JobId,
    /// When.
    pub ts: Timestamp,
    /// From whom.
    pub worker: WorkerId,
    /// Under which lease.
    pub fence: Fence,
    /// What.
    pub signal: Signal,
    /// When it is forgotten.
    pub keep_until: Timestamp,
}

/// The kinds of telemetry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Signal {
    /// A heartbeat that renewed nothing.
    JobHeartbeat,
    /// A heartbeat that prolonged the lease.
    JobLeaseRenewed,
    /// How far the worker is.
    JobProgress {
        /// 0 to 100.
        progress: f64,
        /// The worker's words.
        message: Option<String>,
    },
}

/// One line of a job's log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    /// From 1, without a gap.
    pub n: u64,
    /// When it was accepted.
    pub ts: Timestamp,
    /// `stdout`, `stderr`, or the worker's own word.
    pub stream: Name,
    /// `info`, `error`, or the worker's own word.
    pub level: Name,
    /// The line.
    pub text: String,
}

/// One line of the operators' trail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditLine {
    /// When.
    pub ts: Timestamp,
    /// What: a rule's `audit`, or an operator's action.
    pub action: Name,
    /// Who.
    pub actor: Actor,
    /// To which job, if to one.
    pub job_id: Option<JobId>,
    /// Why.
    pub reason: Option<String>,
}
