//! What a lifecycle allows, computed from its states and rules: ranks, conditions, the rule that applies.

use std::collections::BTreeMap;

use tenure_core::lifecycle::{Condition, Lifecycle};

use crate::prelude::*;

/// The length of the longest path from the initial state to each state, along rules that begin no new attempt.
pub(super) fn ranks(lifecycle: &Lifecycle) -> BTreeMap<StateName, usize> {
    let is_ready =
        |name: &StateName| lifecycle.states.iter().any(|one| one.name == *name && one.phase == Phase::Ready);
    let mut ranks: BTreeMap<StateName, usize> =
        lifecycle.states.iter().map(|one| (one.name.clone(), 0)).collect();
    // One round per state: no path without a cycle is longer.
    for _ in 0..lifecycle.states.len() {
        for rule in lifecycle.rules.iter().filter(|rule| !is_ready(&rule.to)) {
            let from = rule.from.as_ref().and_then(|from| ranks.get(from)).copied();
            if let (Some(from), Some(to)) = (from, ranks.get_mut(&rule.to)) {
                *to = (*to).max(from + 1);
            }
        }
    }
    ranks
}

/// Whether this trigger counts as a failed attempt.
pub(super) fn fails(trigger: &Trigger) -> bool {
    matches!(trigger, Trigger::Fail | Trigger::LeaseExpired | Trigger::Timeout | Trigger::Disconnected)
}

/// Failed attempts, including this one, and their maximum.
#[derive(Clone, Copy)]
pub(super) struct RetryBudget {
    pub(super) failed: u32,
    pub(super) max: u32,
}

impl RetryBudget {
    pub(super) fn allows_retry(self, error: Option<&JobError>) -> bool {
        error.is_some_and(|error| error.class == Class::Transient) && self.failed < self.max
    }

    fn is_exhausted(self, error: Option<&JobError>) -> bool {
        error.is_some_and(|error| error.class == Class::Transient) && self.failed >= self.max
    }
}

/// The rule that applies: the first for this trigger from this state whose condition holds.
pub(super) fn rule<'a>(
    lifecycle: &'a Lifecycle,
    from: Option<&StateName>,
    on: &Trigger,
    budget: RetryBudget,
    error: Option<&JobError>,
) -> Option<&'a Rule> {
    let own = lifecycle.rules.iter().filter(|rule| rule.on == *on && rule.from.as_ref() == from);
    let mut holding = own.filter(|rule| match rule.when {
        None => true,
        Some(Condition::Retry) => budget.allows_retry(error),
        Some(Condition::Exhausted) => budget.is_exhausted(error),
    });
    holding.next()
}

/// Whether the state has a rule for this trigger.
pub(super) fn has_rule(lifecycle: &Lifecycle, from: &StateName, on: &Trigger) -> bool {
    lifecycle.rules.iter().any(|rule| rule.on == *on && rule.from.as_ref() == Some(from))
}

pub(super) fn phase(lifecycle: &Lifecycle, state: &StateName) -> Option<Phase> {
    lifecycle.states.iter().find(|one| one.name == *state).map(|one| one.phase)
}

/// The shortest and the longest delay before the n-th retry.
pub(super) fn delays(policy: &Policy, n: u32) -> (i64, i64) {
    let backoff = policy.backoff;
    let mut delay = backoff.base.0 as f64;
    for _ in 1..n {
        delay *= backoff.factor;
    }
    let most = (delay as u64).min(backoff.max.0) as i64;
    match backoff.jitter {
        Jitter::None => (most, most),
        Jitter::Full => (0, most),
        Jitter::Equal => (most / 2, most),
    }
}
