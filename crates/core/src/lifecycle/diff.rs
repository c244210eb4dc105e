//! Compares two versions of a lifecycle: what is added, removed and changed, and whether live jobs of the old version
//! could continue under the new one.
//!
//! A job keeps the version it was created under, so nothing is migrated. The question is whether every live job would
//! still satisfy the laws if the new rules applied from now on.

mod rules;
mod settings;

use super::{Lifecycle, Phase, State, Timeout, Trigger};
use crate::id::StateName;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diff {
    /// In file order: header, states, rules, tables.
    pub changes: Vec<Change>,
    /// Whether live jobs of the old version could continue under the new one: no change blocks.
    pub compatible: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    pub kind: ChangeKind,
    /// What: ``state `running` ``, ``rule `fail` from `running` ``, `policy lease`.
    pub what: String,
    /// How: `role held`, `60s → 30s`.
    pub how: String,
    /// Why live jobs could not continue, if the change prevents it.
    pub blocks: Option<String>,
    /// The state whose jobs could not continue; `None` if it is every state.
    pub blocks_in: Option<StateName>,
}

impl Change {
    /// Why live jobs in this state could not continue, if the change prevents it.
    pub fn blocks_job_in(&self, state: &str) -> Option<&str> {
        let is_meant = self.blocks_in.as_ref().is_none_or(|meant| *meant == *state);
        self.blocks.as_deref().filter(|_| is_meant)
    }

    /// Jobs in this state could not continue.
    fn block(&mut self, state: &StateName, why: String) {
        (self.blocks, self.blocks_in) = (Some(why), Some(state.clone()));
    }
}

named! {
    pub enum ChangeKind {
        Added = "added",
        Removed = "removed",
        Changed = "changed",
    }
}

pub fn diff(old: &Lifecycle, new: &Lifecycle) -> Diff {
    let mut changes = ChangeList(Vec::new());
    settings::head(&mut changes, old, new);
    states(&mut changes, old, new);
    rules::compare(&mut changes, old, new);
    settings::tables(&mut changes, old, new);
    let compatible = changes.0.iter().all(|change| change.blocks.is_none());
    Diff { changes: changes.0, compatible }
}

struct ChangeList(Vec<Change>);

impl ChangeList {
    fn add(&mut self, kind: ChangeKind, what: impl Into<String>, how: impl Into<String>) -> &mut Change {
        self.0.push(Change { kind, what: what.into(), how: how.into(), blocks: None, blocks_in: None });
        self.0.last_mut().expect("one was just pushed")
    }

    /// Records a changed value; does nothing if both are equal.
    fn value(&mut self, what: &str, old: impl Into<String>, new: impl Into<String>) -> Option<&mut Change> {
        let (old, new) = (old.into(), new.into());
        (old != new).then(|| self.add(ChangeKind::Changed, what, format!("{old} → {new}")))
    }
}

fn states(changes: &mut ChangeList, old: &Lifecycle, new: &Lifecycle) {
    for state in &old.states {
        match new.state(state.name.as_str()) {
            Some(now) => changed_state(changes, new, state, now),
            None => removed_state(changes, new, state),
        }
    }
    for state in &new.states {
        if old.state(state.name.as_str()).is_none() {
            changes.add(ChangeKind::Added, format!("state `{}`", state.name), described(state));
        }
    }
    ranks(changes, old, new);
}

fn removed_state(changes: &mut ChangeList, new: &Lifecycle, state: &State) {
    let renamed = new.states.iter().find(|now| now.alias.as_ref() == Some(&state.name));
    let how = match renamed {
        Some(now) => format!("{}, now an alias of `{}`", described(state), now.name),
        None => described(state),
    };
    let change = changes.add(ChangeKind::Removed, format!("state `{}`", state.name), how);
    if !state.phase.is_final() {
        change.block(&state.name, format!("a live job may be in `{}`, which would not exist", state.name));
    }
}

fn changed_state(changes: &mut ChangeList, new: &Lifecycle, old: &State, now: &State) {
    let what = format!("state `{}`", old.name);
    if let Some(change) = changes.value(&what, phase(old.phase), phase(now.phase)) {
        let (name, was, is) = (&old.name, old.phase.as_str(), now.phase.as_str());
        if old.phase.is_final() && !now.phase.is_final() {
            change.block(name, format!("jobs that finished in `{name}` would be live again"));
        } else if !old.phase.is_final() {
            let why = format!("a live job may have entered `{name}` when it was {was}, and would be {is}");
            change.block(name, why);
        }
    }
    if let Some(change) = changes.value(&what, timeout(old.timeout), timeout(now.timeout)) {
        let runs = matches!(old.timeout, Timeout::After(_));
        if runs && !new.has_rule(now.name.as_str(), &Trigger::Timeout) {
            let name = &old.name;
            change.block(
                name,
                format!("the timeout of a live job in `{name}` may be running, and would have no rule"),
            );
        }
    }
    let alias = |state: &State| {
        state.alias.as_ref().map_or_else(|| "no alias".to_owned(), |name| format!("alias {name}"))
    };
    changes.value(&what, alias(old), alias(now));
}

/// Law 3 for a history that began under the old rules: each transition that was forward must still be.
fn ranks(changes: &mut ChangeList, old: &Lifecycle, new: &Lifecycle) {
    let mut reported = Vec::new();
    for rule in old.rules.iter().filter(|rule| !old.begins_attempt(rule)) {
        let Some(from) = &rule.from else { continue };
        let (Some(before), Some(after)) = (new.state(from.as_str()), new.state(rule.to.as_str())) else {
            continue;
        };
        let live = !after.phase.is_final() && after.phase != Phase::Ready;
        if !live || before.rank < after.rank || reported.contains(&(from, &rule.to)) {
            continue;
        }
        reported.push((from, &rule.to));
        let how = format!("`{}` is no longer before `{}`", from, rule.to);
        let why = format!("a live job that went from `{from}` to `{}` would have moved backwards", rule.to);
        changes.add(ChangeKind::Changed, "order", how).block(&rule.to, why);
    }
}

fn described(state: &State) -> String {
    match state.timeout {
        Timeout::Unset => phase(state.phase),
        Timeout::Never | Timeout::After(_) => format!("{}, {}", phase(state.phase), timeout(state.timeout)),
    }
}

fn phase(phase: Phase) -> String {
    match phase {
        Phase::Final(outcome) => format!("outcome {outcome}"),
        Phase::Ready | Phase::Held | Phase::Active | Phase::Waiting => format!("role {}", phase.as_str()),
    }
}

fn timeout(timeout: Timeout) -> String {
    match timeout {
        Timeout::Unset => "no timeout".to_owned(),
        Timeout::Never => "timeout never".to_owned(),
        Timeout::After(span) => format!("timeout {span}"),
    }
}
