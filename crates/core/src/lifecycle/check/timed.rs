//! L10: a job waits for a limited time, unless the file declares that it may wait indefinitely.

use super::super::flaw::{Flaws, RuleId};
use super::super::{Phase, Timeout, Trigger};
use super::Machine;

pub(super) fn check(machine: &Machine<'_>, flaws: &mut Flaws<'_>) {
    for state in 0..machine.draft.states.len() {
        let Some(phase) = machine.phase(state) else { continue };
        let (name, name_at, phase_at) =
            (machine.name(state), machine.name_at(state), machine.phase_at(state));
        let draft = &machine.draft.states[state];
        match &draft.timeout {
            Some(timeout) if phase.is_final() => {
                let places = [(timeout.at, "has no effect"), (phase_at, "this makes it final")];
                let help = "remove the timeout; [retention] limits how long a finished job is kept";
                flaws.add(RuleId::L10, format!("`{name}` is final and cannot time out"), &places, help);
            }
            Some(timeout)
                if timeout.value != Timeout::Never && !machine.may_have(state, &Trigger::Timeout) =>
            {
                let message = format!("`{name}` has a timeout, but no rule for it");
                let places =
                    [(timeout.at, "leads nowhere"), (name_at, "no `timeout` rule leaves this state")];
                let help = format!("add a transition with on = \"timeout\", from = \"{name}\"");
                flaws.add(RuleId::L10, message, &places, help);
            }
            // A timeout that could not be read has a flaw already.
            None if phase == Phase::Waiting
                && !draft.timeout_present
                && !machine.may_have(state, &Trigger::Due) =>
            {
                let message = format!("a job in `{name}` could wait indefinitely");
                let places = [(name_at, "nothing ends the wait"), (phase_at, "no worker holds the job")];
                let help =
                    "add a rule for `due`, or a `timeout` with its rule, or declare timeout = \"never\"";
                flaws.add(RuleId::L10, message, &places, help);
            }
            Some(_) | None => {}
        }
    }
}
