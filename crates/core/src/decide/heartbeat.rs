//! Heartbeats: the lease is renewed, and the worker learns of a cancel request.

use crate::command::Hold;
use crate::decide::{CommandOutput, CommandResult, DecisionContext, lease};
use crate::job::Job;
use crate::refusal::Refusal;

pub(crate) fn decide(context: &mut DecisionContext<'_>, hold: &Hold) -> CommandResult {
    let job = context.job(hold.job)?;
    if !lease::is_held_by(&job, &hold.worker, hold.fence) {
        return Err(no_lease(&job, hold));
    }
    context.renew_lease(hold.job, true);
    answer(context.job(hold.job)?.as_ref(), hold)
}

/// The lease and cancel request for the holder; a conflict for any other caller.
pub(crate) fn answer(job: &Job, hold: &Hold) -> CommandResult {
    let lease = job.lease.as_deref().filter(|_| lease::is_held_by(job, &hold.worker, hold.fence));
    let lease = lease.ok_or_else(|| no_lease(job, hold))?.clone();
    Ok(CommandOutput::Heartbeat { lease, cancel: job.cancel.as_ref().map(|cancel| cancel.mode) })
}

/// A heartbeat is not a trigger, so a caller without the lease gets a conflict whatever the rules say.
pub(crate) fn no_lease(job: &Job, hold: &Hold) -> Refusal {
    lease::conflict(job, Some(hold.fence))
}
