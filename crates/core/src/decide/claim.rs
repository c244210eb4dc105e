//! Claims: grants leases on ready jobs in claim order.

use crate::command::Claim;
use crate::command_origin::CommandOrigin;
use crate::decide::transition::TransitionRequest;
use crate::decide::{CommandOutput, CommandResult, DecisionContext, clock};
use crate::id::JobId;
use crate::job::Lease;
use crate::lifecycle::{Phase, Trigger};
use crate::limits;
use crate::refusal::Refusal;

/// Takes the first candidates that are still claimable, up to `max` and a limit of bytes, but at least one.
pub(crate) fn decide(context: &mut DecisionContext<'_>, by: &CommandOrigin, claim: &Claim) -> CommandResult {
    if !(1..=limits::CLAIM_JOBS_MAX).contains(&claim.max) {
        return Err(Refusal::invalid("#/max", format!("must be from 1 to {}", limits::CLAIM_JOBS_MAX)));
    }
    if claim.worker.as_str().is_empty() || claim.worker.as_str().len() > limits::NAME_BYTES_MAX {
        return Err(Refusal::invalid("#/worker", format!("must have 1 to {} bytes", limits::NAME_BYTES_MAX)));
    }
    let candidates = context.set.candidates.remove(&claim.filter).unwrap_or_default();
    let mut candidates = candidates.into_iter().peekable();
    let (mut jobs, mut bytes) = (Vec::new(), 0);
    while let Some(id) = candidates.next_if(|id| {
        let size = context.set.job(*id).map_or(0, |job| job.bytes());
        jobs.is_empty() || (jobs.len() < claim.max as usize && bytes + size <= limits::CLAIM_BYTES_MAX)
    }) {
        // A job whose clock is refused does not fail the claim.
        if clock::catch_up(context, id).is_ok() && is_claimable(context, id) {
            grant(context, by, claim, id)?;
            let job = context.job(id)?;
            bytes += job.bytes();
            jobs.push(job);
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

fn grant(
    context: &mut DecisionContext<'_>,
    by: &CommandOrigin,
    claim: &Claim,
    id: JobId,
) -> Result<(), Refusal> {
    let job = context.job(id)?;
    let lifecycle = context.lifecycle(&job)?;
    let policy = context.policy(&job.spec.job_type, &lifecycle);
    let (fence, worker) = (job.fence.next(), claim.worker.clone());
    let lease = Lease::grant(fence, worker, policy.lease, policy.heartbeat, context.now);
    let lease = Some(lease.bound_to(by.credential.clone()));
    let request = |on| TransitionRequest::new(on, by.as_worker(&claim.worker));
    context.transition(id, TransitionRequest { lease, ..request(Trigger::Claim) })?;
    let entered = context.job(id)?;
    if claim.start && lifecycle.has_rule(entered.state.as_str(), &Trigger::Start) {
        context.transition(id, TransitionRequest { reported: true, ..request(Trigger::Start) })?;
    }
    Ok(())
}
