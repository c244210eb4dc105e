//! Claims: grants leases on ready jobs in claim order.

use std::cmp::Reverse;
use std::collections::VecDeque;

use crate::command::{Claim, ClaimFilter};
use crate::command_origin::CommandOrigin;
use crate::decide::transition::TransitionRequest;
use crate::decide::{CommandOutput, CommandResult, DecisionContext, clock};
use crate::flow::{BucketId, Candidate, FlowRecord, Group, TokenLevel};
use crate::id::{Fence, JobId, Name};
use crate::job::{Job, Lease};
use crate::lifecycle::{Phase, Trigger};
use crate::limits;
use crate::refusal::Refusal;
use crate::time::Timestamp;
use crate::working_set::JobChanges;

/// Takes the first candidates that are still claimable, up to `max` and a limit of bytes, but at least one. After the last
/// candidate, jobs that became ready in this batch.
pub(crate) fn decide(context: &mut DecisionContext<'_>, by: &CommandOrigin, claim: &Claim) -> CommandResult {
    if !(1..=limits::CLAIM_JOBS_MAX).contains(&claim.max) {
        return Err(Refusal::invalid("#/max", format!("must be from 1 to {}", limits::CLAIM_JOBS_MAX)));
    }
    if claim.worker.as_str().is_empty() || claim.worker.as_str().len() > limits::NAME_BYTES_MAX {
        return Err(Refusal::invalid("#/worker", format!("must have 1 to {} bytes", limits::NAME_BYTES_MAX)));
    }
    let candidates = context.set.candidates.remove(&claim.filter).unwrap_or_default();
    let mut candidates = VecDeque::from(candidates);
    let (mut jobs, mut bytes, mut group) = (Vec::new(), 0, None);
    while let Some(&candidate) = candidates.front() {
        let size = context.set.job(candidate.id).map_or(0, |job| job.bytes());
        let room = claim.max as usize - jobs.len();
        let fits = room > 0 && bytes + size <= limits::CLAIM_BYTES_MAX && fits_group(&candidate, group, room);
        if !jobs.is_empty() && !fits {
            break;
        }
        if group != candidate.group && !is_whole(context, claim, &candidates) {
            candidates = candidates.into_iter().skip_while(|other| other.group == candidate.group).collect();
            context.set.passed_over.insert(claim.filter.clone());
            continue;
        }
        candidates.pop_front();
        group = candidate.group;
        // A job whose clock is refused does not fail the claim.
        if clock::catch_up(context, candidate.id).is_ok() && is_claimable(context, candidate.id) {
            grant(context, by, claim, candidate)?;
            let job = context.job(candidate.id)?;
            bytes += job.bytes();
            jobs.push(job);
        } else {
            context.set.passed_over.insert(claim.filter.clone());
        }
    }
    if candidates.is_empty() {
        for id in became_ready(context, &claim.filter) {
            let size = context.set.job(id).map_or(0, |job| job.bytes());
            if jobs.len() == claim.max as usize
                || (!jobs.is_empty() && bytes + size > limits::CLAIM_BYTES_MAX)
            {
                break;
            }
            grant(context, by, claim, id.into())?;
            jobs.push(context.job(id)?);
            bytes += size;
        }
    }
    // The next claim of this batch with the same filter continues after these.
    context.set.candidates.insert(claim.filter.clone(), candidates.into());
    Ok(CommandOutput::Claimed { jobs, replayed: false })
}

/// Whether a claim with room for this many jobs may take the candidate: another group only as a whole.
fn fits_group(candidate: &Candidate, begun: Option<Group>, room: usize) -> bool {
    candidate.group.is_none_or(|group| begun == Some(group) || group.size <= room)
}

/// The claimable jobs that became ready in this batch, in claim order. None while the store may have others that come first, or if
/// flow control orders or limits one of them: then they are claimed in a later batch.
fn became_ready(context: &DecisionContext<'_>, filter: &ClaimFilter) -> Vec<JobId> {
    let set = &context.set;
    if set.cut_candidates.contains(filter) || set.passed_over.contains(filter) {
        return Vec::new();
    }
    let JobChanges { created, updated, .. } = &set.changes.jobs;
    let changed = created.iter().chain(updated).filter_map(|id| set.job(*id));
    let admitted = changed.filter(|job| filter.admits(&job.spec.queue, &job.spec.job_type));
    let ready: Vec<_> = admitted.filter(|job| is_claimable(context, job.id())).collect();
    let declarations = &set.flow.state.declarations;
    if ready
        .iter()
        .any(|job| !job.flow().is_empty() || declarations.apply(&job.spec.queue, &job.spec.job_type))
    {
        return Vec::new();
    }
    let mut order: Vec<_> = ready.iter().map(|job| (Reverse(job.priority()), job.run_at, job.id())).collect();
    order.sort_unstable();
    order.into_iter().map(|(.., id)| id).collect()
}

/// Whether the group of the first candidate can still be claimed as the store found it: an earlier command of the batch may have taken
/// or ended some of its jobs, or used what they need. The others then wait for another group, unless the wait is over.
fn is_whole(context: &mut DecisionContext<'_>, claim: &Claim, candidates: &VecDeque<Candidate>) -> bool {
    let Some(group) = candidates.front().and_then(|first| first.group) else { return true };
    if group.is_due {
        return true;
    }
    let members: Vec<JobId> =
        candidates.iter().take_while(|other| other.group == Some(group)).map(|other| other.id).collect();
    let is_free = |id: &JobId| clock::catch_up(context, *id).is_ok() && is_claimable(context, *id);
    if !members.iter().all(is_free) {
        return false;
    }
    // Fewer are left if another claim has begun the group, or if the store has left large jobs out.
    let is_cut = context.set.cut_candidates.contains(&claim.filter);
    let jobs = members.iter().filter_map(|id| context.set.job(*id));
    let has_room = context.set.flow.admits_together(jobs.map(|job| job.flow()), context.now.at);
    has_room && (is_cut || group.size.min(claim.max as usize) <= members.len())
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
        && is_admitted(context, job)
}

/// Whether flow control admits the job now. Earlier commands of the batch may have taken what the store found free.
fn is_admitted(context: &DecisionContext<'_>, job: &Job) -> bool {
    let (view, flow) = (&context.set.flow, job.flow());
    let sequence = flow.sequence_of(&job.spec.job_type);
    view.blocked(flow, context.now.at).is_none()
        && sequence.is_none_or(|sequence| view.is_next(job.id(), &sequence))
}

fn grant(
    context: &mut DecisionContext<'_>,
    by: &CommandOrigin,
    claim: &Claim,
    Candidate { id, group }: Candidate,
) -> Result<(), Refusal> {
    let job = context.job(id)?;
    let lifecycle = context.lifecycle(&job)?;
    let policy = context.policy(&job.spec.job_type, &lifecycle);
    let (fence, worker) = (next_fence(&job, context.set.restored_at), claim.worker.clone());
    let lease = Lease::grant(fence, worker, policy.lease, policy.heartbeat, context.now);
    let group = group.map(|group| group_name(context, group));
    let lease = Some(lease.bound_to(by.credential.clone()).in_group(group));
    let levels = take_tokens(context, &job);
    let request = |on| TransitionRequest::new(on, by.as_worker(&claim.worker));
    context.transition(id, TransitionRequest { lease, levels, ..request(Trigger::Claim) })?;
    let entered = context.job(id)?;
    if claim.start && lifecycle.has_rule(entered.state.as_str(), &Trigger::Start) {
        context.transition(id, TransitionRequest { reported: true, ..request(Trigger::Start) })?;
    }
    Ok(())
}

/// Takes the tokens of a job that is claimed.
fn take_tokens(context: &mut DecisionContext<'_>, job: &Job) -> Vec<(BucketId, TokenLevel)> {
    let levels = context.set.flow.take_tokens(job.flow(), context.now.at);
    for (bucket, level) in &levels {
        let rate = context.set.flow.state.limits(&bucket.resource).rate;
        let full_at = rate.map_or(context.now.at, |rate| level.full_at(&rate));
        context.set.put_flow(FlowRecord::Level(bucket.clone(), *level, full_at));
    }
    levels
}

/// Different for each group, also for a later one with the same first job.
fn group_name(context: &DecisionContext<'_>, group: Group) -> Name {
    let leases = context.set.job(group.first).map_or(0, |first| first.fence.0);
    let begun = context.set.job(group.first).is_some_and(|first| first.lease.is_some());
    format!("{}.{}", group.first, if begun { leases } else { leases + 1 }).into()
}

/// A fence that the job never had, not even between a backup and the restore from it.
fn next_fence(job: &Job, restored_at: Timestamp) -> Fence {
    let next = job.fence.next();
    if job.spec.created_at <= restored_at { next.max(Fence(restored_at.0 as u64)) } else { next }
}
