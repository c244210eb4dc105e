//! What a page or `/api/stats` shows: numbers that belong together, made at most twice a second and shared by everyone
//! who asks. Lists by minute have the oldest minute first and the current one last.

use std::collections::BTreeMap;

use serde::Serialize;
use tenure_core::id::{JobId, Name};
use tenure_core::lifecycle::{Phase, Trigger};
use tenure_core::time::{Millis, Timestamp};

use super::attention::SOON;

/// How the whole is doing.
#[derive(Debug, Serialize)]
pub(crate) struct Snapshot {
    /// The store's time when the live numbers were read.
    pub(crate) at: Timestamp,
    /// Every lifecycle in force, by name.
    pub(crate) lifecycles: Vec<LifecycleNow>,
    /// Every type of the configuration, and what the catch-all stands for, by name.
    pub(crate) types: Vec<TypeNow>,
    /// All types together.
    pub(crate) minutes: Minutes,
    /// Failed attempts of the last hour by type and error code, the most frequent first.
    pub(crate) failures: Vec<FailureNow>,
    /// By name.
    pub(crate) queues: Vec<QueueNow>,
    /// Nodes that were heard in the last hour: this one, then the last heard first.
    pub(crate) nodes: Vec<NodeNow>,
    /// How the store keeps up.
    pub(crate) store: StoreNow,
    /// What somebody should look at; empty when all is well.
    pub(crate) attention: Vec<Attention>,
    /// Whether finished jobs were counted yet: with many of them the first time takes a moment after a start.
    pub(crate) counted: bool,
    /// How many jobs are where, finer than by state.
    pub(crate) counts: Vec<CountNow>,
    /// What finished in the last minutes, by lifecycle and type as jobs name it.
    pub(crate) lately: Vec<LatelyNow>,
}

/// One lifecycle.
#[derive(Debug, Serialize)]
pub(crate) struct LifecycleNow {
    /// Its name.
    pub(crate) name: Name,
    /// Its states in the order of its newest version; then those of older versions in which jobs still are.
    pub(crate) states: Vec<StateNow>,
    /// Transitions that were made in the last hour.
    pub(crate) transitions: Vec<TransitionNow>,
}

/// One state.
#[derive(Debug, Serialize)]
pub(crate) struct StateNow {
    /// Its name.
    pub(crate) name: Name,
    /// What may happen there.
    #[serde(serialize_with = "as_text")]
    pub(crate) phase: Phase,
    /// Jobs that are there now.
    pub(crate) count: u64,
    /// How many jobs came, by minute, the last 20 of them.
    pub(crate) trend: Vec<u64>,
    /// Since when the oldest of its jobs is there; for a ready state, since when it could be claimed. Never for a final
    /// one; among waiting ones, those that were created first are looked at.
    pub(crate) oldest_since: Option<Timestamp>,
    /// How long jobs usually stay: 95 of 100 of the last finished ones no longer than this.
    pub(crate) p95_ms: Option<u64>,
}

/// One kind of transition.
#[derive(Debug, Serialize)]
pub(crate) struct TransitionNow {
    /// Where from; `None` at creation.
    pub(crate) from: Option<Name>,
    /// What happened.
    pub(crate) trigger: Trigger,
    /// Where to.
    pub(crate) to: Name,
    /// How many a minute, over the last full minute and the current one.
    pub(crate) per_minute: f64,
}

/// Jobs by minute, the last 60.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Minutes {
    /// Created.
    pub(crate) created: Vec<u64>,
    /// Finished, whatever the outcome.
    pub(crate) finished: Vec<u64>,
    /// Failed attempts, retried or not.
    pub(crate) failed: Vec<u64>,
}

/// Half, most, nearly all are no longer than this, in milliseconds unless said otherwise; nothing without a sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Percentiles {
    /// Of 50 in 100.
    pub(crate) p50: Option<u64>,
    /// Of 95 in 100.
    pub(crate) p95: Option<u64>,
    /// Of 99 in 100.
    pub(crate) p99: Option<u64>,
}

/// One type; `*` stands for all that the configuration does not name.
#[derive(Debug, Serialize)]
pub(crate) struct TypeNow {
    /// Its name.
    pub(crate) name: Name,
    /// The lifecycle that its jobs follow.
    pub(crate) lifecycle: Name,
    /// What happened.
    pub(crate) minutes: Minutes,
    /// From creation to the last claim, of the last finished jobs.
    pub(crate) wait_ms: Percentiles,
    /// From start to end, of the last finished jobs.
    pub(crate) run_ms: Percentiles,
    /// Whether a claim waits for its jobs on some node.
    pub(crate) awaited: bool,
}

/// Failed attempts that have type and error code in common.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct FailureNow {
    /// The jobs' type.
    #[serde(rename = "type")]
    pub(crate) job_type: Name,
    /// The error's code.
    pub(crate) code: Name,
    /// How many in the last hour.
    pub(crate) count: u64,
    /// The first of them.
    pub(crate) first_at: Timestamp,
    /// The last of them.
    pub(crate) last_at: Timestamp,
    /// The job of the last one.
    pub(crate) job_id: JobId,
    /// What that one said, cut short.
    pub(crate) message: Name,
}

/// One queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct QueueNow {
    /// Its name.
    pub(crate) name: Name,
    /// Whether claims take nothing from it.
    pub(crate) paused: bool,
    /// Jobs that could be claimed, now or at their time.
    pub(crate) ready: u64,
    /// Jobs that a worker has.
    pub(crate) running: u64,
    /// Jobs that wait for something else.
    pub(crate) waiting: u64,
}

/// One node.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct NodeNow {
    /// New with each start.
    pub(crate) id: Name,
    /// Where it listens.
    pub(crate) address: String,
    /// Its version of Tenure.
    pub(crate) version: String,
    /// When it started.
    pub(crate) started_at: Timestamp,
    /// When it last told the store that it lives.
    pub(crate) seen_at: Timestamp,
    /// Whether it is the one that answers.
    pub(crate) own: bool,
    /// Whether it is there.
    pub(crate) life: NodeLife,
}

/// Whether a node is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum NodeLife {
    /// It was heard lately.
    Live,
    /// It has said that it stops.
    Stopped,
    /// It was not heard, and has not said why.
    Gone,
}

/// How the store keeps up, as this node sees it; over the last five to ten minutes.
#[derive(Debug, Serialize)]
pub(crate) struct StoreNow {
    /// `sqlite`, `postgres` or `memory`.
    pub(crate) kind: &'static str,
    /// Commands that were committed together.
    pub(crate) commands_per_commit: Percentiles,
    /// How long a commit took, in microseconds.
    pub(crate) commit_us: Percentiles,
    /// Commands that wait for a commit now.
    pub(crate) waiting_commands: usize,
}

/// Something that somebody should look at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Attention {
    /// What kind of thing.
    pub(crate) what: Matter,
    /// One sentence.
    pub(crate) text: String,
    /// Since when, where that is known.
    pub(crate) since: Option<Timestamp>,
    /// The page on which it can be seen and settled.
    pub(crate) link: String,
}

/// Kinds of things that somebody should look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Matter {
    /// Dead letters that nobody has dismissed.
    DeadLetters,
    /// Jobs are ready, and nobody waits for their type.
    NobodyWaits,
    /// A state's oldest job is there for far longer than is usual.
    Overlong,
    /// A paused queue has ready jobs.
    PausedQueue,
    /// A webhook is disabled, or its deliveries fail.
    Webhook,
    /// A schedule made no job when it should have.
    Schedule,
    /// A node is away and has not said why.
    NodeGone,
}

/// How many jobs are where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[allow(missing_docs, reason = "the names are the job's own fields")]
pub(crate) struct CountNow {
    pub(crate) lifecycle: Name,
    #[serde(rename = "type")]
    pub(crate) job_type: Name,
    pub(crate) queue: Name,
    pub(crate) state: Name,
    pub(crate) count: u64,
}

/// What finished lately, of one lifecycle and type.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct LatelyNow {
    /// The jobs' lifecycle.
    pub(crate) lifecycle: Name,
    /// The jobs' type.
    #[serde(rename = "type")]
    pub(crate) job_type: Name,
    /// How far back it reaches.
    pub(crate) window: Millis,
    /// How many.
    pub(crate) finished: u64,
    /// How many a second.
    pub(crate) rate: f64,
    /// How many by outcome.
    pub(crate) outcomes: BTreeMap<&'static str, u64>,
    /// From creation to the last claim.
    pub(crate) wait_ms: Percentiles,
    /// From start to end.
    pub(crate) run_ms: Percentiles,
}

impl StateNow {
    /// Whether its oldest job has been there for over a minute and for ten times as long as is usual.
    pub(crate) fn is_overlong(&self, now: Timestamp) -> bool {
        let (Some(since), Some(p95)) = (self.oldest_since, self.p95_ms) else { return false };
        now - since > SOON.max(Millis(p95.saturating_mul(10)))
    }
}

impl Percentiles {
    /// Of a sample, which is put in order.
    pub(crate) fn of(values: &mut [u64]) -> Self {
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
