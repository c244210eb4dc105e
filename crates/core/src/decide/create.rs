//! New jobs. Checked in this order: type, idempotency key, unique key, limits (of resources, too), credits; the first refusal is the answer.
//! JSON Schema and guard are checked before, when the command is built.

use std::sync::Arc;

use crate::command::{Create, CreationKey, When};
use crate::command_origin::CommandOrigin;
use crate::credit::{LedgerLine, Movement};
use crate::decide::report::fits;
use crate::decide::transition::claimable_from;
use crate::decide::{CommandOutput, CommandResult, DecisionContext, clock, key, resource, sequence, unique};
use crate::event::{Event, Facts};
use crate::id::{Fence, JobId};
use crate::job::{Job, LifecycleRef, Links, Spec};
use crate::job_type::{CATCH_ALL, JobType};
use crate::lifecycle::{Lifecycle, Phase, Trigger};
use crate::limits;
use crate::refusal::Refusal;
use crate::time::Timestamp;
use crate::working_set::KeyRecord;

pub(crate) fn decide(
    context: &mut DecisionContext<'_>,
    by: &CommandOrigin,
    create: &Create,
) -> CommandResult {
    let job_type = context.catalog.job_type(create.job_type.as_str()).cloned();
    let job_type = job_type.ok_or_else(|| Refusal::UnknownType(create.job_type.clone()))?;
    let lifecycle = lifecycle_of(context, create, &job_type)?;
    if let Some(done) = existing(context, create)? {
        return Ok(done);
    }
    if let Some(output) = unique::judge(context, by, create, &job_type)? {
        if let CommandOutput::Job { job, .. } | CommandOutput::Amended(job) = &output {
            remember(context, create, &lifecycle, job.id());
        }
        return Ok(output);
    }
    if let Some(retry_after) = create.throttled {
        return Err(Refusal::RateLimited { retry_after });
    }
    within_limits(create, &job_type)?;
    if create.is_limited {
        resource::admit(context, &create.flow, &[])?;
    }
    let spec = Arc::new(spec(context, create, &job_type, &lifecycle));
    reserve(context, &spec)?;
    unique::cancel_others(context, by, create, &job_type)?;
    enter(context, by, Arc::clone(&spec), unique::when(create, &job_type))?;
    remember(context, create, &lifecycle, spec.id);
    context.job_output(spec.id)
}

/// Writes the first event of a job, which enters the initial state. A ready state begins attempt 1; in a waiting state the job
/// is not in an attempt yet.
pub(crate) fn enter(
    context: &mut DecisionContext<'_>,
    by: &CommandOrigin,
    spec: Arc<Spec>,
    when: When,
) -> Result<(), Refusal> {
    let job = Job::blank(spec);
    let lifecycle = context.lifecycle(&job)?;
    let event = first_event(context, &job, &lifecycle, by, when);
    let (id, has_due) = (job.id(), event.facts.due.is_some());
    unique::created(context, &job);
    sequence::joined(context, &job);
    context.set.insert(job);
    context.set.record(event);
    if has_due { clock::catch_up(context, id) } else { Ok(()) }
}

/// The event of a creation. Changes nothing.
pub(crate) fn first_event(
    context: &DecisionContext<'_>,
    job: &Job,
    lifecycle: &Lifecycle,
    by: &CommandOrigin,
    when: When,
) -> Event {
    let rule = lifecycle.create_rule();
    let timeout = context.timeout(&job.spec.job_type, lifecycle, rule.to.as_str());
    let now = context.now;
    let run_at = run_at(when, now.at);
    let is_ready = lifecycle.begins_ready();
    let run_at = if is_ready { claimable_from(lifecycle, rule.to.as_str(), run_at) } else { run_at };
    // Without a failed attempt there is nothing to wait for.
    let has_due = !is_ready && lifecycle.has_rule(rule.to.as_str(), &Trigger::Due);
    let due = has_due.then(|| now.running());
    let phase = if is_ready { Phase::Ready } else { Phase::Waiting };
    let credential = by.credential.clone();
    Event {
        job_id: job.id(),
        seq: Some(1),
        name: rule.event.clone(),
        trigger: Trigger::Create,
        from: None,
        to: rule.to.clone(),
        attempt: u32::from(is_ready),
        ts: now.at,
        actor: by.actor.clone(),
        cause: None,
        facts: Facts { run_at: Some(run_at), timeout, due, credential, ..Facts::entering(phase) },
    }
}

/// The earliest time of a job that is created now.
pub(crate) fn run_at(when: When, now: Timestamp) -> Timestamp {
    match when {
        When::Now => now,
        When::At(at) => at.max(now),
        When::In(span) => now + span,
    }
}

/// The type's lifecycle; with the catch-all type the caller may choose one.
fn lifecycle_of(
    context: &DecisionContext<'_>,
    create: &Create,
    job_type: &JobType,
) -> Result<Arc<Lifecycle>, Refusal> {
    let loaded = |key: &LifecycleRef| {
        context.catalog.lifecycle(key).cloned().ok_or_else(|| Refusal::UnknownLifecycle(key.clone()))
    };
    match &create.lifecycle {
        None => loaded(&job_type.lifecycle),
        Some(name) if *name == job_type.lifecycle.name => loaded(&job_type.lifecycle),
        Some(name) if job_type.name == CATCH_ALL => {
            let newest = context.catalog.newest(name.as_str()).cloned();
            newest.ok_or_else(|| Refusal::invalid("#/lifecycle", format!("there is no lifecycle {name}")))
        }
        Some(_) => {
            let detail = format!("type {} follows lifecycle {}", job_type.name, job_type.lifecycle.name);
            Err(Refusal::invalid("#/lifecycle", detail))
        }
    }
}

/// The job that was created with the same key, if the key is still valid.
pub(crate) fn existing(
    context: &mut DecisionContext<'_>,
    create: &Create,
) -> Result<Option<CommandOutput>, Refusal> {
    let now = context.now.at;
    for id in key::at(create, now) {
        let Some(record) = context.set.keys.get(&id).cloned() else { continue };
        let a_minute_old = (now - record.created_at).0 >= 60_000;
        if record.expires_at <= now || (id != key::now(create, now) && a_minute_old) {
            continue;
        }
        let Some(&(job, _)) = record.targets.first() else { continue };
        if context.set.job(job).is_none() {
            continue;
        }
        clock::catch_up(context, job)?;
        let job = context.job(job)?;
        let lifecycle = context.lifecycle(&job)?;
        if lifecycle.idempotency.reusable.contains(&job.state) {
            continue;
        }
        if let CreationKey::Given(given) = &create.key
            && record.fingerprint != Some(given.fingerprint)
        {
            return Err(Refusal::IdempotencyMismatch(given.key.clone()));
        }
        return Ok(Some(CommandOutput::Job { job, replayed: true, ignored: false }));
    }
    Ok(None)
}

fn within_limits(create: &Create, job_type: &JobType) -> Result<(), Refusal> {
    fits("payload", create.payload.as_str().len(), job_type.payload_bytes_max)?;
    priority_within_limits(create.priority)?;
    if create.max_attempts.is_some_and(|max| !(1..=limits::ATTEMPTS_MAX).contains(&max)) {
        let detail = format!("must be from 1 to {}", limits::ATTEMPTS_MAX);
        return Err(Refusal::invalid("#/max_attempts", detail));
    }
    names_within_limits(create)
}

pub(crate) fn priority_within_limits(priority: Option<i32>) -> Result<(), Refusal> {
    if priority.is_some_and(|priority| !(-limits::PRIORITY_MAX..=limits::PRIORITY_MAX).contains(&priority)) {
        return Err(Refusal::invalid("#/priority", format!("must be within ±{}", limits::PRIORITY_MAX)));
    }
    Ok(())
}

fn names_within_limits(create: &Create) -> Result<(), Refusal> {
    let names = [
        ("#/type", Some(create.job_type.as_str())),
        ("#/user_id", create.user_id.as_deref()),
        ("#/queue", create.queue.as_deref()),
        ("#/correlation_id", create.links.correlation_id.as_deref()),
    ];
    for (pointer, name) in names {
        name.map_or(Ok(()), |name| name_within_limits(pointer, name))?;
    }
    Ok(())
}

pub(crate) fn name_within_limits(pointer: &str, name: &str) -> Result<(), Refusal> {
    if name.is_empty() || name.len() > limits::NAME_BYTES_MAX || name.contains(char::is_control) {
        let detail = format!("must have 1 to {} bytes and no control characters", limits::NAME_BYTES_MAX);
        return Err(Refusal::invalid(pointer, detail));
    }
    Ok(())
}

fn spec(context: &DecisionContext<'_>, create: &Create, job_type: &JobType, lifecycle: &Lifecycle) -> Spec {
    let policy = context.policy(&create.job_type, lifecycle);
    Spec {
        id: create.id,
        job_type: create.job_type.clone(),
        lifecycle: LifecycleRef { name: lifecycle.name.clone(), version: lifecycle.version },
        queue: create.queue.clone().unwrap_or_else(|| job_type.queue.clone()),
        user_id: create.user_id.clone(),
        priority: create.priority.unwrap_or(job_type.priority),
        max_attempts: create.max_attempts.unwrap_or(policy.max_attempts),
        cost: job_type.cost,
        payload: create.payload.clone(),
        created_at: context.now.at,
        links: Links { idempotency_key: key::text(create, context.now.at), ..create.links.clone() }.shared(),
        flow: sequence::placed(context, &create.job_type, &create.flow).shared(),
    }
}

/// Reserves the cost, or refuses.
pub(crate) fn reserve(context: &mut DecisionContext<'_>, spec: &Spec) -> Result<(), Refusal> {
    let cost = spec.cost;
    if cost == 0 {
        return Ok(());
    }
    let Some(user) = &spec.user_id else { return Err(Refusal::InsufficientCredits { cost, available: 0 }) };
    let available = context.set.account(user).available();
    let (ts, user_id, kind) = (context.now.at, user.clone(), Movement::Reserve);
    let line = LedgerLine { ts, user_id, kind, amount: cost, job_id: Some(spec.id), reason: None };
    context.set.move_credits(line).ok_or(Refusal::InsufficientCredits { cost, available })?;
    Ok(())
}

fn remember(context: &mut DecisionContext<'_>, create: &Create, lifecycle: &Lifecycle, job: JobId) {
    let fingerprint = match &create.key {
        CreationKey::None => return,
        CreationKey::Given(given) => Some(given.fingerprint),
        CreationKey::Derived { .. } => None,
    };
    let now: Timestamp = context.now.at;
    context.set.put_key(KeyRecord {
        id: key::now(create, now),
        fingerprint,
        targets: vec![(job, Fence(0))],
        created_at: now,
        expires_at: now + lifecycle.idempotency.window,
    });
}
