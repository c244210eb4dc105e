//! Rules about schedules, webhooks, nodes and the store.

use tenure_core::schedule::Schedule;
use tenure_core::webhook::Webhook;

use super::{Attention, AttentionKind, Judged, Severity, Subject, number};
use crate::assemble::GRACE;
use crate::prelude::*;
use crate::snapshot::{NodeLife, NodeNow};

/// How long a restart after a crash is reported.
const RESTART_REPORTED: Millis = Millis::seconds(15 * 60);

pub(super) fn all(automations: &[Automation], now: Timestamp) -> impl Iterator<Item = Attention> {
    automations.iter().filter_map(move |automation| match automation {
        Automation::Webhook(webhook) => of_webhook(webhook),
        Automation::Schedule(schedule) => of_schedule(schedule, now),
        Automation::Erasure(_) => None,
    })
}

fn of_webhook(webhook: &Webhook) -> Option<Attention> {
    let why = webhook.last_error.as_deref().map(|error| format!(": {error}")).unwrap_or_default();
    let (severity, text) = match webhook.disabled_at {
        // By an operator.
        Some(_) if webhook.failures == 0 => (Severity::Warning, format!("webhook {} is paused", webhook.id)),
        Some(_) => (Severity::Critical, format!("webhook {} is disabled{why}", webhook.id)),
        None if webhook.failures > 0 => {
            let attempts = number(webhook.failures.into(), "attempt");
            (Severity::Warning, format!("webhook {} is failing after {attempts}{why}", webhook.id))
        }
        None => return None,
    };
    let (since, subject, action) = (webhook.disabled_at, Subject::Webhooks, "Check its target");
    Some(Attention { what: AttentionKind::Webhook, severity, text, since, subject, action })
}

fn of_schedule(schedule: &Schedule, now: Timestamp) -> Option<Attention> {
    let late = schedule.next_at.filter(|next| now > *next && now - *next > GRACE);
    let text = match (late, &schedule.last_error) {
        (Some(_), _) => format!("schedule {} is late", schedule.id),
        (None, Some(error)) => format!("schedule {} created no job: {error}", schedule.id),
        (None, None) => return None,
    };
    let since = late.or(schedule.last_at);
    Some(Attention {
        what: AttentionKind::Schedule,
        severity: Severity::Warning,
        text,
        since,
        subject: Subject::Schedules,
        action: "Check the schedule",
    })
}

pub(super) fn slow_store(judged: &Judged<'_>) -> Option<Attention> {
    let p95 = Millis(judged.store.commit_us.p95? / 1000);
    (p95 >= judged.thresholds.commit_time).then(|| Attention {
        what: AttentionKind::SlowStore,
        severity: Severity::Warning,
        text: format!("the p95 of the commit time is {p95} on this node"),
        since: None,
        subject: Subject::System,
        action: "Check the store",
    })
}

/// Nodes whose reports ended, unless one with the same address has started since. Several nodes may have one address, such as
/// 0.0.0.0: one that started before the last report is another.
pub(super) fn nodes(nodes: &[NodeNow], now: Timestamp) -> impl Iterator<Item = Attention> {
    nodes.iter().filter(|node| node.life == NodeLife::Gone).filter_map(move |node| {
        let is_next = |other: &&NodeNow| {
            other.life == NodeLife::Live && other.address == node.address && other.started_at > node.seen_at
        };
        let next = nodes.iter().filter(is_next).min_by_key(|other| other.started_at);
        let address = &node.address;
        let (what, severity, text, since) = match next {
            Some(next) if now > next.started_at && now - next.started_at > RESTART_REPORTED => return None,
            Some(next) => {
                let text = format!("node {address} crashed and restarted");
                (AttentionKind::NodeRestarted, Severity::Warning, text, next.started_at)
            }
            None => {
                let text = format!("node {address} stopped reporting");
                (AttentionKind::NodeGone, Severity::Critical, text, node.seen_at)
            }
        };
        let (subject, action) = (Subject::System, "Check the node");
        Some(Attention { what, severity, text, since: Some(since), subject, action })
    })
}
