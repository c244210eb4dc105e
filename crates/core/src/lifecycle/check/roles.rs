//! L2: `create` leads to the initial state, which is ready or waiting, there is a final state, and only signals have `by`.
//! L3: no rule leaves a final state.

use super::super::flaw::{Flaws, RuleId};
use super::super::parse::DraftTransition;
use super::super::{Phase, Trigger};
use super::{Edge, Machine, Origin};

pub(super) fn check(machine: &Machine<'_>, flaws: &mut Flaws<'_>) {
    initial(machine, flaws);
    create(machine, flaws);
    ending(machine, flaws);
    absorbing(machine, flaws);
    senders(machine, flaws);
}

/// Whether a job may begin in this phase: it can be claimed, or waits for what makes it ready.
pub(super) fn may_be_initial(phase: Phase) -> bool {
    matches!(phase, Phase::Ready | Phase::Waiting)
}

fn initial(machine: &Machine<'_>, flaws: &mut Flaws<'_>) {
    let Some(named) = &machine.draft.initial else {
        // A value of the wrong type was reported when it was read.
        if !machine.draft.initial_present {
            let places = [(machine.draft.headings.file, "belongs at the top")];
            let help =
                "add the line initial = \"queued\", with the ready or waiting state that `create` leads to";
            flaws.add(RuleId::L2, "`initial` is missing", &places, help);
        }
        return;
    };
    let Some(state) = machine.initial else { return };
    // If `create` leads to another state, which could be initial, that is the flaw, and `create` below reports it.
    let created = machine.edges.iter().find(|edge| edge.from == Origin::Create).and_then(|edge| edge.to);
    if created.is_some_and(|created| created != state && machine.phase(created).is_some_and(may_be_initial)) {
        return;
    }
    if let Some(phase) = machine.phase(state).filter(|phase| !may_be_initial(*phase)) {
        let (name, phase) = (machine.name(state), phase.as_str());
        let message = format!("the initial state `{name}` is {phase}, not ready or waiting");
        let places =
            [(named.at, "every job begins here"), (machine.phase_at(state), "and cannot be claimed")];
        flaws.add(RuleId::L2, message, &places, "begin in a state with role = \"ready\" or \"waiting\"");
    }
}

fn create(machine: &Machine<'_>, flaws: &mut Flaws<'_>) {
    let is_create = |edge: &&Edge<'_>| edge.on == Some(&Trigger::Create);
    let rules: Vec<&Edge<'_>> = machine.edges.iter().filter(is_create).collect();
    let Some(first) = rules.first() else {
        // A misspelled trigger may have been meant to be `create`.
        let maybe = machine.edges.iter().any(|edge| edge.on.is_none() && edge.from == Origin::Unknown);
        if let Some(at) = machine.draft.headings.transitions.filter(|_| !maybe) {
            let message = "there is no rule for `create`, so no job can be created";
            let help = "add one: [[transitions]], on = \"create\", to = the initial state";
            flaws.add(RuleId::L2, message, &[(at, "none of these")], help);
        }
        return;
    };
    for again in &rules[1..] {
        let places = [(again.on_at, "second rule"), (first.on_at, "first rule")];
        let help = "keep one; jobs that begin in another state need another lifecycle";
        flaws.add(RuleId::L2, "there is more than one rule for `create`", &places, help);
    }
    if let (Some(to), Some(initial), Some(named)) = (first.to, machine.initial, &machine.draft.initial)
        && to != initial
    {
        let (to, initial) = (machine.name(to), machine.name(initial));
        let message = format!("`create` leads to `{to}`, but the initial state is `{initial}`");
        let places = [(first.to_at, "a new job is here"), (named.at, "but should be here")];
        flaws.add(RuleId::L2, message, &places, "use the same state in both");
    }
}

fn ending(machine: &Machine<'_>, flaws: &mut Flaws<'_>) {
    let mut states = 0..machine.draft.states.len();
    let may_end = states.any(|state| machine.phase(state).is_none_or(Phase::is_final));
    if let Some(at) = machine.draft.headings.states.filter(|_| !may_end) {
        let help = "add a state with an outcome, such as done = { outcome = \"succeeded\" }";
        flaws.add(RuleId::L2, "there is no final state", &[(at, "none of these has an outcome")], help);
    }
}

fn absorbing(machine: &Machine<'_>, flaws: &mut Flaws<'_>) {
    for edge in &machine.edges {
        let Origin::State(from) = edge.from else { continue };
        if machine.phase(from).is_some_and(Phase::is_final) {
            let name = machine.name(from);
            let reason = format!("this makes `{name}` final");
            let places = [(edge.from_at, "this rule leaves it"), (machine.phase_at(from), reason.as_str())];
            let help = "to run it again, create a new job with `retry_of`; or give the state a `role` instead of an \
                        `outcome`";
            flaws.add(RuleId::L3, format!("no rule may leave `{name}`: it is final"), &places, help);
        }
    }
}

/// Other triggers have fixed senders: workers, the clock, or callers that the API checks.
fn senders(machine: &Machine<'_>, flaws: &mut Flaws<'_>) {
    let mut reported: Option<&DraftTransition> = None;
    for edge in &machine.edges {
        let (Some(by), Some(on)) = (&edge.transition.by, edge.on) else { continue };
        let is_reported = reported.is_some_and(|known| std::ptr::eq(known, edge.transition));
        if is_reported || matches!(on, Trigger::Signal(_)) {
            continue;
        }
        reported = Some(edge.transition);
        let places = [(by.at, "has no effect here"), (edge.on_at, "this is not a signal")];
        let help = "remove `by`, or move the signals of this transition to one that has it";
        flaws.add(RuleId::L2, format!("`by` restricts signals, and `{on}` is none"), &places, help);
    }
}
