//! The rules L2 to L12 of lifecycle files, computed again from the states and rules of a lifecycle that was accepted.

use std::collections::BTreeSet;

use tenure_core::id::StateName;
use tenure_core::lifecycle::{Condition, Lifecycle, Phase, Rule, State, Timeout, Trigger};

pub(super) fn check(lifecycle: &Lifecycle) {
    names(lifecycle);
    roles(lifecycle);
    reachable(lifecycle);
    forward(lifecycle);
    total(lifecycle);
    owned(lifecycle);
    sensible(lifecycle);
    money(lifecycle);
}

fn phase(lifecycle: &Lifecycle, state: &str) -> Phase {
    lifecycle.state(state).unwrap_or_else(|| panic!("L1: there is no state {state}")).phase
}

/// The phases before and after a rule; `None` before a creation.
fn phases(lifecycle: &Lifecycle, rule: &Rule) -> (Option<Phase>, Phase) {
    let from = rule.from.as_ref().map(|from| phase(lifecycle, from.as_str()));
    (from, phase(lifecycle, rule.to.as_str()))
}

/// L1: names are well-formed and unique.
fn names(lifecycle: &Lifecycle) {
    let is_name = |name: &str| {
        name.starts_with(|c: char| c.is_ascii_lowercase())
            && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
    };
    let aliases = lifecycle.states.iter().filter_map(|state| state.alias.as_ref());
    let all: Vec<&str> =
        lifecycle.states.iter().map(|state| &state.name).chain(aliases).map(StateName::as_str).collect();
    assert!(all.iter().all(|name| is_name(name)), "L1: {all:?}");
    assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len(), "L1: {all:?}");
}

/// L2 and L3: the one creation leads to the initial state; no rule leaves a final one.
fn roles(lifecycle: &Lifecycle) {
    let creations: Vec<&Rule> = lifecycle.rules.iter().filter(|rule| rule.on == Trigger::Create).collect();
    assert!(matches!(creations[..], [rule] if rule.to == lifecycle.initial && rule.from.is_none()), "L2");
    let initial = phase(lifecycle, lifecycle.initial.as_str());
    assert!(matches!(initial, Phase::Ready | Phase::Waiting), "L2: begins {}", initial.as_str());
    assert!(lifecycle.states.iter().any(|state| state.phase.is_final()), "L2: no final state");
    for rule in &lifecycle.rules {
        assert_eq!(rule.from.is_none(), rule.on == Trigger::Create, "L2: {rule:?}");
        assert!(rule.by.is_none() || matches!(rule.on, Trigger::Signal(_)), "L2: {rule:?}");
        assert!(!phases(lifecycle, rule).0.is_some_and(Phase::is_final), "L3: {rule:?}");
    }
}

/// L4 and L5: every state is reached from the initial one, and reaches a final one.
fn reachable(lifecycle: &Lifecycle) {
    let edges: Vec<(&str, &str)> = lifecycle
        .rules
        .iter()
        .filter_map(|rule| Some((rule.from.as_ref()?.as_str(), rule.to.as_str())))
        .collect();
    let closure = |begin: BTreeSet<&'_ str>, is_forward: bool| {
        let mut found: BTreeSet<String> = begin.into_iter().map(str::to_owned).collect();
        loop {
            let before = found.len();
            for (from, to) in &edges {
                let (near, far) = if is_forward { (from, to) } else { (to, from) };
                if found.contains(*near) {
                    found.insert((*far).to_owned());
                }
            }
            if found.len() == before {
                return found;
            }
        }
    };
    let reached = closure(BTreeSet::from([lifecycle.initial.as_str()]), true);
    let finals = lifecycle.states.iter().filter(|state| state.phase.is_final());
    let ending = closure(finals.map(|state| state.name.as_str()).collect(), false);
    for state in &lifecycle.states {
        assert!(reached.contains(state.name.as_str()), "L4: {} is not reached", state.name);
        assert!(ending.contains(state.name.as_str()), "L5: {} never ends", state.name);
    }
}

/// L6 and L7: within an attempt ranks grow; what begins another attempt uses one up or was requested.
fn forward(lifecycle: &Lifecycle) {
    let rank = |name: &str| lifecycle.state(name).map(|state| state.rank);
    for rule in &lifecycle.rules {
        let (Some(from), (Some(_), to)) = (&rule.from, phases(lifecycle, rule)) else { continue };
        if to == Phase::Ready {
            let is_bounded = rule.when == Some(Condition::Retry)
                || matches!(rule.on, Trigger::Release | Trigger::Signal(_));
            assert!(is_bounded, "L7: {rule:?}");
        } else {
            assert!(rank(from.as_str()) < rank(rule.to.as_str()), "L6: {rule:?}");
        }
    }
}

/// L8: the last rule of a state and a trigger has no condition, and no rule is hidden by an earlier one.
fn total(lifecycle: &Lifecycle) {
    for rule in &lifecycle.rules {
        let group = lifecycle.rules.iter().filter(|other| other.on == rule.on && other.from == rule.from);
        let conditions: Vec<Option<Condition>> = group.map(|rule| rule.when).collect();
        let unconditional = conditions.iter().position(Option::is_none);
        assert_eq!(unconditional, Some(conditions.len() - 1), "L8: {:?} from {:?}", rule.on, rule.from);
        let distinct: BTreeSet<_> = conditions.iter().map(|when| when.map(Condition::as_str)).collect();
        assert_eq!(distinct.len(), conditions.len(), "L8: {:?} from {:?}", rule.on, rule.from);
    }
}

/// L9 and L10: leases expire and holders can report; what waits has an end, unless the file says otherwise.
fn owned(lifecycle: &Lifecycle) {
    for State { name, phase, timeout, .. } in &lifecycle.states {
        let has = |trigger: &Trigger| lifecycle.has_rule(name.as_str(), trigger);
        let needed: &[Trigger] = match phase {
            Phase::Held => &[Trigger::LeaseExpired, Trigger::Start],
            Phase::Active => &[Trigger::LeaseExpired, Trigger::Succeed, Trigger::Fail],
            Phase::Ready | Phase::Waiting | Phase::Final(_) => &[],
        };
        assert!(needed.iter().all(has), "L9: {name} needs {needed:?}");
        if *phase == Phase::Waiting {
            assert!(has(&Trigger::Due) || *timeout != Timeout::Unset, "L10: {name} waits without an end");
        }
        assert_eq!(matches!(timeout, Timeout::After(_)), has(&Trigger::Timeout), "L10: {name}");
    }
}

/// L9 and L11: triggers leave and enter states in which they can occur, and only a claim gives a lease.
fn sensible(lifecycle: &Lifecycle) {
    for rule in &lifecycle.rules {
        let (Some(from), to) = phases(lifecycle, rule) else { continue };
        let is_sensible = match rule.on {
            Trigger::Claim => from == Phase::Ready && to.is_leased(),
            Trigger::Start => from == Phase::Held && to == Phase::Active,
            Trigger::LeaseExpired | Trigger::Disconnected | Trigger::Release => from.is_leased(),
            Trigger::Due => from == Phase::Waiting,
            _ => true,
        };
        assert!(is_sensible, "L11: {rule:?}");
        let gets_lease = to.is_leased() && !from.is_leased();
        assert!(!gets_lease || rule.on == Trigger::Claim, "L9: {rule:?}");
    }
}

/// L12: each final state settles or refunds, not both.
fn money(lifecycle: &Lifecycle) {
    let Some(credits) = &lifecycle.credits else { return };
    for state in lifecycle.states.iter().filter(|state| state.phase.is_final()) {
        let count = credits.settle.iter().chain(&credits.refund).filter(|name| **name == state.name).count();
        assert_eq!(count, 1, "L12: {}", state.name);
    }
}
