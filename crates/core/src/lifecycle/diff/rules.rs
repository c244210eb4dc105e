//! Compares rules, identified by trigger, from-state and condition, which L8 makes unique.

use super::super::{Lifecycle, Phase, Rule, Timeout, Trigger};
use super::{ChangeKind, ChangeList};

/// The reports that a worker may be about to send for a job that it holds.
const REPORTS: [Trigger; 6] =
    [Trigger::Start, Trigger::Succeed, Trigger::Partial, Trigger::Fail, Trigger::Reject, Trigger::Release];

pub(super) fn compare(changes: &mut ChangeList, old: &Lifecycle, new: &Lifecycle) {
    for rule in &old.rules {
        match find(new, rule) {
            Some(now) => changed(changes, rule, now),
            None => removed(changes, old, new, rule),
        }
    }
    for rule in &new.rules {
        if find(old, rule).is_none() {
            changes.add(ChangeKind::Added, what(rule), leads(rule));
        }
    }
    due(changes, old, new);
}

fn find<'a>(lifecycle: &'a Lifecycle, rule: &Rule) -> Option<&'a Rule> {
    lifecycle
        .rules
        .iter()
        .find(|other| other.on == rule.on && other.from == rule.from && other.when == rule.when)
}

fn changed(changes: &mut ChangeList, old: &Rule, now: &Rule) {
    let what = what(old);
    changes.value(&what, format!("to `{}`", old.to), format!("to `{}`", now.to));
    changes.value(&what, format!("event {}", old.event), format!("event {}", now.event));
    let audit = |rule: &Rule| {
        rule.audit.as_ref().map_or_else(|| "no audit line".to_owned(), |name| format!("audit {name}"))
    };
    changes.value(&what, audit(old), audit(now));
    let reason =
        |rule: &Rule| rule.reason.map_or("no reason".to_owned(), |code| format!("reason {}", code.as_str()));
    changes.value(&what, reason(old), reason(now));
    changes.value(&what, format!("sent {}", senders(old)), format!("sent {}", senders(now)));
}

fn removed(changes: &mut ChangeList, old: &Lifecycle, new: &Lifecycle, rule: &Rule) {
    let change = changes.add(ChangeKind::Removed, what(rule), leads(rule));
    let Some(from) = &rule.from else { return };
    // If the state is removed or has another role, that change blocks.
    let phase = |lifecycle: &Lifecycle| lifecycle.state(from.as_str()).map(|state| state.phase);
    if phase(old) != phase(new) || new.has_rule(from.as_str(), &rule.on) {
        return;
    }
    let is_report = phase(old).is_some_and(Phase::is_leased) && REPORTS.contains(&rule.on);
    if rule.on == Trigger::Due {
        let why = format!("the due time of a live job in `{from}` may be set, and would have no rule");
        change.block(from, why);
    } else if is_report {
        let why = format!("a worker that holds a live job in `{from}` may still report `{}`", rule.on);
        change.block(from, why);
    }
}

/// A due time is set on entry, so jobs that are already in the state have none.
fn due(changes: &mut ChangeList, old: &Lifecycle, new: &Lifecycle) {
    for state in new.states.iter().filter(|state| state.phase == Phase::Waiting) {
        let name = state.name.as_str();
        let both_wait = old.state(name).is_some_and(|was| was.phase == Phase::Waiting);
        let begins = new.has_rule(name, &Trigger::Due) && !old.has_rule(name, &Trigger::Due);
        if both_wait && begins && state.timeout == Timeout::Unset {
            let why = format!("a live job in `{name}` has no due time, so nothing would end its wait");
            changes
                .add(ChangeKind::Changed, format!("state `{name}`"), "has a due time")
                .block(&state.name, why);
        }
    }
}

fn what(rule: &Rule) -> String {
    let from = rule.from.as_ref().map_or_else(String::new, |from| format!(" from `{from}`"));
    let when = rule.when.map_or_else(String::new, |when| format!(" when {when}"));
    format!("rule `{}`{from}{when}", rule.on)
}

fn leads(rule: &Rule) -> String {
    let by = rule.by.as_ref().map_or_else(String::new, |_| format!(", {}", senders(rule)));
    format!("to `{}`, event {}{by}", rule.to, rule.event)
}

/// `by operator, admin`.
fn senders(rule: &Rule) -> String {
    let Some(by) = &rule.by else { return "by owner, operator, admin".to_owned() };
    let names: Vec<&str> = by.iter().map(|role| role.as_str()).collect();
    format!("by {}", names.join(", "))
}
