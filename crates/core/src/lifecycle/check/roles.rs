//! L2, the beginning and the end: `create` leads to the initial state, which is ready; and there is a final one.
//! L3: nothing leaves it.

use super::super::flaw::{Flaws, RuleId};
use super::super::{Phase, Trigger};
use super::{Edge, From, Machine};

pub(super) fn check(machine: &Machine<'_>, flaws: &mut Flaws<'_>) {
    initial(machine, flaws);
    create(machine, flaws);
    ending(machine, flaws);
    absorbing(machine, flaws);
}

fn initial(machine: &Machine<'_>, flaws: &mut Flaws<'_>) {
    let Some(said) = &machine.draft.initial else {
        let at = machine.draft.head.file;
        let help = "add the line initial = \"queued\", with the ready state that `create` leads to";
        // A value of the wrong type was told already.
        if !machine.draft.initial_told {
            flaws.add(
                RuleId::L2,
                "the file does not say its `initial` state",
                &[(at, "belongs at the top")],
                help,
            );
        }
        return;
    };
    let Some(state) = machine.initial else { return };
    // That `create` leads to a ready state of another name is what is wrong then, and told below.
    let created = machine.edges.iter().find(|edge| edge.from == From::Nowhere).and_then(|edge| edge.to);
    if created.is_some_and(|created| created != state && machine.phase(created) == Some(Phase::Ready)) {
        return;
    }
    match machine.phase(state) {
        None | Some(Phase::Ready) => {}
        Some(phase @ (Phase::Held | Phase::Active | Phase::Waiting | Phase::Final(_))) => {
            let message =
                format!("the initial state `{}` is not ready, but {}", machine.name(state), phase.as_str());
            let places =
                [(said.at, "every job begins here"), (machine.phase_at(state), "where it cannot be claimed")];
            flaws.add(RuleId::L2, message, &places, "begin in a state with role = \"ready\"");
        }
    }
}

fn create(machine: &Machine<'_>, flaws: &mut Flaws<'_>) {
    let is_create = |edge: &&Edge<'_>| edge.on == Some(&Trigger::Create);
    let rules: Vec<&Edge<'_>> = machine.edges.iter().filter(is_create).collect();
    let Some(first) = rules.first() else {
        // A misspelled trigger may have been meant for it.
        let told = machine.edges.iter().any(|edge| edge.on.is_none() && edge.from == From::Unknown);
        if let Some(at) = machine.draft.head.transitions.filter(|_| !told) {
            let help = "add one: [[transitions]], on = \"create\", to = the initial state";
            flaws.add(
                RuleId::L2,
                "no job can be created: there is no rule for `create`",
                &[(at, "none of these")],
                help,
            );
        }
        return;
    };
    for again in &rules[1..] {
        let places = [(again.on_at, "a second time"), (first.on_at, "the first")];
        let help = "every job begins the same way: keep one, and let another lifecycle begin elsewhere";
        flaws.add(RuleId::L2, "there is more than one rule for `create`", &places, help);
    }
    if let (Some(to), Some(initial), Some(said)) = (first.to, machine.initial, &machine.draft.initial)
        && to != initial
    {
        let message = format!(
            "`create` leads to `{}`, but the initial state is `{}`",
            machine.name(to),
            machine.name(initial)
        );
        let places = [(first.to_at, "a new job is here"), (said.at, "but should be here")];
        flaws.add(RuleId::L2, message, &places, "name the same state in both");
    }
}

fn ending(machine: &Machine<'_>, flaws: &mut Flaws<'_>) {
    let mut states = 0..machine.draft.states.len();
    let may_end = states.any(|state| machine.phase(state).is_none_or(Phase::is_final));
    if let Some(at) = machine.draft.head.states.filter(|_| !may_end) {
        let help = "a job must be able to end: add a state with an outcome, such as done = { outcome = \"succeeded\" }";
        flaws.add(RuleId::L2, "there is no final state", &[(at, "none of these has an outcome")], help);
    }
}

fn absorbing(machine: &Machine<'_>, flaws: &mut Flaws<'_>) {
    for edge in &machine.edges {
        let From::State(from) = edge.from else { continue };
        if machine.phase(from).is_some_and(Phase::is_final) {
            let name = machine.name(from);
            let this = format!("this makes `{name}` final");
            let places = [(edge.from_at, "this rule leaves it"), (machine.phase_at(from), this.as_str())];
            let help = "to run it again, create a new job with `retry_of`; or give the state a `role` instead of an \
                        `outcome`";
            flaws.add(RuleId::L3, format!("no rule may leave `{name}`: it is final"), &places, help);
        }
    }
}
