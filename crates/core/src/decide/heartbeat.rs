//! Heartbeats: the lease is renewed, and the worker learns of a cancel request.

use crate::command::Hold;
use crate::decide::{CommandOutput, CommandResult, DecisionContext, lease};
use crate::job::Job;

/// A heartbeat is not a trigger, so a caller without the lease gets a conflict whatever the rules say.
pub(crate) fn decide(context: &mut DecisionContext<'_>, hold: &Hold) -> CommandResult {
    let job = context.job(hold.job)?;
    lease::check(&job, &hold.worker, hold.fence)?;
    context.renew_lease(hold.job, true);
    answer(context.job(hold.job)?.as_ref(), hold)
}

/// The lease and cancel request for the holder; a conflict for any other caller.
pub(crate) fn answer(job: &Job, hold: &Hold) -> CommandResult {
    let lease = job.lease.as_deref().filter(|_| lease::is_held_by(job, &hold.worker, hold.fence));
    let lease = lease.ok_or_else(|| lease::conflict(job, Some(hold.fence)))?.clone();
    Ok(CommandOutput::Heartbeat { lease, cancel: job.cancel.as_ref().map(|cancel| cancel.mode) })
}
