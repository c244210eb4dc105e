//! The head of the file and its tables compared, value by value.

use super::super::policy::{Api, Backoff, Credits, Idempotency, Jitter};
use super::super::{Lifecycle, Phase};
use super::{ChangeKind, Changes};

pub(super) fn head(changes: &mut Changes, old: &Lifecycle, new: &Lifecycle) {
    if let Some(change) = changes.value("name", old.name.as_str(), new.name.as_str()) {
        change.blocks = Some(format!("a live job names its lifecycle, and `{}` is another one", new.name));
    }
    changes.value("version", old.version.to_string(), new.version.to_string());
    changes.value("about", &old.about, &new.about);
    changes.value("initial", old.initial.as_str(), new.initial.as_str());
}

pub(super) fn tables(changes: &mut Changes, old: &Lifecycle, new: &Lifecycle) {
    let (was, now) = (&old.policy, &new.policy);
    changes.value("policy max_attempts", was.max_attempts.to_string(), now.max_attempts.to_string());
    changes.value("policy lease", was.lease.to_string(), now.lease.to_string());
    changes.value("policy heartbeat", was.heartbeat.to_string(), now.heartbeat.to_string());
    changes.value("policy cancel_grace", was.cancel_grace.to_string(), now.cancel_grace.to_string());
    changes.value("policy backoff", backoff(&was.backoff), backoff(&now.backoff));
    credits(changes, old, new);
    idempotency(changes, &old.idempotency, &new.idempotency);
    changes.value("retention jobs", old.retention.jobs.to_string(), new.retention.jobs.to_string());
    changes.value(
        "retention telemetry",
        old.retention.telemetry.to_string(),
        new.retention.telemetry.to_string(),
    );
    api(changes, old.api.as_ref(), new.api.as_ref());
}

fn backoff(backoff: &Backoff) -> String {
    let jitter = match backoff.jitter {
        Jitter::None => "none",
        Jitter::Full => "full",
        Jitter::Equal => "equal",
    };
    format!("{} × {} up to {}, jitter {jitter}", backoff.base, backoff.factor, backoff.max)
}

fn credits(changes: &mut Changes, old: &Lifecycle, new: &Lifecycle) {
    match (&old.credits, &new.credits) {
        (None, None) => {}
        (None, Some(_)) => {
            changes.add(ChangeKind::Added, "credits", "each final state settles or refunds");
        }
        (Some(_), None) => {
            changes.add(ChangeKind::Removed, "credits", "no final state settles or refunds").blocks =
                Some("what is reserved for a live job would never be settled or refunded".to_owned());
        }
        (Some(was), Some(now)) => {
            for state in old.states.iter().filter(|state| matches!(state.phase, Phase::Final(_))) {
                if let (Some(was), Some(now)) =
                    (moves(was, state.name.as_str()), moves(now, state.name.as_str()))
                {
                    changes.value(&format!("credits in `{}`", state.name), was, now);
                }
            }
        }
    }
}

fn moves(credits: &Credits, state: &str) -> Option<&'static str> {
    if credits.settle.iter().any(|name| name == state) {
        return Some("settled");
    }
    credits.refund.iter().any(|name| name == state).then_some("refunded")
}

fn idempotency(changes: &mut Changes, old: &Idempotency, new: &Idempotency) {
    changes.value("idempotency derive", written(&old.derive), written(&new.derive));
    changes.value("idempotency reusable", written(&old.reusable), written(&new.reusable));
    changes.value("idempotency window", old.window.to_string(), new.window.to_string());
}

fn written<T: ToString>(parts: &[T]) -> String {
    if parts.is_empty() {
        return "none".to_owned();
    }
    parts.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn api(changes: &mut Changes, old: Option<&Api>, new: Option<&Api>) {
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
    pairs(changes, "api field", &was.fields, &now.fields, Clone::clone);
    pairs(changes, "api event", &was.events, &now.events, |fields| written(fields));
}

fn pairs<T>(
    changes: &mut Changes,
    what: &str,
    old: &[(String, T)],
    new: &[(String, T)],
    say: impl Fn(&T) -> String,
) {
    for (key, was) in old {
        let what = format!("{what} `{key}`");
        match new.iter().find(|(other, _)| other == key) {
            Some((_, now)) => {
                changes.value(&what, say(was), say(now));
            }
            None => {
                changes.add(ChangeKind::Removed, what, say(was));
            }
        }
    }
    for (key, now) in new {
        if !old.iter().any(|(other, _)| other == key) {
            changes.add(ChangeKind::Added, format!("{what} `{key}`"), say(now));
        }
    }
}
