//! Heartbeats: the lease is renewed, and the worker learns of a cancel request.

use crate::command::Hold;
use crate::command_origin::CommandOrigin;
use crate::decide::lease::Presented;
use crate::decide::{CommandOutput, CommandResult, DecisionContext, lease};
use crate::job::Job;

/// A heartbeat is not a trigger, so a caller without the lease gets a conflict whatever the rules say.
pub(crate) fn decide(context: &mut DecisionContext<'_>, by: &CommandOrigin, hold: &Hold) -> CommandResult {
    let job = context.job(hold.job)?;
    let presented = Presented::hold(by, hold);
    lease::check(&job, &presented)?;
    context.renew_lease(hold.job, true);
    answer(context.job(hold.job)?.as_ref(), &presented)
}

/// The lease and cancel request for the holder; a conflict for any other caller.
pub(crate) fn answer(job: &Job, presented: &Presented<'_>) -> CommandResult {
    let lease = job.lease.as_deref().filter(|_| presented.holds(job));
    let lease = lease.ok_or_else(|| lease::conflict(job, Some(presented.fence)))?.clone();
    Ok(CommandOutput::Heartbeat { lease, cancel: job.cancel.as_ref().map(|cancel| cancel.mode) })
}
