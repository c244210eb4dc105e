//! Compares the header and the tables of two files, value by value.

use super::super::Lifecycle;
use super::super::policy::{Api, Backoff, Credits};
use super::{ChangeKind, ChangeList};
use crate::id::StateName;

pub(super) fn head(changes: &mut ChangeList, old: &Lifecycle, new: &Lifecycle) {
    if let Some(change) = changes.value("name", old.name.as_str(), new.name.as_str()) {
        change.blocks =
            Some(format!("a live job refers to its lifecycle by name, and `{}` is another one", new.name));
    }
    changes.value("version", old.version.to_string(), new.version.to_string());
    changes.value("about", &old.about, &new.about);
    changes.value("initial", old.initial.as_str(), new.initial.as_str());
}

pub(super) fn tables(changes: &mut ChangeList, old: &Lifecycle, new: &Lifecycle) {
    let (was, now) = (&old.policy, &new.policy);
    changes.value("policy max_attempts", was.max_attempts.to_string(), now.max_attempts.to_string());
    changes.value("policy lease", was.lease.to_string(), now.lease.to_string());
    changes.value("policy heartbeat", was.heartbeat.to_string(), now.heartbeat.to_string());
    changes.value("policy cancel_grace", was.cancel_grace.to_string(), now.cancel_grace.to_string());
    changes.value("policy backoff", backoff(&was.backoff), backoff(&now.backoff));
    credits(changes, old, new);
    let (was, now) = (&old.idempotency, &new.idempotency);
    changes.value("idempotency derive", joined(&was.derive), joined(&now.derive));
    changes.value("idempotency reusable", joined(&was.reusable), joined(&now.reusable));
    changes.value("idempotency window", was.window.to_string(), now.window.to_string());
    let (was, now) = (old.retention, new.retention);
    changes.value("retention jobs", was.jobs.to_string(), now.jobs.to_string());
    changes.value("retention telemetry", was.telemetry.to_string(), now.telemetry.to_string());
    api(changes, old.api.as_ref(), new.api.as_ref());
}

fn backoff(backoff: &Backoff) -> String {
    let Backoff { base, factor, max, jitter } = backoff;
    format!("{base} × {factor} up to {max}, jitter {jitter}")
}

fn credits(changes: &mut ChangeList, old: &Lifecycle, new: &Lifecycle) {
    match (&old.credits, &new.credits) {
        (None, None) => {}
        (None, Some(_)) => {
            changes.add(ChangeKind::Added, "credits", "each final state settles or refunds");
        }
        (Some(_), None) => {
            changes.add(ChangeKind::Removed, "credits", "no final state settles or refunds").blocks =
                Some("credits reserved for a live job would never be settled or refunded".to_owned());
        }
        (Some(was), Some(now)) => {
            for name in old.states.iter().map(|state| &state.name) {
                if let (Some(was), Some(now)) = (moves(was, name), moves(now, name)) {
                    changes.value(&format!("credits in `{name}`"), was, now);
                }
            }
        }
    }
}

fn moves(credits: &Credits, state: &StateName) -> Option<&'static str> {
    if credits.settle.contains(state) {
        return Some("settled");
    }
    credits.refund.contains(state).then_some("refunded")
}

fn joined<T: ToString>(parts: &[T]) -> String {
    if parts.is_empty() {
        return "none".to_owned();
    }
    parts.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn api(changes: &mut ChangeList, old: Option<&Api>, new: Option<&Api>) {
    let (was, now) = match (old, new) {
        (None, None) => return,
        (None, Some(now)) => {
            changes.add(ChangeKind::Added, "api", format!("mount {}", now.mount));
            return;
        }
        (Some(was), None) => {
            changes.add(ChangeKind::Removed, "api", format!("mount {}", was.mount));
            return;
        }
        (Some(was), Some(now)) => (was, now),
    };
    changes.value("api mount", &was.mount, &now.mount);
    entries(changes, "api field", &was.fields, &now.fields, Clone::clone);
    entries(changes, "api event", &was.events, &now.events, |fields| joined(fields));
}

fn entries<T>(
    changes: &mut ChangeList,
    what: &str,
    old: &[(String, T)],
    new: &[(String, T)],
    format: impl Fn(&T) -> String,
) {
    for (key, was) in old {
        let what = format!("{what} `{key}`");
        match new.iter().find(|(other, _)| other == key) {
            Some((_, now)) => {
                changes.value(&what, format(was), format(now));
            }
            None => {
                changes.add(ChangeKind::Removed, what, format(was));
            }
        }
    }
    for (key, now) in new {
        if !old.iter().any(|(other, _)| other == key) {
            changes.add(ChangeKind::Added, format!("{what} `{key}`"), format(now));
        }
    }
}
