//! Claims: grants leases on ready jobs in claim order.

use crate::command::Claim;
use crate::decide::transition::TransitionRequest;
use crate::decide::{CommandOutput, CommandResult, DecisionContext, clock};
use crate::id::{Actor, JobId};
use crate::job::Lease;
use crate::lifecycle::{Phase, Trigger};
use crate::limits;
use crate::refusal::Refusal;

/// Takes the first candidates that are still claimable, up to `max`.
pub(crate) fn decide(context: &mut DecisionContext<'_>, claim: &Claim) -> CommandResult {
    if !(1..=limits::CLAIM_JOBS_MAX).contains(&claim.max) {
        return Err(Refusal::invalid("#/max", format!("must be from 1 to {}", limits::CLAIM_JOBS_MAX)));
    }
    if claim.worker.as_str().is_empty() || claim.worker.as_str().len() > limits::NAME_BYTES_MAX {
        return Err(Refusal::invalid("#/worker", format!("must have 1 to {} bytes", limits::NAME_BYTES_MAX)));
    }
    let mut candidates = context.set.candidates.remove(&claim.filter).unwrap_or_default().into_iter();
    let mut jobs = Vec::new();
    for id in candidates.by_ref() {
        // A job whose clock is refused does not fail the claim.
        if clock::catch_up(context, id).is_ok() && is_claimable(context, id) {
            grant(context, claim, id)?;
            jobs.push(context.job(id)?);
        }
        if jobs.len() == claim.max as usize {
            break;
        }
    }
    // The next claim of this batch with the same filter continues after these.
    context.set.candidates.insert(claim.filter.clone(), candidates.collect());
    Ok(CommandOutput::Claimed { jobs, replayed: false })
}

fn is_claimable(context: &DecisionContext<'_>, id: JobId) -> bool {
    let Some(job) = context.set.job(id) else { return false };
    let has_rule = |job| {
        context.lifecycle(job).is_ok_and(|lifecycle| lifecycle.has_rule(job.state.as_str(), &Trigger::Claim))
    };
    job.phase == Phase::Ready
        && job.run_at <= context.now.at
        && !context.set.paused.contains(&job.spec.queue)
        && has_rule(job)
}

fn grant(context: &mut DecisionContext<'_>, claim: &Claim, id: JobId) -> Result<(), Refusal> {
    let job = context.job(id)?;
    let lifecycle = context.lifecycle(&job)?;
    let policy = context.policy(&job.spec.job_type, &lifecycle);
    let (fence, worker) = (job.fence.next(), claim.worker.clone());
    let lease = Some(Lease::grant(fence, worker, policy.lease, policy.heartbeat, context.now));
    let request = |on| TransitionRequest::new(on, Actor::worker(&claim.worker));
    context.transition(id, TransitionRequest { lease, ..request(Trigger::Claim) })?;
    let entered = context.job(id)?;
    if claim.start && lifecycle.has_rule(entered.state.as_str(), &Trigger::Start) {
        context.transition(id, TransitionRequest { reported: true, ..request(Trigger::Start) })?;
    }
    Ok(())
}
