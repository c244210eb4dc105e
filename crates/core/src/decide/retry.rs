//! Copies of finished jobs: manual retries and redrives. The finished job does not change.

use std::sync::Arc;

use crate::command::Retry;
use crate::command_origin::CommandOrigin;
use crate::decide::{CommandOutput, CommandResult, DecisionContext, create, invalid_transition, sequence};
use crate::job::{LifecycleRef, Links, Spec};
use crate::lifecycle::Trigger;
use crate::refusal::Refusal;

pub(crate) fn decide(context: &mut DecisionContext<'_>, by: &CommandOrigin, retry: &Retry) -> CommandResult {
    if let Some(made) = context.set.job(retry.id).filter(|made| made.spec.links.retry_of == Some(retry.job)) {
        return Ok(CommandOutput::Job { job: Arc::clone(made), replayed: true, ignored: false });
    }
    let job = context.job(retry.job)?;
    let lifecycle = context.lifecycle(&job)?;
    if !job.phase.is_final() {
        return Err(invalid_transition(&job, &lifecycle, &Trigger::Create));
    }
    let job_type = context.catalog.job_type(job.spec.job_type.as_str()).cloned();
    let job_type = job_type.ok_or_else(|| Refusal::UnknownType(job.spec.job_type.clone()))?;
    // A job of the catch-all type keeps the lifecycle that its caller chose, in the newest version.
    let follows = Some(&job_type.lifecycle).filter(|own| own.name == job.spec.lifecycle.name).cloned();
    let newest = || {
        let found = context.catalog.newest(job.spec.lifecycle.name.as_str())?;
        Some(LifecycleRef { name: found.name.clone(), version: found.version })
    };
    let follows = follows.or_else(newest).unwrap_or_else(|| job.spec.lifecycle.clone());
    let links = Links {
        correlation_id: Some(job.spec.correlation_id()),
        retry_of: Some(job.id()),
        idempotency_key: None,
        ..(*job.spec.links).clone()
    }
    .shared();
    let spec = Spec {
        id: retry.id,
        lifecycle: follows,
        priority: job.priority(),
        payload: job.payload().clone(),
        created_at: context.now.at,
        links,
        flow: sequence::copied(context, &job).shared(),
        ..(*job.spec).clone()
    };
    create::reserve(context, &spec)?;
    sequence::end_halt(context, &job);
    create::enter(context, by, Arc::new(spec), retry.when)?;
    context.job_output(retry.id)
}
