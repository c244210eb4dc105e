//! Deletion of finished jobs by an operator, and the erasure of a user.

use serde_json::{Value, json};

use crate::automation::{Automation, AutomationKind};
use crate::command_origin::CommandOrigin;
use crate::decide::audit::ValueChange;
use crate::decide::report::fits;
use crate::decide::{CommandOutput, CommandResult, DecisionContext};
use crate::erasure::{Erase, Erasure};
use crate::id::{JobId, UserId};
use crate::limits;
use crate::refusal::Refusal;

/// Deletes a finished job with everything that belongs to it. The audit line is written by the caller of this function.
pub(crate) fn delete(context: &mut DecisionContext<'_>, id: JobId, reason: Option<&str>) -> CommandResult {
    fits("reason", reason.map_or(0, str::len), limits::MESSAGE_BYTES_MAX)?;
    let job = context.job(id)?;
    if !job.phase.is_final() {
        let allowed = context.lifecycle(&job)?.allowed(job.state.as_str());
        return Err(Refusal::Unfinished { job: id, current_state: job.state.clone(), allowed });
    }
    context.delete_job(&job);
    Ok(CommandOutput::Job { job, replayed: false, ignored: false })
}

/// Opens the erasure of a user. A second request while it is open is a replay.
pub(crate) fn erase(context: &mut DecisionContext<'_>, by: &CommandOrigin, erase: &Erase) -> CommandResult {
    fits("reason", erase.reason.len(), limits::MESSAGE_BYTES_MAX)?;
    if let Some(open) = find(context, &erase.user) {
        return Ok(CommandOutput::automation(open, true));
    }
    let Erase { user, alias, reason } = erase.clone();
    let change = ValueChange::new(Value::Null, json!({ "alias": alias }));
    context.audit(by, "erase", &format!("{alias}: {reason}"), &change);
    let (requested_at, requested_by) = (context.now.at, by.actor.clone());
    Ok(context.put_automation(Erasure { user, alias, requested_at, requested_by, reason }))
}

/// Deletes a finished job that the open erasure of its user covers.
pub(crate) fn delete_erased(context: &mut DecisionContext<'_>, user: &UserId, id: JobId) -> CommandResult {
    let (job, open) = (context.job(id)?, find(context, user));
    if job.phase.is_final() && open.is_some_and(|open| open.covers(&job)) {
        context.delete_job(&job);
    }
    Ok(CommandOutput::Nothing)
}

/// Ends an erasure whose jobs are all deleted: account and ledger get the alias. Credits that are still reserved belong to a
/// later job of the user, so the erasure then stays open.
pub(crate) fn finish(context: &mut DecisionContext<'_>, by: &CommandOrigin, user: &UserId) -> CommandResult {
    let not_found = || Refusal::NotFound { what: "erasure of user", name: user.to_string() };
    let open = find(context, user).ok_or_else(not_found)?;
    if context.set.account(user).reserved > 0 {
        return Ok(CommandOutput::automation(open, true));
    }
    context.set.rename_account(user, &open.alias);
    context.set.remove_automation(&(AutomationKind::Erasure, open.id()));
    let change = ValueChange::new(json!({ "alias": open.alias }), Value::Null);
    context.audit(by, "erase_finished", &open.alias, &change);
    Ok(CommandOutput::automation(open, false))
}

fn find(context: &DecisionContext<'_>, user: &UserId) -> Option<Erasure> {
    match context.set.automations.get(&(AutomationKind::Erasure, user.as_str().into())) {
        Some(Automation::Erasure(open)) => Some(open.clone()),
        _ => None,
    }
}
