//! The list of things that need attention. It is empty on a healthy system, so that an entry is noticed.

use tenure_core::schedule::Schedule;
use tenure_core::webhook::Webhook;

use crate::assemble::SnapshotInputs;
use crate::prelude::*;
use crate::queues::phase_of;
use crate::snapshot::{
    Attention, AttentionKind, LifecycleNow, NodeLife, NodeNow, QueueNow, StateNow, Subject,
};

/// Conditions younger than this are not reported.
pub(super) const GRACE: Millis = Millis::seconds(60);

/// `1 job`, `2 jobs`.
fn number(count: u64, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

pub(super) fn of_dead_letters(gauges: &Gauges) -> Option<Attention> {
    let (text, since) = (number(gauges.dead_letters, "dead letter"), gauges.oldest_dead_letter);
    let (what, subject) = (AttentionKind::DeadLetters, Subject::DeadLetters);
    (gauges.dead_letters > 0).then_some(Attention { what, text, since, subject })
}

/// Ready jobs that no worker on any node waits for or works on.
pub(super) fn of_ready(
    inputs: &SnapshotInputs<'_>,
    idle: impl Fn(&QueueName, &TypeName) -> usize,
) -> Vec<Attention> {
    let gauges = &inputs.live.gauges;
    let is_unclaimed = |queue: &QueueName, job_type: &TypeName, since| {
        inputs.live.now - since > GRACE
            && !inputs.live.paused.contains(queue)
            && !inputs.held.workers.contains_key(job_type)
            && idle(queue, job_type) == 0
    };
    let unclaimed = gauges.oldest_ready.iter().filter(|it| is_unclaimed(&it.queue, &it.job_type, it.since));
    let shown = unclaimed.map(|it| {
        let here =
            gauges.jobs.iter().filter(|count| count.queue == it.queue && count.job_type == it.job_type);
        let is_ready = |count: &&tenure_store::Count| {
            phase_of(inputs.catalog, &count.lifecycle, &count.state) == Some(Phase::Ready)
        };
        let jobs = number(here.filter(is_ready).map(|count| count.count).sum(), "ready job");
        let text = format!("{jobs} of type {} in queue {}, but no worker claims them", it.job_type, it.queue);
        let subject = Subject::ReadyJobs(it.job_type.clone());
        Attention { what: AttentionKind::NoWorker, text, since: Some(it.since), subject }
    });
    shown.collect()
}

/// States whose oldest job has been there far longer than usual. `is_unclaimed` says that unclaimed ready jobs are
/// reported already.
pub(super) fn of_states(lifecycles: &[LifecycleNow], now: Timestamp, is_unclaimed: bool) -> Vec<Attention> {
    let overlong = |state: &&StateNow| {
        let is_reported = state.phase == Phase::Ready && is_unclaimed;
        !is_reported && state.is_overlong(now)
    };
    let of_lifecycle = |lifecycle: &LifecycleNow| -> Vec<Attention> {
        let shown = |state: &StateNow| {
            let usual = Millis(state.p95_ms.unwrap_or_default());
            let text = format!(
                "the oldest job in state {} of lifecycle {} is far over the p95 of {usual}",
                state.name, lifecycle.name
            );
            let subject = Subject::State { lifecycle: lifecycle.name.clone(), state: state.name.clone() };
            Attention { what: AttentionKind::Overlong, text, since: state.oldest_since, subject }
        };
        lifecycle.states.iter().filter(overlong).map(shown).collect()
    };
    lifecycles.iter().flat_map(of_lifecycle).collect()
}

pub(super) fn of_queues(queues: &[QueueNow]) -> impl Iterator<Item = Attention> {
    queues.iter().filter(|queue| queue.paused && queue.ready > 0).map(|queue| {
        let text = format!("queue {} is paused, with {}", queue.name, number(queue.ready, "ready job"));
        Attention { what: AttentionKind::PausedQueue, text, since: None, subject: Subject::Queues }
    })
}

pub(super) fn of_automations(automations: &[Automation], now: Timestamp) -> impl Iterator<Item = Attention> {
    automations.iter().filter_map(move |automation| match automation {
        Automation::Webhook(webhook) => of_webhook(webhook),
        Automation::Schedule(schedule) => of_schedule(schedule, now),
        Automation::Erasure(_) => None,
    })
}

fn of_webhook(webhook: &Webhook) -> Option<Attention> {
    let why = webhook.last_error.as_deref().map(|error| format!(": {error}")).unwrap_or_default();
    let text = match webhook.disabled_at {
        Some(_) => format!("webhook {} is disabled{why}", webhook.id),
        None if webhook.failures > 0 => {
            let attempts = number(webhook.failures.into(), "attempt");
            format!("webhook {} is failing after {attempts}{why}", webhook.id)
        }
        None => return None,
    };
    let since = webhook.disabled_at;
    Some(Attention { what: AttentionKind::Webhook, text, since, subject: Subject::System })
}

fn of_schedule(schedule: &Schedule, now: Timestamp) -> Option<Attention> {
    let late = schedule.next_at.filter(|next| now > *next && now - *next > GRACE);
    let text = match (late, &schedule.last_error) {
        (Some(_), _) => format!("schedule {} is late", schedule.id),
        (None, Some(error)) => format!("schedule {} created no job: {error}", schedule.id),
        (None, None) => return None,
    };
    let since = late.or(schedule.last_at);
    Some(Attention { what: AttentionKind::Schedule, text, since, subject: Subject::System })
}

pub(super) fn of_nodes(nodes: &[NodeNow]) -> impl Iterator<Item = Attention> {
    nodes.iter().filter(|node| node.life == NodeLife::Gone).map(|node| {
        let text = format!("node {} stopped reporting", node.address);
        let since = Some(node.seen_at);
        Attention { what: AttentionKind::NodeGone, text, since, subject: Subject::System }
    })
}

#[cfg(test)]
mod tests;
