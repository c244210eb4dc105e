//! Which ready jobs, in which order, to whom.

use crate::command::Claim;
use crate::decide::transition::Step;
use crate::decide::{Answer, Done, Scene, clock};
use crate::id::{Actor, JobId};
use crate::job::Lease;
use crate::lifecycle::{Phase, Trigger};
use crate::limits;
use crate::refusal::Refusal;

/// Takes the best candidates that are still ready, up to `max`.
pub(crate) fn decide(scene: &mut Scene<'_>, claim: &Claim) -> Answer {
    if !(1..=limits::CLAIM_JOBS_MAX).contains(&claim.max) {
        return Err(Refusal::invalid("#/max", format!("must be from 1 to {}", limits::CLAIM_JOBS_MAX)));
    }
    if claim.worker.as_str().is_empty() || claim.worker.as_str().len() > limits::NAME_BYTES_MAX {
        return Err(Refusal::invalid("#/worker", format!("must have 1 to {} bytes", limits::NAME_BYTES_MAX)));
    }
    let mut candidates = scene.set.candidates.remove(&claim.filter).unwrap_or_default().into_iter();
    let mut jobs = Vec::new();
    for id in candidates.by_ref() {
        // A job whose clock cannot be read spoils no claim.
        if clock::catch_up(scene, id).is_ok() && is_claimable(scene, id) {
            grant(scene, claim, id)?;
            jobs.push(scene.job(id)?);
        }
        if jobs.len() == claim.max as usize {
            break;
        }
    }
    // The next claim of this batch with the same filter goes on where this one stopped.
    scene.set.candidates.insert(claim.filter.clone(), candidates.collect());
    Ok(Done::Claimed { jobs, replayed: false })
}

fn is_claimable(scene: &Scene<'_>, id: JobId) -> bool {
    let Some(job) = scene.set.job(id) else { return false };
    let has_rule = |job| {
        scene.lifecycle(job).is_ok_and(|lifecycle| lifecycle.has_rule(job.state.as_str(), &Trigger::Claim))
    };
    job.phase == Phase::Ready
        && job.run_at <= scene.now.at
        && !scene.set.paused.contains(&job.spec.queue)
        && has_rule(job)
}

fn grant(scene: &mut Scene<'_>, claim: &Claim, id: JobId) -> Result<(), Refusal> {
    let job = scene.job(id)?;
    let lifecycle = scene.lifecycle(&job)?;
    let policy = scene.policy(&job.spec.job_type, &lifecycle);
    let spans = (policy.lease, policy.heartbeat);
    let lease = Lease::grant(job.fence.next(), claim.worker.clone(), spans, scene.now);
    let actor = Actor::worker(&claim.worker);
    scene.follow(id, Step { lease: Some(lease), ..Step::new(Trigger::Claim, actor.clone()) })?;
    let entered = scene.job(id)?;
    if claim.start && lifecycle.has_rule(entered.state.as_str(), &Trigger::Start) {
        scene.follow(id, Step { reported: true, ..Step::new(Trigger::Start, actor) })?;
    }
    Ok(())
}
