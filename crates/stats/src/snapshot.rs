//! The snapshot behind the dashboard and `/api/stats`, made at most twice a second and shared by all requests. Lists by
//! minute have the oldest minute first and the current one last.

use std::collections::BTreeMap;

use serde::Serialize;
use tenure_core::id::{JobId, LifecycleName, Name, QueueName, StateName, TypeName};
use tenure_core::lifecycle::{Phase, Trigger};
use tenure_core::time::{Millis, Timestamp};

use crate::attention::GRACE;

#[derive(Debug)]
pub struct Snapshot {
    /// The store's time when the live numbers were read.
    pub at: Timestamp,
    /// Every lifecycle in force, by name.
    pub lifecycles: Vec<LifecycleNow>,
    /// Every type of the configuration, and what the catch-all stands for, by name.
    pub types: Vec<TypeNow>,
    /// All types together.
    pub minutes: Minutes,
    /// Failed attempts of the last hour by type and error code, the most frequent first.
    pub failures: Vec<FailureNow>,
    /// By name.
    pub queues: Vec<QueueNow>,
    /// Nodes that were heard in the last hour: this one, then the last heard first.
    pub nodes: Vec<NodeNow>,
    /// How the store keeps up.
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

/// One lifecycle.
#[derive(Debug, Serialize)]
pub struct LifecycleNow {
    pub name: LifecycleName,
    /// Its states in the order of its newest version; then those of older versions in which jobs still are.
    pub states: Vec<StateNow>,
    /// Transitions that were made in the last hour.
    pub transitions: Vec<TransitionNow>,
}

/// One state.
#[derive(Debug, Serialize)]
pub struct StateNow {
    pub name: StateName,
    /// What may happen there.
    #[serde(serialize_with = "as_text")]
    pub phase: Phase,
    /// Jobs that are there now.
    pub count: u64,
    /// How many jobs came, by minute, the last 20 of them.
    pub trend: Vec<u64>,
    /// Since when the oldest of its jobs is there; for a ready state, since when it could be claimed. Never for a final
    /// one; among waiting ones, those that were created first are looked at.
    pub oldest_since: Option<Timestamp>,
    /// How long jobs usually stay: 95 of 100 of the last finished ones no longer than this.
    pub p95_ms: Option<u64>,
}

/// One kind of transition.
#[derive(Debug, Serialize)]
pub struct TransitionNow {
    /// Where from; `None` at creation.
    pub from: Option<StateName>,
    /// What happened.
    pub trigger: Trigger,
    /// Where to.
    pub to: StateName,
    /// How many a minute, over the last full minute and the current one.
    pub per_minute: f64,
}

/// Jobs by minute, the last 60.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Minutes {
    /// Created.
    pub created: Vec<u64>,
    /// Finished, whatever the outcome.
    pub finished: Vec<u64>,
    /// Failed attempts, retried or not.
    pub failed: Vec<u64>,
}

/// Half, most, nearly all are no longer than this, in milliseconds unless said otherwise; nothing without a sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Percentiles {
    /// Of 50 in 100.
    pub p50: Option<u64>,
    /// Of 95 in 100.
    pub p95: Option<u64>,
    /// Of 99 in 100.
    pub p99: Option<u64>,
}

/// One type; `*` stands for all that the configuration does not name.
#[derive(Debug, Serialize)]
pub struct TypeNow {
    pub name: TypeName,
    /// The lifecycle that its jobs follow.
    pub lifecycle: LifecycleName,
    /// What happened.
    pub minutes: Minutes,
    /// From creation to the last claim, of the last finished jobs.
    pub wait_ms: Percentiles,
    /// From start to end, of the last finished jobs.
    pub run_ms: Percentiles,
    /// Whether a claim waits for its jobs on some node.
    pub awaited: bool,
}

/// Failed attempts that have type and error code in common.
#[derive(Clone, Debug, Serialize)]
pub struct FailureNow {
    /// The jobs' type.
    #[serde(rename = "type")]
    pub job_type: TypeName,
    /// The error's code.
    pub code: Name,
    /// How many in the last hour.
    pub count: u64,
    /// The first of them.
    pub first_at: Timestamp,
    /// The last of them.
    pub last_at: Timestamp,
    /// The job of the last one.
    pub job_id: JobId,
    /// What that one said, cut short.
    pub message: Name,
}

/// One queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct QueueNow {
    pub name: QueueName,
    /// Whether claims take nothing from it.
    pub paused: bool,
    /// Jobs that could be claimed, now or at their time.
    pub ready: u64,
    /// Jobs that a worker has.
    pub running: u64,
    /// Jobs that wait for something else.
    pub waiting: u64,
}

/// One node.
#[derive(Clone, Debug, Serialize)]
pub struct NodeNow {
    /// New with each start.
    pub id: Name,
    /// Where it listens.
    pub address: String,
    /// Its version of Tenure.
    pub version: String,
    /// When it started.
    pub started_at: Timestamp,
    /// When it last told the store that it lives.
    pub seen_at: Timestamp,
    /// Whether it is the one that answers.
    pub own: bool,
    /// Whether it is there.
    pub life: NodeLife,
}

/// Whether a node is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeLife {
    /// It was heard lately.
    Live,
    /// It has said that it stops.
    Stopped,
    /// It was not heard, and has not said why.
    Gone,
}

/// How the store keeps up, as this node sees it; over the last five to ten minutes.
#[derive(Debug, Serialize)]
pub struct StoreNow {
    /// `sqlite`, `postgres` or `memory`.
    pub kind: &'static str,
    /// Commands that were committed together.
    pub commands_per_commit: Percentiles,
    /// How long a commit took, in microseconds.
    pub commit_us: Percentiles,
    /// Commands that wait for a commit now.
    pub waiting_commands: usize,
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
    /// A schedule made no job when it should have.
    Schedule,
    /// A node stopped reporting without a last report.
    NodeGone,
}

/// How many jobs are where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[allow(missing_docs, reason = "the names are the job's own fields")]
pub struct CountNow {
    pub lifecycle: LifecycleName,
    #[serde(rename = "type")]
    pub job_type: TypeName,
    pub queue: QueueName,
    pub state: StateName,
    pub count: u64,
}

/// What finished lately, of one lifecycle and type.
#[derive(Clone, Debug, Serialize)]
pub struct RecentNow {
    /// The jobs' lifecycle.
    pub lifecycle: LifecycleName,
    /// The jobs' type.
    #[serde(rename = "type")]
    pub job_type: TypeName,
    /// How far back it reaches.
    pub window: Millis,
    /// How many.
    pub finished: u64,
    /// How many a second.
    pub rate: f64,
    /// How many by outcome.
    pub outcomes: BTreeMap<&'static str, u64>,
    /// From creation to the last claim.
    pub wait_ms: Percentiles,
    /// From start to end.
    pub run_ms: Percentiles,
}

impl StateNow {
    /// Whether its oldest job has been there for over a minute and for ten times as long as is usual.
    pub fn is_overlong(&self, now: Timestamp) -> bool {
        let (Some(since), Some(p95)) = (self.oldest_since, self.p95_ms) else { return false };
        now - since > GRACE.max(Millis(p95.saturating_mul(10)))
    }
}

impl Percentiles {
    /// Of a sample, which is put in order.
    pub fn of(values: &mut [u64]) -> Self {
        values.sort_unstable();
        let last = values.len().saturating_sub(1);
        let at = |percent: usize| values.get((values.len() * percent / 100).min(last)).copied();
        Self { p50: at(50), p95: at(95), p99: at(99) }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it")]
fn as_text<S: serde::Serializer>(phase: &Phase, serializer: S) -> Result<S::Ok, S::Error> {
    match phase.outcome() {
        Some(outcome) => serializer.serialize_str(outcome.as_str()),
        None => serializer.serialize_str(phase.as_str()),
    }
}
