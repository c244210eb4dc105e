//! The list of things that need attention: rules over a snapshot, each with a severity and an action. It is empty on a
//! healthy system, so that an entry is noticed.

mod automations;
mod flow;
mod jobs;
mod names;
mod queues;

use serde::{Deserialize, Serialize};
use tenure_core::attention::AttentionThresholds;
use tenure_core::text::grouped;

use crate::assemble::SnapshotInputs;
use crate::prelude::*;
use crate::read::Peers;
use crate::snapshot::{FailureNow, LifecycleNow, NodeNow, QueueNow, QueueTrend, StoreNow, TypeNow};

/// Something that needs attention.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attention {
    pub what: AttentionKind,
    pub severity: Severity,
    /// One sentence.
    pub text: String,
    pub since: Option<Timestamp>,
    pub subject: Subject,
    /// What to do, in a few words.
    pub action: &'static str,
}

/// The most severe is the greatest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Something is worse than usual, and jobs still end.
    Warning,
    /// Jobs fail or stand still.
    Critical,
}

/// Where an entry that needs attention can be seen and settled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    DeadLetters,
    /// The errors of a type.
    Errors(TypeName),
    Queues,
    Resources,
    ReadyJobs(TypeName),
    State {
        lifecycle: LifecycleName,
        state: StateName,
        job_type: TypeName,
    },
    Workers,
    Schedules,
    Webhooks,
    System,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttentionKind {
    /// Dead letters that are not dismissed.
    DeadLetters,
    /// Many of the jobs of a type fail.
    FailingType,
    /// Jobs are ready, and no worker waits for their type.
    #[serde(rename = "nobody_waits")]
    NoWorker,
    /// The oldest ready job of a type is old.
    OldReady,
    /// A queue does not drain.
    Backlog,
    /// The oldest job of a state has been there far longer than usual.
    Overlong,
    /// A queue is paused and has ready jobs, or is paused for long.
    PausedQueue,
    /// Workers lose their leases.
    LostLeases,
    /// A webhook is disabled, or its deliveries fail.
    Webhook,
    /// A schedule created no job when it should have.
    Schedule,
    /// Commits take long.
    SlowStore,
    NodeGone,
    /// A node crashed, and one with its address has started since.
    NodeRestarted,
    /// A failed job stopped a sequence.
    HaltedSequence,
    /// A resource is paused for long.
    PausedResource,
    /// A silent worker holds jobs.
    LostWorker,
    /// The clock went ahead while the server ran.
    ClockStep,
}

/// What the rules judge.
pub(super) struct Judged<'a> {
    pub(super) inputs: &'a SnapshotInputs<'a>,
    pub(super) thresholds: &'a AttentionThresholds,
    pub(super) lifecycles: &'a [LifecycleNow],
    pub(super) types: &'a [TypeNow],
    pub(super) failures: &'a [FailureNow],
    pub(super) queues: &'a [QueueNow],
    pub(super) trends: &'a [QueueTrend],
    pub(super) nodes: &'a [NodeNow],
    pub(super) peers: &'a Peers,
    pub(super) store: &'a StoreNow,
}

/// Applies every rule. The most severe first, then the longest.
pub(super) fn judge(judged: &Judged<'_>, idle: impl Fn(&QueueName, &TypeName) -> usize) -> Vec<Attention> {
    let mut found = jobs::failing_types(judged);
    let unclaimed = jobs::without_worker(judged, idle);
    let paused = queues::paused(judged);
    found.extend(jobs::old_ready(judged, &unclaimed));
    found.extend(jobs::overlong(judged));
    found.extend(queues::growing(judged));
    found.extend(jobs::dead_letters(judged));
    found.extend(jobs::lost_leases(judged));
    found.extend(automations::all(&judged.peers.automations, judged.peers.now));
    found.extend(automations::slow_store(judged));
    found.extend(automations::nodes(judged.nodes, judged.inputs.live.now));
    found.extend(flow::halted(judged));
    found.extend(flow::paused_resources(judged));
    found.extend(flow::clock_step(judged));
    found.extend(jobs::lost_workers(judged));
    found.extend(unclaimed);
    found.extend(paused);
    found.sort_by(|a, b| {
        let since = |it: &Attention| it.since.map_or(i64::MAX, |since| since.0);
        b.severity.cmp(&a.severity).then_with(|| since(a).cmp(&since(b)))
    });
    found
}

/// `1 job`, `2 jobs`.
fn number(count: u64, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{} {what}s", grouped(count)) }
}

#[cfg(test)]
mod tests;
