//! What somebody should look at. Empty when all is well: a list that always has something in it is not read.

use tenure_core::id::Name;
use tenure_core::lifecycle::Phase;
use tenure_core::order::Order;
use tenure_core::schedule::Schedule;
use tenure_core::time::{Millis, Timestamp};
use tenure_core::webhook::Webhook;
use tenure_store::Gauges;

use super::assemble::Made;
use super::queues::phase;
use super::snapshot::{Attention, LifecycleNow, Matter, NodeLife, NodeNow, QueueNow, StateNow};
use crate::ui::words::{jobs_in, query_part};

/// What is younger than this is nobody's concern yet.
pub(super) const SOON: Millis = Millis::seconds(60);

fn attention(what: Matter, text: String, since: Option<Timestamp>, link: &str) -> Attention {
    Attention { what, text, since, link: link.to_owned() }
}

/// `1 job`, `2 jobs`.
fn number(count: u64, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

pub(super) fn of_dead_letters(gauges: &Gauges) -> Option<Attention> {
    let text = number(gauges.dead_letters, "dead letter");
    let found = attention(Matter::DeadLetters, text, gauges.oldest_dead_letter, "/ui/dead-letters");
    (gauges.dead_letters > 0).then_some(found)
}

/// Ready jobs that nobody on any node waits for or works on.
pub(super) fn of_ready(made: &Made<'_>, is_awaited: impl Fn(&Name, &Name) -> bool) -> Vec<Attention> {
    let gauges = &made.live.gauges;
    let is_left = |(queue, job_type): (&Name, &Name), since| {
        made.live.now - since > SOON
            && !made.live.paused.contains(queue)
            && !made.held.types.contains(job_type)
            && !is_awaited(queue, job_type)
    };
    let left = gauges.oldest_ready.iter().filter(|it| is_left((&it.queue, &it.job_type), it.since));
    let shown = left.map(|it| {
        let here =
            gauges.jobs.iter().filter(|count| count.queue == it.queue && count.job_type == it.job_type);
        let is_ready = |count: &&tenure_store::Count| {
            phase(made.catalog, &count.lifecycle, &count.state) == Some(Phase::Ready)
        };
        let jobs = number(here.filter(is_ready).map(|count| count.count).sum(), "ready job");
        let text =
            format!("{jobs} of type {} in queue {}, and no worker asks for them", it.job_type, it.queue);
        let link = format!("/ui/jobs?type={}&phase=ready", query_part(it.job_type.as_str()));
        attention(Matter::NobodyWaits, text, Some(it.since), &link)
    });
    shown.collect()
}

/// States whose oldest job is there for far longer than is usual. A ready job that nobody may or wants to claim is told of
/// elsewhere.
pub(super) fn of_states(lifecycles: &[LifecycleNow], now: Timestamp, is_told: bool) -> Vec<Attention> {
    let overlong = |state: &&StateNow| {
        let told = state.phase == Phase::Ready && is_told;
        !told && state.is_overlong(now)
    };
    let of_lifecycle = |lifecycle: &LifecycleNow| -> Vec<Attention> {
        let shown = |state: &StateNow| {
            let usual = Millis(state.p95_ms.unwrap_or_default());
            let text = format!(
                "a job of lifecycle {} has been {} for long; 95 of 100 leave within {usual}",
                lifecycle.name, state.name
            );
            attention(Matter::Overlong, text, state.oldest_since, &jobs_in(&lifecycle.name, &state.name))
        };
        lifecycle.states.iter().filter(overlong).map(shown).collect()
    };
    lifecycles.iter().flat_map(of_lifecycle).collect()
}

pub(super) fn of_queues(queues: &[QueueNow]) -> impl Iterator<Item = Attention> {
    queues.iter().filter(|queue| queue.paused && queue.ready > 0).map(|queue| {
        let text = format!("queue {} is paused, with {}", queue.name, number(queue.ready, "ready job"));
        attention(Matter::PausedQueue, text, None, "/ui/queues")
    })
}

pub(super) fn of_orders(orders: &[Order], now: Timestamp) -> impl Iterator<Item = Attention> {
    orders.iter().filter_map(move |order| match order {
        Order::Webhook(webhook) => of_webhook(webhook),
        Order::Schedule(schedule) => of_schedule(schedule, now),
    })
}

fn of_webhook(webhook: &Webhook) -> Option<Attention> {
    let why = webhook.last_error.as_deref().map(|error| format!(": {error}")).unwrap_or_default();
    let text = match webhook.disabled_at {
        Some(_) => format!("webhook {} is disabled{why}", webhook.id),
        None if webhook.failures > 0 => {
            format!("webhook {} fails, {} so far{why}", webhook.id, number(webhook.failures.into(), "time"))
        }
        None => return None,
    };
    Some(attention(Matter::Webhook, text, webhook.disabled_at, "/ui/system"))
}

fn of_schedule(schedule: &Schedule, now: Timestamp) -> Option<Attention> {
    let late = schedule.next_at.filter(|next| now > *next && now - *next > SOON);
    let text = match (late, &schedule.last_error) {
        (Some(_), _) => format!("schedule {} is late", schedule.id),
        (None, Some(error)) => format!("schedule {} made no job: {error}", schedule.id),
        (None, None) => return None,
    };
    Some(attention(Matter::Schedule, text, late.or(schedule.last_at), "/ui/system"))
}

pub(super) fn of_nodes(nodes: &[NodeNow]) -> impl Iterator<Item = Attention> {
    nodes.iter().filter(|node| node.life == NodeLife::Gone).map(|node| {
        let text = format!("node {} is gone and has not said that it stops", node.address);
        attention(Matter::NodeGone, text, Some(node.seen_at), "/ui/system")
    })
}

#[cfg(test)]
mod tests;
