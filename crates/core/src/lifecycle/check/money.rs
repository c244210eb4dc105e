//! L12: reserved credits are spent or returned exactly once, in whichever state a job finishes.

use super::super::Phase;
use super::super::flaw::{Flaws, RuleId, Span};
use super::Machine;

pub(super) fn check(machine: &Machine<'_>, flaws: &mut Flaws<'_>) {
    let Some(credits) = &machine.draft.credits else { return };
    let mut seen: Vec<(usize, Span)> = Vec::new();
    for &(state, at) in &machine.credits {
        let Some(state) = state else { continue };
        let name = machine.name(state);
        if machine.phase(state).is_some_and(|phase| !phase.is_final()) {
            let message =
                format!("`{name}` is not final, and credits are settled or refunded only in final states");
            let places = [(at, "not final"), (machine.phase_at(state), "because of this role")];
            flaws.add(RuleId::L12, message, &places, "list final states only");
        }
        if let Some((_, first)) = seen.iter().find(|(other, _)| *other == state) {
            let message = format!("`{name}` is listed twice in [credits]");
            let help = "reserved credits move once: settle or refund them";
            flaws.add(RuleId::L12, message, &[(at, "second time"), (*first, "first time")], help);
        }
        seen.push((state, at));
    }
    // An entry that names no state may have been meant for any.
    if credits.unreadable || machine.credits.iter().any(|(state, _)| state.is_none()) {
        return;
    }
    for state in 0..machine.draft.states.len() {
        let is_final = machine.phase(state).is_some_and(Phase::is_final);
        if is_final && !seen.iter().any(|(other, _)| *other == state) {
            let message = format!("`{}` neither settles nor refunds", machine.name(state));
            let places =
                [(machine.name_at(state), "a job may finish here"), (credits.at, "this does not list it")];
            let help = "add it to `settle` if the reserved credits are spent there, or to `refund` if they are returned";
            flaws.add(RuleId::L12, message, &places, help);
        }
    }
}
