//! Retention: finished jobs, deleted objects and expired records are forgotten.

use crate::decide::{CommandOutput, CommandResult, DecisionContext, resource, unique};
use crate::id::JobId;
use crate::job::Job;

/// Deletes a job whose retention has ended; does nothing before that.
pub(crate) fn purge(context: &mut DecisionContext<'_>, id: JobId) -> CommandResult {
    let job = context.job(id)?;
    let kept = context.lifecycle(&job)?.retention.jobs;
    if job.times.completed_at.is_some_and(|end| end + kept <= context.now.at) {
        context.delete_job(&job);
    }
    Ok(CommandOutput::Nothing)
}

impl DecisionContext<'_> {
    /// Deletes a finished job with everything that belongs to it.
    pub(crate) fn delete_job(&mut self, job: &Job) {
        unique::deleted(self, job);
        self.set.changes.jobs.purged.insert(job.id());
    }
}

pub(crate) fn forget_garbage(context: &mut DecisionContext<'_>, paths: &[String]) -> CommandOutput {
    context.set.changes.assets.forgotten.extend(paths.iter().cloned());
    CommandOutput::Nothing
}

pub(crate) fn prune(context: &mut DecisionContext<'_>) -> CommandOutput {
    context.set.changes.prune = Some(context.now.at);
    resource::prune(context);
    CommandOutput::Nothing
}
