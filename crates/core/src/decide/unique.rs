//! Unique keys: a creation that matches an existing job of its type returns, refuses, amends or cancels that job.
//!
//! The jobs with one key are the targets of a key record, oldest first: those that are unfinished, and the newest. The record is
//! locked like that of an idempotency key, so that of concurrent creations on any nodes one is first.

use std::slice::from_ref;
use std::sync::Arc;

use crate::command::{Cancel, Create, KeyId, When};
use crate::command_origin::CommandOrigin;
use crate::decide::amend::{self, NewValues};
use crate::decide::report::fits;
use crate::decide::{CommandOutput, DecisionContext, cancel, clock, create};
use crate::flow::{Among, OnConflict, Unique};
use crate::id::{Fence, JobId, Name, TypeName};
use crate::job::{CancelMode, Job};
use crate::job_type::JobType;
use crate::lifecycle::Trigger;
use crate::refusal::Refusal;
use crate::time::Timestamp;
use crate::working_set::KeyRecord;

/// The id of the record of a key.
pub(crate) fn record_id(job_type: &TypeName, key: &Name) -> KeyId {
    KeyId::of(&[b"unique", job_type.as_str().as_bytes(), key.as_str().as_bytes()])
}

/// The output of a creation that an existing job answers; `None` if a job is to be created, unless a later check refuses it.
pub(crate) fn judge(
    context: &mut DecisionContext<'_>,
    by: &CommandOrigin,
    create: &Create,
    job_type: &JobType,
) -> Result<Option<CommandOutput>, Refusal> {
    let (Some(unique), Some(key)) = (job_type.unique, &create.flow.unique) else { return Ok(None) };
    let matches = matches(context, &create.job_type, key, unique)?;
    let Some(newest) = matches.last() else { return Ok(None) };
    // With `cancel` every match is concerned, otherwise the newest.
    let concerned = if unique.on_conflict == OnConflict::Cancel { &matches[..] } else { from_ref(newest) };
    if concerned.iter().any(|job| !create.reader.may_read(&job.spec)) {
        return Err(Refusal::Duplicate { job: None });
    }
    let changes = |job: &Job| match unique.on_conflict {
        OnConflict::Replace | OnConflict::Postpone { .. } => amend::is_amendable(job),
        OnConflict::Cancel => !job.phase.is_final(),
        OnConflict::Refuse | OnConflict::Return => false,
    };
    if let Some(job) = concerned.iter().find(|job| changes(job) && !create.reader.may_change(&job.spec)) {
        return Err(Refusal::Duplicate { job: Some(job.id()) });
    }
    match unique.on_conflict {
        OnConflict::Refuse => return Err(Refusal::Duplicate { job: Some(newest.id()) }),
        OnConflict::Replace | OnConflict::Postpone { .. } if amend::is_amendable(newest) => {
            fits("payload", create.payload.as_str().len(), job_type.payload_bytes_max)?;
            create::priority_within_limits(create.priority)?;
            amend::apply(context, by, newest.id(), replacement(context, create, job_type, newest))?;
            let job = context.job(newest.id())?;
            return Ok(Some(CommandOutput::Amended(job)));
        }
        OnConflict::Return | OnConflict::Replace | OnConflict::Postpone { .. } => {}
        OnConflict::Cancel => return Ok(None),
    }
    let job = context.job(newest.id())?;
    Ok(Some(CommandOutput::Job { job, replayed: true, ignored: false }))
}

/// The jobs that a new one with this key is compared with, oldest first.
fn matches(
    context: &mut DecisionContext<'_>,
    job_type: &TypeName,
    key: &Name,
    unique: Unique,
) -> Result<Vec<Arc<Job>>, Refusal> {
    let mut found = Vec::new();
    for id in targets(context, record_id(job_type, key)) {
        clock::catch_up(context, id)?;
        let job = context.job(id)?;
        let is_match = match unique.among {
            Among::Waiting => amend::is_amendable(&job),
            Among::Unfinished => !job.phase.is_final(),
            Among::Created(span) => context.now.at < job.spec.created_at + span,
        };
        found.extend(is_match.then_some(job));
    }
    Ok(found)
}

/// The stored jobs of a record.
fn targets(context: &DecisionContext<'_>, id: KeyId) -> Vec<JobId> {
    let record = context.set.keys.get(&id);
    let jobs = record.into_iter().flat_map(|record| &record.targets).map(|(job, _)| *job);
    jobs.filter(|job| context.set.job(*job).is_some()).collect()
}

/// What the existing job becomes: what the creation would have made, apart from its queue, user, correlation and attempts.
fn replacement(
    context: &DecisionContext<'_>,
    create: &Create,
    job_type: &JobType,
    existing: &Job,
) -> NewValues {
    let mut run_at = create::run_at(when(create, job_type), context.now.at);
    if let Some(OnConflict::Postpone { max_delay: Some(max), .. }) = job_type.unique.map(|it| it.on_conflict)
    {
        run_at = run_at.min((existing.spec.created_at + max).max(context.now.at));
    }
    NewValues {
        payload: Some(create.payload.clone()),
        priority: Some(create.priority.unwrap_or(job_type.priority)),
        run_at: Some(run_at),
        flow: Some(create.flow.clone()),
    }
}

/// When a new job may be claimed: a type whose jobs are postponed decides that itself.
pub(crate) fn when(create: &Create, job_type: &JobType) -> When {
    match (job_type.unique.map(|unique| unique.on_conflict), &create.flow.unique) {
        (Some(OnConflict::Postpone { delay, .. }), Some(_)) => When::In(delay),
        _ => create.when,
    }
}

/// Cancels the jobs that a new one replaces. Called after every check, since a refused creation changes nothing.
pub(crate) fn cancel_others(
    context: &mut DecisionContext<'_>,
    by: &CommandOrigin,
    create: &Create,
    job_type: &JobType,
) -> Result<(), Refusal> {
    let (Some(unique), Some(key)) = (job_type.unique, &create.flow.unique) else { return Ok(()) };
    if unique.on_conflict != OnConflict::Cancel {
        return Ok(());
    }
    let matches = matches(context, &create.job_type, key, unique)?;
    matches.iter().try_for_each(|job| cancel_match(context, by, job))
}

/// Requests the cancel of an unfinished job, unless it was requested before or its state does not allow it.
fn cancel_match(context: &mut DecisionContext<'_>, by: &CommandOrigin, job: &Job) -> Result<(), Refusal> {
    let lifecycle = context.lifecycle(job)?;
    let may = lifecycle.has_rule(job.state.as_str(), &Trigger::Cancel);
    if job.phase.is_final() || job.cancel.is_some() || !may {
        return Ok(());
    }
    let reason = Some("a newer job has the same unique key".to_owned());
    let request = Cancel { job: job.id(), mode: CancelMode::Soft, reason };
    cancel::decide(context, by, &request).map(drop)
}

/// Adds a new job to the record of its key.
pub(crate) fn created(context: &mut DecisionContext<'_>, job: &Job) {
    let Some(key) = &job.flow().unique else { return };
    let id = record_id(&job.spec.job_type, key);
    let mut known = vec![(job.spec.created_at, true, job.id())];
    for other in targets(context, id).into_iter().filter(|other| *other != job.id()) {
        // A job whose clock is refused stays: it has not finished.
        let is_refused = clock::catch_up(context, other).is_err();
        let Some(other) = context.set.job(other) else { continue };
        known.push((other.spec.created_at, is_refused || !other.phase.is_final(), other.id()));
    }
    // An amended job may be older than the others.
    let place = |(created_at, _, other): &(Timestamp, bool, JobId)| (*created_at, *other == job.id());
    known.sort_by_key(place);
    let newest = known.last().map(|(.., id)| *id);
    let kept = known.iter().filter(|(_, is_unfinished, id)| *is_unfinished || Some(*id) == newest);
    let jobs: Vec<JobId> = kept.map(|(.., id)| *id).collect();
    put(context, id, &jobs);
}

/// Moves an amended job to the record of its new key. `before` is the job with its old one.
pub(crate) fn moved(context: &mut DecisionContext<'_>, before: &Job) -> Result<(), Refusal> {
    let job = context.job(before.id())?;
    if job.flow().unique == before.flow().unique {
        return Ok(());
    }
    deleted(context, before);
    created(context, &job);
    Ok(())
}

/// Removes a job from the record of its key.
pub(crate) fn deleted(context: &mut DecisionContext<'_>, job: &Job) {
    let Some(key) = &job.flow().unique else { return };
    let id = record_id(&job.spec.job_type, key);
    let Some(record) = context.set.keys.get(&id) else { return };
    let jobs: Vec<JobId> = record.targets.iter().map(|(id, _)| *id).filter(|id| *id != job.id()).collect();
    put(context, id, &jobs);
}

/// A record without jobs expires.
fn put(context: &mut DecisionContext<'_>, id: KeyId, jobs: &[JobId]) {
    let now = context.now.at;
    context.set.put_key(KeyRecord {
        id,
        fingerprint: None,
        targets: jobs.iter().map(|job| (*job, Fence(0))).collect(),
        created_at: now,
        expires_at: if jobs.is_empty() { now } else { Timestamp::NEVER },
    });
}
