//! L8, L9 and L11: each trigger has one answer, owners can report, and triggers stand where they mean something.

use super::super::flaw::{Flaws, RuleId, Span};
use super::super::{Condition, Outcome, Phase, Trigger};
use super::{Edge, From, Machine, When};
use crate::text::list;

pub(super) fn check(machine: &Machine<'_>, flaws: &mut Flaws<'_>) {
    shadowed(machine, flaws);
    total(machine, flaws);
    owned(machine, flaws);
    entered_with_a_lease(machine, flaws);
    sensible(machine, flaws);
    reasons(machine, flaws);
}

/// The rules that are asked together: one trigger from one state, in file order.
fn groups<'m, 'd>(machine: &'m Machine<'d>) -> Vec<Vec<&'m Edge<'d>>> {
    let mut groups: Vec<Vec<&Edge<'_>>> = Vec::new();
    for edge in machine.edges.iter().filter(|edge| edge.on.is_some() && edge.from != From::Unknown) {
        match groups.iter_mut().find(|group| group[0].on == edge.on && group[0].from == edge.from) {
            Some(group) => group.push(edge),
            None => groups.push(vec![edge]),
        }
    }
    groups
}

fn shadowed(machine: &Machine<'_>, flaws: &mut Flaws<'_>) {
    for group in groups(machine) {
        // A second `create` is L2's to tell.
        if group[0].from == From::Nowhere {
            continue;
        }
        for (index, edge) in group.iter().enumerate() {
            let hides = |first: &&&Edge<'_>| match first.when() {
                When::Always => true,
                When::Unknown => false,
                same @ When::If(_) => edge.when() == same,
            };
            let (Some(first), Some(on)) = (group[..index].iter().find(hides), edge.on) else { continue };
            let why = match first.when() {
                When::If(condition) => format!("has the same `when = \"{condition}\"`, so it wins"),
                When::Always | When::Unknown => "has no `when`, so it always wins".to_owned(),
            };
            let message = format!("this `{on}` rule can never be followed");
            let places = [(edge.on_at, "never reached"), (first.on_at, why.as_str())];
            let help = "rules of one trigger are tried in file order: put the one without `when` last, and remove what \
                        is left over";
            flaws.add(RuleId::L8, message, &places, help);
        }
    }
}

fn total(machine: &Machine<'_>, flaws: &mut Flaws<'_>) {
    let mut found: Vec<(Span, &Edge<'_>, Condition, Vec<String>)> = Vec::new();
    for group in groups(machine) {
        let last = group[group.len() - 1];
        let When::If(condition) = last.when() else { continue };
        if group.iter().any(|edge| edge.when() == When::Always) || may_have_more(machine, last) {
            continue;
        }
        let name = match last.from {
            From::State(from) => format!(" from `{}`", machine.name(from)),
            From::Nowhere | From::Unknown => String::new(),
        };
        match found
            .iter_mut()
            .find(|(at, edge, ..)| *at == last.on_at && std::ptr::eq(edge.transition, last.transition))
        {
            Some((.., names)) => names.push(name),
            None => found.push((last.on_at, last, condition, vec![name])),
        }
    }
    for (on_at, edge, condition, names) in found {
        let Some(on) = edge.on else { continue };
        let message = format!("`{on}`{} has no answer when `{condition}` does not hold", list(&names));
        let when_at = edge.transition.when.as_ref().map_or(on_at, |when| when.at);
        let places = [(when_at, "the last rule has a condition"), (on_at, "for this trigger")];
        let help =
            format!("add a rule for `{on}` without `when` after it, which says where the job goes then");
        flaws.add(RuleId::L8, message, &places, help);
    }
}

/// Whether a rule that is not fully known could be the missing one.
fn may_have_more(machine: &Machine<'_>, last: &Edge<'_>) -> bool {
    machine.edges.iter().any(|edge| {
        let unknown_start = edge.from == From::Unknown && edge.on.is_none_or(|on| Some(on) == last.on);
        let unknown_trigger = edge.from == last.from && edge.on.is_none();
        unknown_start || unknown_trigger
    })
}

fn owned(machine: &Machine<'_>, flaws: &mut Flaws<'_>) {
    for state in 0..machine.draft.states.len() {
        let needed: &[Trigger] = match machine.phase(state) {
            Some(Phase::Held) => &[Trigger::LeaseExpired, Trigger::Start],
            Some(Phase::Active) => &[Trigger::LeaseExpired, Trigger::Succeed, Trigger::Fail],
            Some(Phase::Ready | Phase::Waiting | Phase::Final(_)) | None => &[],
        };
        let missing: Vec<String> = needed
            .iter()
            .filter(|trigger| !machine.may_have(state, trigger))
            .map(|trigger| format!("`{trigger}`"))
            .collect();
        if missing.is_empty() {
            continue;
        }
        let (verb, rule) = if missing.len() == 1 { ("leads", "a rule") } else { ("lead", "rules") };
        let message = format!("`{}` does not say where {} {verb}", machine.name(state), list(&missing));
        let places = [
            (machine.name_at(state), "a worker owns the job here"),
            (machine.phase_at(state), "because of this role"),
        ];
        flaws.add(RuleId::L9, message, &places, format!("add {rule} for {} from it", list(&missing)));
    }
}

/// Nobody would hold a job that came here without a claim, and its lease could never expire.
fn entered_with_a_lease(machine: &Machine<'_>, flaws: &mut Flaws<'_>) {
    for (edge, on, from, phase) in machine.known() {
        let Some(to) = edge.to.filter(|to| machine.phase(*to).is_some_and(Phase::is_leased)) else {
            continue;
        };
        // Where a claim or a start may begin is L11's to say.
        let grants = matches!(on, Trigger::Claim | Trigger::Start);
        if grants || !matches!(phase, Phase::Ready | Phase::Waiting) {
            continue;
        }
        let message = format!("`{on}` leads to `{}`, where nobody would hold the job", machine.name(to));
        let left = format!("no worker holds it in `{}`", machine.name(from));
        let places = [(edge.to_at, "a worker must own the job here"), (edge.from_at, left.as_str())];
        let help = "lead to a ready state instead: from there `claim` gives the job to a worker";
        flaws.add(RuleId::L9, message, &places, help);
    }
}

fn sensible(machine: &Machine<'_>, flaws: &mut Flaws<'_>) {
    for (edge, on, from, phase) in machine.known() {
        // L3 says what there is to say about leaving a final state, and L2 that the initial one must be ready.
        if phase.is_final()
            || (*on == Trigger::Claim && machine.initial == Some(from)) && phase != Phase::Ready
        {
            continue;
        }
        let to = edge.to.and_then(|to| Some((to, machine.phase(to)?)));
        let (leaves, help): (&str, &str) = match on {
            Trigger::Claim if phase != Phase::Ready => ("ready", "a job that is not ready cannot be claimed"),
            Trigger::Start if phase != Phase::Held => ("held", "a worker starts what it holds"),
            Trigger::LeaseExpired | Trigger::Disconnected | Trigger::Release if !phase.is_leased() => {
                ("held and active", "only there a worker has a lease to lose or to give back")
            }
            Trigger::Due if phase != Phase::Waiting => ("waiting", "only there a job has a due time"),
            Trigger::Claim => {
                arrives(machine, flaws, edge, to.filter(|(_, to)| !to.is_leased()), "a held or an active");
                continue;
            }
            Trigger::Start => {
                arrives(machine, flaws, edge, to.filter(|(_, to)| *to != Phase::Active), "an active");
                continue;
            }
            _ => continue,
        };
        let message =
            format!("`{on}` leaves {leaves} states only, and `{}` is {}", machine.name(from), phase.as_str());
        let places = [(edge.from_at, "cannot happen here"), (machine.phase_at(from), "because of this role")];
        flaws.add(
            RuleId::L11,
            message,
            &places,
            format!("{help}: remove it from `from`, or change the state's role"),
        );
    }
}

/// Tells of a claim or start that enters a state of the wrong role.
fn arrives(
    machine: &Machine<'_>,
    flaws: &mut Flaws<'_>,
    edge: &Edge<'_>,
    wrong: Option<(usize, Phase)>,
    role: &str,
) {
    let (Some((to, phase)), Some(on)) = (wrong, edge.on) else { return };
    let message = format!("`{on}` enters {role} state, and `{}` is {}", machine.name(to), phase.as_str());
    let places = [(edge.to_at, "cannot be entered so"), (machine.phase_at(to), "because of this")];
    flaws.add(RuleId::L11, message, &places, format!("lead to {role} state: the worker has its lease there"));
}

/// A reason is the dead letter's, and only the outcome `dead` writes one.
fn reasons(machine: &Machine<'_>, flaws: &mut Flaws<'_>) {
    for edge in &machine.edges {
        let (Some(reason), Some(to)) = (&edge.transition.reason, edge.to) else { continue };
        if machine.phase(to).is_none_or(|phase| phase == Phase::Final(Outcome::Dead)) {
            continue;
        }
        let message = format!("a `reason` is for dead letters, and `{}` writes none", machine.name(to));
        let places =
            [(reason.at, "nobody would read it"), (machine.phase_at(to), "not the outcome \"dead\"")];
        let help = "remove the `reason`, or lead to a state with outcome = \"dead\"";
        flaws.add(RuleId::L11, message, &places, help);
    }
}
