//! L12: what was reserved for a job is spent or given back, exactly once, wherever it ends.

use super::super::Phase;
use super::super::flaw::{Flaws, RuleId};
use super::Machine;

pub(super) fn check(machine: &Machine<'_>, flaws: &mut Flaws<'_>) {
    let Some(credits) = &machine.draft.credits else { return };
    let named: Vec<_> = machine.credits.settle.iter().chain(&machine.credits.refund).copied().collect();
    let mut seen: Vec<(usize, super::Span)> = Vec::new();
    for (state, at) in &named {
        let Some(state) = *state else { continue };
        let name = machine.name(state);
        if machine.phase(state).is_some_and(|phase| !phase.is_final()) {
            let message = format!("`{name}` is not final, and only the end settles or refunds");
            let places =
                [(*at, "a job passes through here"), (machine.phase_at(state), "because of this role")];
            flaws.add(RuleId::L12, message, &places, "name final states only");
        }
        if let Some((_, first)) = seen.iter().find(|(other, _)| *other == state) {
            let message = format!("`{name}` is named twice in [credits]");
            let help = "what was reserved moves once: settle it or refund it";
            flaws.add(RuleId::L12, message, &[(*at, "once more"), (*first, "the first time")], help);
        }
        seen.push((state, *at));
    }
    // One that names nothing may have been meant for any.
    if credits.told || named.iter().any(|(state, _)| state.is_none()) {
        return;
    }
    for state in 0..machine.draft.states.len() {
        let ends = machine.phase(state).is_some_and(Phase::is_final);
        if ends && !seen.iter().any(|(other, _)| *other == state) {
            let message = format!("`{}` neither settles nor refunds", machine.name(state));
            let places =
                [(machine.name_at(state), "a job may end here"), (credits.at, "this does not name it")];
            let help =
                "add it to `settle` if the reservation is spent there, or to `refund` if it is given back";
            flaws.add(RuleId::L12, message, &places, help);
        }
    }
}
