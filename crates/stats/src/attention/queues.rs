//! Rules about queues: paused ones, and backlogs that do not drain.

use super::{Attention, AttentionKind, Judged, Severity, Subject, number};
use crate::prelude::*;
use crate::snapshot::{QueueNow, QueueTrend};

/// Paused queues with ready jobs, and queues that are paused for long.
pub(super) fn paused(judged: &Judged<'_>) -> Vec<Attention> {
    let shown = |queue: &QueueNow| {
        let pause = judged.peers.pauses.get(&queue.name);
        let since = pause.map(|pause| pause.since);
        let now = judged.inputs.live.now;
        let is_long = since.is_some_and(|since| now > since && now - since > judged.thresholds.pause);
        if queue.ready == 0 && !is_long {
            return None;
        }
        let by = pause.map(|pause| format!(" by {}", pause.by)).unwrap_or_default();
        let jobs =
            if queue.ready == 0 { "no ready jobs".to_owned() } else { number(queue.ready, "ready job") };
        Some(Attention {
            what: AttentionKind::PausedQueue,
            severity: if is_long && queue.ready > 0 { Severity::Critical } else { Severity::Warning },
            text: format!("queue {} is paused{by}, with {jobs}", queue.name),
            since,
            subject: Subject::Queues,
            action: "Resume the queue",
        })
    };
    judged.queues.iter().filter(|queue| queue.paused).filter_map(shown).collect()
}

/// Queues with many ready jobs that do not drain in time at the rate of the last minutes.
pub(super) fn growing(judged: &Judged<'_>) -> Vec<Attention> {
    let thresholds = judged.thresholds;
    let is_reported = |queue: &QueueNow, trend: &QueueTrend| {
        let is_slow = trend.drains_in.is_none_or(|time| time > thresholds.drain_within);
        !queue.paused && queue.ready >= u64::from(thresholds.backlog) && is_slow
    };
    let found = judged.queues.iter().zip(judged.trends).filter(|(queue, trend)| is_reported(queue, trend));
    let shown = found.map(|(queue, trend)| {
        let jobs = number(queue.ready, "ready job");
        let (name, comes, goes) = (&queue.name, trend.in_per_minute, trend.out_per_minute);
        let text = match trend.drains_in {
            Some(Millis(ms)) => {
                format!("queue {name} has {jobs} and needs {} min to drain", ms / 60_000)
            }
            None => {
                format!("queue {name} has {jobs} and does not drain: {comes:.1}/min in, {goes:.1}/min out")
            }
        };
        let (since, subject) = (trend.oldest, Subject::Queues);
        let action = "Add workers";
        Attention { what: AttentionKind::Backlog, severity: Severity::Warning, text, since, subject, action }
    });
    shown.collect()
}
