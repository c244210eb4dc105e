//! L8, L9 and L11: each trigger has one result, holders of a lease can report, and triggers occur where they can.

use super::super::flaw::{Flaws, RuleId};
use super::super::{Condition, Outcome, Phase, Trigger};
use super::roles::may_be_initial;
use super::{Edge, EdgeCondition, Machine, Origin};
use crate::text::list;

pub(super) fn check(machine: &Machine<'_>, flaws: &mut Flaws<'_>) {
    shadowed(machine, flaws);
    total(machine, flaws);
    owned(machine, flaws);
    entered_with_a_lease(machine, flaws);
    sensible(machine, flaws);
    reasons(machine, flaws);
}

/// The rules that are tried together: one trigger from one state, in file order.
fn groups<'m, 'd>(machine: &'m Machine<'d>) -> Vec<Vec<&'m Edge<'d>>> {
    let mut groups: Vec<Vec<&Edge<'_>>> = Vec::new();
    for edge in machine.edges.iter().filter(|edge| edge.on.is_some() && edge.from != Origin::Unknown) {
        match groups.iter_mut().find(|group| group[0].on == edge.on && group[0].from == edge.from) {
            Some(group) => group.push(edge),
            None => groups.push(vec![edge]),
        }
    }
    groups
}

fn shadowed(machine: &Machine<'_>, flaws: &mut Flaws<'_>) {
    for group in groups(machine) {
        // L2 reports a second `create`.
        if group[0].from == Origin::Create {
            continue;
        }
        for (index, edge) in group.iter().enumerate() {
            let hides = |first: &&&Edge<'_>| match first.condition() {
                EdgeCondition::Always => true,
                EdgeCondition::Unknown => false,
                same @ EdgeCondition::If(_) => edge.condition() == same,
            };
            let (Some(first), Some(on)) = (group[..index].iter().find(hides), edge.on) else { continue };
            let why = match first.condition() {
                EdgeCondition::If(condition) => format!("has the same `when = \"{condition}\"`"),
                EdgeCondition::Always | EdgeCondition::Unknown => {
                    "has no `when`, so it always matches".to_owned()
                }
            };
            let message = format!("this `{on}` rule can never be followed");
            let places = [(edge.on_at, "never reached"), (first.on_at, why.as_str())];
            let help = "rules of one trigger are tried in file order: put the one without `when` last, and remove \
                        rules that are never reached";
            flaws.add(RuleId::L8, message, &places, help);
        }
    }
}

/// Rules of one transition that lack a rule without a condition after them.
struct Unanswered<'m, 'd> {
    edge: &'m Edge<'d>,
    condition: Condition,
    /// "from `state`", for each state that the transition leaves.
    origins: Vec<String>,
}

fn total(machine: &Machine<'_>, flaws: &mut Flaws<'_>) {
    let mut found: Vec<Unanswered<'_, '_>> = Vec::new();
    for group in groups(machine) {
        let last = group[group.len() - 1];
        let EdgeCondition::If(condition) = last.condition() else { continue };
        if group.iter().any(|edge| edge.condition() == EdgeCondition::Always) || may_have_more(machine, last)
        {
            continue;
        }
        let origin =
            last.from.state().map_or_else(String::new, |from| format!(" from `{}`", machine.name(from)));
        let same = |other: &&mut Unanswered<'_, '_>| {
            other.edge.on_at == last.on_at && std::ptr::eq(other.edge.transition, last.transition)
        };
        match found.iter_mut().find(same) {
            Some(unanswered) => unanswered.origins.push(origin),
            None => found.push(Unanswered { edge: last, condition, origins: vec![origin] }),
        }
    }
    for Unanswered { edge, condition, origins } in found {
        let Some(on) = edge.on else { continue };
        let message = format!("`{on}`{} has no rule for when `{condition}` does not hold", list(&origins));
        let when_at = edge.transition.when.as_ref().map_or(edge.on_at, |when| when.at);
        let places = [(when_at, "the last rule has a condition"), (edge.on_at, "for this trigger")];
        let help = format!("add a rule for `{on}` without `when` after it");
        flaws.add(RuleId::L8, message, &places, help);
    }
}

/// Whether a rule that is not fully known could be the missing one.
fn may_have_more(machine: &Machine<'_>, last: &Edge<'_>) -> bool {
    machine.edges.iter().any(|edge| {
        let unknown_origin = edge.from == Origin::Unknown && edge.on.is_none_or(|on| Some(on) == last.on);
        let unknown_trigger = edge.from == last.from && edge.on.is_none();
        unknown_origin || unknown_trigger
    })
}

fn owned(machine: &Machine<'_>, flaws: &mut Flaws<'_>) {
    for state in 0..machine.draft.states.len() {
        let needed: &[Trigger] = match machine.phase(state) {
            Some(Phase::Held) => &[Trigger::LeaseExpired, Trigger::Start],
            Some(Phase::Active) => &[Trigger::LeaseExpired, Trigger::Succeed, Trigger::Fail],
            Some(Phase::Ready | Phase::Waiting | Phase::Final(_)) | None => &[],
        };
        let missing = needed.iter().filter(|trigger| !machine.may_have(state, trigger));
        let missing: Vec<String> = missing.map(|trigger| format!("`{trigger}`")).collect();
        if missing.is_empty() {
            continue;
        }
        let missing = list(&missing);
        let message = format!("`{}` has no rule for {missing}", machine.name(state));
        let places = [
            (machine.name_at(state), "a worker holds the job here"),
            (machine.phase_at(state), "because of this role"),
        ];
        flaws.add(RuleId::L9, message, &places, format!("add rules from this state for {missing}"));
    }
}

/// A held or active state that is entered without a claim: no worker would have the lease, so it could never expire.
fn entered_with_a_lease(machine: &Machine<'_>, flaws: &mut Flaws<'_>) {
    for (edge, on, from, phase) in machine.known() {
        let Some(to) = edge.to.filter(|to| machine.phase(*to).is_some_and(Phase::is_leased)) else {
            continue;
        };
        // L11 reports misplaced claims and starts.
        let grants = matches!(on, Trigger::Claim | Trigger::Start);
        if grants || !matches!(phase, Phase::Ready | Phase::Waiting) {
            continue;
        }
        let message = format!("`{on}` leads to `{}`, where no worker would hold the job", machine.name(to));
        let left = format!("no worker holds it in `{}`", machine.name(from));
        let places = [(edge.to_at, "a worker must hold the job here"), (edge.from_at, left.as_str())];
        let help = "lead to a ready state instead, from which `claim` gives the job to a worker";
        flaws.add(RuleId::L9, message, &places, help);
    }
}

fn sensible(machine: &Machine<'_>, flaws: &mut Flaws<'_>) {
    for (edge, on, from, phase) in machine.known() {
        // L3 reports a rule that leaves a final state, and L2 an initial state that cannot be one.
        if phase.is_final()
            || (*on == Trigger::Claim && machine.initial == Some(from)) && !may_be_initial(phase)
        {
            continue;
        }
        let to = edge.to.and_then(|to| Some((to, machine.phase(to)?)));
        let (leaves, help): (&str, &str) = match on {
            Trigger::Claim if phase != Phase::Ready => ("ready", "only a ready job can be claimed"),
            Trigger::Start if phase != Phase::Held => ("held", "a worker starts a job that it holds"),
            Trigger::LeaseExpired | Trigger::Disconnected | Trigger::Release if !phase.is_leased() => {
                ("held and active", "only there does a worker have a lease")
            }
            Trigger::Due if phase != Phase::Waiting => ("waiting", "only there does a job have a due time"),
            Trigger::Claim => {
                enters(machine, flaws, edge, to.filter(|(_, to)| !to.is_leased()), "a held or an active");
                continue;
            }
            Trigger::Start => {
                enters(machine, flaws, edge, to.filter(|(_, to)| *to != Phase::Active), "an active");
                continue;
            }
            _ => continue,
        };
        let message =
            format!("`{on}` leaves {leaves} states only, and `{}` is {}", machine.name(from), phase.as_str());
        let places = [(edge.from_at, "cannot occur here"), (machine.phase_at(from), "because of this role")];
        let help = format!("{help}: remove it from `from`, or change the state's role");
        flaws.add(RuleId::L11, message, &places, help);
    }
}

/// Reports a claim or start that enters a state of the wrong role.
fn enters(
    machine: &Machine<'_>,
    flaws: &mut Flaws<'_>,
    edge: &Edge<'_>,
    wrong: Option<(usize, Phase)>,
    role: &str,
) {
    let (Some((to, phase)), Some(on)) = (wrong, edge.on) else { return };
    let message = format!("`{on}` enters {role} state, and `{}` is {}", machine.name(to), phase.as_str());
    let places = [(edge.to_at, "wrong role"), (machine.phase_at(to), "because of this")];
    flaws.add(RuleId::L11, message, &places, format!("lead to {role} state, where the worker has its lease"));
}

/// A reason belongs to a dead letter, which only the outcome `dead` writes.
fn reasons(machine: &Machine<'_>, flaws: &mut Flaws<'_>) {
    for edge in &machine.edges {
        let (Some(reason), Some(to)) = (&edge.transition.reason, edge.to) else { continue };
        if machine.phase(to).is_none_or(|phase| phase == Phase::Final(Outcome::Dead)) {
            continue;
        }
        let message = format!("`reason` is for dead letters, and `{}` does not write one", machine.name(to));
        let places = [(reason.at, "has no effect"), (machine.phase_at(to), "not the outcome \"dead\"")];
        let help = "remove the `reason`, or lead to a state with outcome = \"dead\"";
        flaws.add(RuleId::L11, message, &places, help);
    }
}
