//! The snapshot behind the dashboard and `/api/stats`, made at most twice a second and shared by all requests. Lists by
//! minute have the oldest minute first and the current one last.

use std::collections::BTreeMap;

use serde::Serialize;

use tenure_core::id::UserId;

use crate::prelude::*;

pub use crate::attention::{Attention, AttentionKind, Severity, Subject};

#[derive(Debug)]
pub struct Snapshot {
    /// The store's time when the live numbers were read.
    pub at: Timestamp,
    /// The active lifecycles, by name.
    pub lifecycles: Vec<LifecycleNow>,
    /// Every declared type, and every other type that has live jobs or was counted in the last hour, by name.
    pub types: Vec<TypeNow>,
    /// All types together.
    pub minutes: Minutes,
    /// Failed attempts of the last hour by type and error code, the most frequent first.
    pub failures: Vec<FailureNow>,
    /// Failed attempts of the last hour by error code and signature of the message, the most frequent first.
    pub errors: Vec<ErrorNow>,
    /// The same by type too: each has one type.
    pub type_errors: Vec<ErrorNow>,
    /// How long jobs were claimable before they were claimed, over all types.
    pub wait: ComparedWait,
    /// By name.
    pub queues: Vec<QueueNow>,
    /// In the order of `queues`.
    pub queue_trends: Vec<QueueTrend>,
    /// Nodes that reported in the last hour: this one first, then by last report.
    pub nodes: Vec<NodeNow>,
    pub store: StoreNow,
    /// Empty on a healthy system. The most severe first, then the longest.
    pub attention: Vec<Attention>,
    /// Whether finished jobs were counted yet: with many of them the first count takes a while after a start.
    pub finished_known: bool,
    /// Jobs by lifecycle, type, queue and state.
    pub counts: Vec<CountNow>,
    /// Jobs that finished in the last minutes, by lifecycle and type.
    pub recent: Vec<RecentNow>,
}

#[derive(Debug)]
pub struct LifecycleNow {
    pub name: LifecycleName,
    /// In the order of the newest version, followed by states of older versions that still have jobs.
    pub states: Vec<StateNow>,
    /// Transitions of the last hour.
    pub transitions: Vec<TransitionNow>,
}

#[derive(Debug)]
pub struct StateNow {
    pub name: StateName,
    pub phase: Phase,
    pub count: u64,
    /// Jobs that entered the state in each of the last 20 minutes.
    pub trend: Vec<u64>,
    /// When the oldest job entered the state, or became claimable in a ready state. `None` for final states. For waiting
    /// states only the jobs that were created first are read.
    pub oldest_since: Option<Timestamp>,
    /// 95th percentile of the time that the last finished jobs stayed here, over all types.
    pub p95_ms: Option<u64>,
    /// The type whose oldest job has been here far longer than is usual for the type.
    pub overlong: Option<Overlong>,
}

/// A job that has been in a state for over a minute and ten times the 95th percentile of its type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overlong {
    pub job_type: TypeName,
    pub since: Timestamp,
    pub p95_ms: u64,
}

#[derive(Debug)]
pub struct TransitionNow {
    /// `None` at creation.
    pub from: Option<StateName>,
    pub trigger: Trigger,
    pub to: StateName,
    /// Over the last full minute and the current one.
    pub per_minute: f64,
}

/// Jobs in each of the last 60 minutes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Minutes {
    pub created: Vec<u64>,
    /// With any outcome.
    pub finished: Vec<u64>,
    /// Jobs that ended as succeeded or partial.
    pub succeeded: Vec<u64>,
    /// Jobs that ended as failed or dead.
    pub failed_jobs: Vec<u64>,
    /// Failed attempts, retried or not.
    pub failed: Vec<u64>,
}

/// Sums over minutes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    pub created: u64,
    pub finished: u64,
    pub succeeded: u64,
    pub failed_jobs: u64,
    /// Failed attempts.
    pub failed: u64,
}

/// Wait times of the last half hour and of the half hour before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ComparedWait {
    pub now: Percentiles,
    pub before: Percentiles,
}

/// In milliseconds unless the field's name has another unit; empty without a sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Percentiles {
    pub p50: Option<u64>,
    pub p95: Option<u64>,
    pub p99: Option<u64>,
}

/// A type. `*` stands for undeclared types beyond the first 50, which share their counters.
#[derive(Debug)]
pub struct TypeNow {
    pub name: TypeName,
    pub lifecycle: LifecycleName,
    pub declared: bool,
    pub minutes: Minutes,
    /// Of the last hour.
    pub totals: Totals,
    /// How long jobs were claimable before each claim of the last hour.
    pub wait_ms: Percentiles,
    /// From start to end, of the jobs that finished in the last hour.
    pub run_ms: Percentiles,
    /// Jobs in ready states.
    pub ready: u64,
    /// All unfinished jobs.
    pub unfinished: u64,
    /// When its oldest ready job became claimable.
    pub oldest_ready: Option<Timestamp>,
    /// Claims that wait for its jobs, on any node.
    pub idle: usize,
    /// Workers that hold its jobs.
    pub busy: usize,
}

/// Failed attempts of the last hour with the same type and error code.
#[derive(Clone, Debug, Serialize)]
pub struct FailureNow {
    #[serde(rename = "type")]
    pub job_type: TypeName,
    pub code: Name,
    pub count: u64,
    pub first_at: Timestamp,
    pub last_at: Timestamp,
    /// The job of the last one.
    pub job_id: JobId,
    /// The message of the last one, truncated.
    pub message: Name,
}

/// Failed attempts of the last hour with the same error code and signature.
#[derive(Clone, Debug)]
pub struct ErrorNow {
    pub code: Name,
    pub signature: Name,
    /// By name.
    pub types: Vec<TypeName>,
    pub count: u64,
    /// Those that another attempt follows.
    pub retried: u64,
    /// In each of the last 60 minutes.
    pub minutes: Vec<u64>,
    pub first_at: Timestamp,
    pub last_at: Timestamp,
    /// Job and message of the last one.
    pub job_id: JobId,
    pub message: Name,
    /// At most [`ErrorNow::USERS_MAX`]; there may be more.
    pub users: Vec<UserId>,
}

/// A pause of a queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pause {
    pub since: Timestamp,
    pub by: String,
}

/// How the ready jobs of a queue develop.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QueueTrend {
    /// Ready jobs at the end of each of the last 60 minutes, the current one last.
    pub depth: Vec<u64>,
    /// Jobs that became ready per minute, over the last five full minutes.
    pub in_per_minute: f64,
    /// Jobs that were claimed or ended while ready, per minute.
    pub out_per_minute: f64,
    /// When its oldest ready job became claimable.
    pub oldest: Option<Timestamp>,
    /// How long it takes at this rate until no job is ready. `None` if the queue is empty or does not shrink.
    pub drains_in: Option<Millis>,
    /// `None` if it is not paused, or if the audit log no longer says when it was.
    pub pause: Option<Pause>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct QueueNow {
    pub name: QueueName,
    pub paused: bool,
    /// Claimable now or at their `run_at`.
    pub ready: u64,
    /// Held by a worker.
    pub running: u64,
    pub waiting: u64,
}

#[derive(Clone, Debug, Serialize)]
pub struct NodeNow {
    /// New with each start.
    pub id: Name,
    pub address: String,
    pub version: String,
    pub started_at: Timestamp,
    /// Time of the last report.
    pub seen_at: Timestamp,
    /// Whether it is the node that answers.
    pub own: bool,
    pub life: NodeLife,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeLife {
    Live,
    /// Its last report says that it stops.
    Stopped,
    /// Its reports ended without a last one.
    Gone,
}

/// The store as this node sees it, over the last five to ten minutes.
#[derive(Debug)]
pub struct StoreNow {
    /// `sqlite`, `postgres` or `memory`.
    pub kind: &'static str,
    pub commands_per_commit: Percentiles,
    pub commit_us: Percentiles,
    pub queued_commands: usize,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CountNow {
    pub lifecycle: LifecycleName,
    #[serde(rename = "type")]
    pub job_type: TypeName,
    pub queue: QueueName,
    pub state: StateName,
    pub count: u64,
}

/// Recently finished jobs of one lifecycle and type.
#[derive(Clone, Debug, Serialize)]
pub struct RecentNow {
    pub lifecycle: LifecycleName,
    #[serde(rename = "type")]
    pub job_type: TypeName,
    /// The time that the numbers cover.
    pub window: Millis,
    pub finished: u64,
    /// Per second.
    pub rate: f64,
    pub outcomes: BTreeMap<&'static str, u64>,
    /// From creation to the last claim.
    pub wait_ms: Percentiles,
    /// From start to end.
    pub run_ms: Percentiles,
}

impl Snapshot {
    /// Failed attempts of the last hour of jobs of one type.
    pub fn errors_of<'a>(&'a self, job_type: &'a TypeName) -> impl Iterator<Item = &'a ErrorNow> {
        self.type_errors.iter().filter(move |error| error.types.contains(job_type))
    }
}

impl ErrorNow {
    pub const USERS_MAX: usize = crate::counters::USERS_MAX;
}

impl Totals {
    /// The share of jobs that failed among those that succeeded or failed; `None` if there are none.
    pub fn failure_rate(&self) -> Option<f64> {
        let judged = self.succeeded + self.failed_jobs;
        (judged > 0).then(|| self.failed_jobs as f64 / judged as f64)
    }
}

impl Minutes {
    /// Sums over the minutes in a range; 0 is the oldest.
    pub fn totals(&self, minutes: std::ops::Range<usize>) -> Totals {
        let sum = |values: &[u64]| values.get(minutes.clone()).unwrap_or_default().iter().sum();
        Totals {
            created: sum(&self.created),
            finished: sum(&self.finished),
            succeeded: sum(&self.succeeded),
            failed_jobs: sum(&self.failed_jobs),
            failed: sum(&self.failed),
        }
    }

    /// Sums over all minutes.
    pub fn all(&self) -> Totals {
        self.totals(0..self.created.len())
    }
}

impl Percentiles {
    /// Sorts the sample.
    pub(crate) fn of(values: &mut [u64]) -> Self {
        values.sort_unstable();
        let last = values.len().saturating_sub(1);
        let at = |percent: usize| values.get((values.len() * percent / 100).min(last)).copied();
        Self { p50: at(50), p95: at(95), p99: at(99) }
    }
}
