//! The snapshot behind the dashboard and `/api/stats`, made at most twice a second and shared by all requests. Lists by
//! minute have the oldest minute first and the current one last.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::attention::GRACE;
use crate::prelude::*;

#[derive(Debug)]
pub struct Snapshot {
    /// The store's time when the live numbers were read.
    pub at: Timestamp,
    /// The active lifecycles, by name.
    pub lifecycles: Vec<LifecycleNow>,
    /// Every declared type and the catch-all, by name.
    pub types: Vec<TypeNow>,
    /// All types together.
    pub minutes: Minutes,
    /// Failed attempts of the last hour by type and error code, the most frequent first.
    pub failures: Vec<FailureNow>,
    /// By name.
    pub queues: Vec<QueueNow>,
    /// Nodes that reported in the last hour: this one first, then by last report.
    pub nodes: Vec<NodeNow>,
    pub store: StoreNow,
    /// Empty on a healthy system.
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
    /// 95th percentile of the time that the last finished jobs stayed here.
    pub p95_ms: Option<u64>,
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
    /// Failed attempts, retried or not.
    pub failed: Vec<u64>,
}

/// In milliseconds unless the field's name has another unit; empty without a sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Percentiles {
    pub p50: Option<u64>,
    pub p95: Option<u64>,
    pub p99: Option<u64>,
}

/// A type; `*` stands for all types that are not declared.
#[derive(Debug)]
pub struct TypeNow {
    pub name: TypeName,
    pub lifecycle: LifecycleName,
    pub minutes: Minutes,
    /// From creation to the last claim, of the last finished jobs.
    pub wait_ms: Percentiles,
    /// From start to end, of the last finished jobs.
    pub run_ms: Percentiles,
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

/// Something that needs attention.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attention {
    pub what: AttentionKind,
    /// One sentence.
    pub text: String,
    pub since: Option<Timestamp>,
    pub subject: Subject,
}

/// Where an entry that needs attention can be seen and settled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    DeadLetters,
    Queues,
    ReadyJobs(TypeName),
    State { lifecycle: LifecycleName, state: StateName },
    System,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AttentionKind {
    /// Dead letters that are not dismissed.
    DeadLetters,
    /// Jobs are ready, and no worker waits for their type.
    #[serde(rename = "nobody_waits")]
    NoWorker,
    /// The oldest job of a state has been there far longer than usual.
    Overlong,
    /// A paused queue has ready jobs.
    PausedQueue,
    /// A webhook is disabled, or its deliveries fail.
    Webhook,
    /// A schedule created no job when it should have.
    Schedule,
    NodeGone,
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

impl StateNow {
    /// Whether its oldest job has been there for over a minute and ten times the 95th percentile.
    pub fn is_overlong(&self, now: Timestamp) -> bool {
        let (Some(since), Some(p95)) = (self.oldest_since, self.p95_ms) else { return false };
        now - since > GRACE.max(Millis(p95.saturating_mul(10)))
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
