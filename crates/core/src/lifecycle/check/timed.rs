//! L10: whatever waits, waits for a time, or the file says that it may wait for ever.

use super::super::flaw::{Flaws, RuleId};
use super::super::{Phase, Timeout, Trigger};
use super::Machine;

pub(super) fn check(machine: &Machine<'_>, flaws: &mut Flaws<'_>) {
    for state in 0..machine.draft.states.len() {
        let Some(phase) = machine.phase(state) else { continue };
        let name = machine.name(state);
        let timeout = machine.draft.states[state].timeout.as_ref();
        match timeout {
            Some(timeout) if phase.is_final() => {
                let places =
                    [(timeout.at, "no clock runs here"), (machine.phase_at(state), "this makes it final")];
                let help = "remove it: a finished job is kept as long as [retention] says";
                flaws.add(RuleId::L10, format!("`{name}` is final, and cannot time out"), &places, help);
            }
            Some(timeout)
                if timeout.value != Timeout::Never && !machine.may_have(state, &Trigger::Timeout) =>
            {
                let message = format!("`{name}` times out, and no rule says where to");
                let places =
                    [(timeout.at, "then what?"), (machine.name_at(state), "no `timeout` rule leaves this")];
                let help = format!("add a transition with on = \"timeout\", from = \"{name}\"");
                flaws.add(RuleId::L10, message, &places, help);
            }
            None if phase == Phase::Waiting && !machine.may_have(state, &Trigger::Due) => {
                // A timeout that could not be read was told already.
                if machine.draft.states[state].timeout_told {
                    continue;
                }
                let message = format!("a job in `{name}` could wait for ever without anyone having meant it");
                let places = [
                    (machine.name_at(state), "nothing ends the wait"),
                    (machine.phase_at(state), "owned by no one"),
                ];
                let help = "add a rule for `due`, or a `timeout` with its rule; or say timeout = \"never\" if it is meant";
                flaws.add(RuleId::L10, message, &places, help);
            }
            Some(_) | None => {}
        }
    }
}
