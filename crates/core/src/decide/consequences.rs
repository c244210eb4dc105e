//! Consequences of a transition, in the same commit: audit line, settlement, dead letter, compensation.

use std::sync::Arc;

use crate::backoff::mix;
use crate::command::When;
use crate::credit::{LedgerLine, Movement};
use crate::dead_letter::{DeadLetter, ReasonCode};
use crate::decide::{DecisionContext, compensation, create, sequence};
use crate::event::{Event, Facts};
use crate::flow::FlowKeys;
use crate::id::{JobId, StateName};
use crate::job::{Class, Job, JobError, Links, Spec, Stage};
use crate::json::Json;
use crate::lifecycle::{Lifecycle, Outcome, Phase, Rule, Trigger};
use crate::refusal::Refusal;

pub(crate) fn of(
    context: &mut DecisionContext<'_>,
    lifecycle: &Lifecycle,
    rule: &Rule,
    event: &Event,
) -> Result<(), Refusal> {
    let job = context.job(event.job_id)?;
    if let Some(action) = &rule.audit {
        context.audit_transition(action, event);
    }
    let Phase::Final(outcome) = job.phase else { return Ok(()) };
    settle(context, lifecycle, &job);
    sequence::ended(context, &job, outcome);
    let succeeded = outcome == Outcome::Succeeded;
    let failed_compensation = job.spec.links.compensates.is_some() && !succeeded;
    if outcome == Outcome::Dead || failed_compensation {
        let reason =
            if failed_compensation { ReasonCode::CompensationFailed } else { reason_code(&job, rule, event) };
        context.set.put_dead_letter(dead_letter(context, &job, reason));
    }
    if succeeded {
        note_compensated(context, &job);
        return Ok(());
    }
    compensate(context, lifecycle, &job, outcome)
}

/// Each final state settles or refunds the reservation, exactly once: a final state is entered once. A lifecycle
/// without credits, which a job of the catch-all type may follow, refunds.
fn settle(context: &mut DecisionContext<'_>, lifecycle: &Lifecycle, job: &Job) {
    let amount = job.spec.cost;
    let Some(user) = job.spec.user_id.as_ref().filter(|_| amount > 0) else { return };
    let settles = lifecycle.credits.as_ref().is_some_and(|credits| credits.settle.contains(&job.state));
    let kind = if settles { Movement::Settle } else { Movement::Refund };
    let (ts, user_id, job_id) = (job.times.updated_at, user.clone(), Some(job.id()));
    let moved = context.set.move_credits(LedgerLine { ts, user_id, kind, amount, job_id, reason: None });
    moved.expect("what a job reserved is there until it is final");
}

/// The reason of the rule, else of the worker, else derived from the error.
fn reason_code(job: &Job, rule: &Rule, event: &Event) -> ReasonCode {
    let error = job.output.error.as_deref();
    let by_cause = || {
        let Some(error) = error else { return ReasonCode::InfrastructureFailure };
        if error.class == Class::Transient && job.retry_count >= job.spec.max_attempts {
            ReasonCode::ExhaustedRetries
        } else if event.trigger == Trigger::Timeout || is_timeout(error) {
            ReasonCode::Timeout
        } else if error.class == Class::Validation {
            ReasonCode::ValidationFailed
        } else {
            match error.stage {
                Some(Stage::Input) => ReasonCode::ParseError,
                Some(Stage::Fetch) => ReasonCode::DependencyUnavailable,
                Some(Stage::Exec | Stage::Output | Stage::Commit) | None => ReasonCode::InfrastructureFailure,
            }
        }
    };
    rule.reason.or_else(|| error.and_then(|error| error.reason_code)).unwrap_or_else(by_cause)
}

fn is_timeout(error: &JobError) -> bool {
    ["QUEUE_TIMEOUT", "DISPATCH_TIMEOUT", "RUN_TIMEOUT", "WAIT_TIMEOUT"].contains(&error.code.as_str())
}

fn dead_letter(context: &DecisionContext<'_>, job: &Job, reason_code: ReasonCode) -> DeadLetter {
    let last = job.last_lease.as_deref();
    DeadLetter {
        job_id: job.id(),
        job_type: None,
        created_at: job.times.updated_at,
        reason_code,
        stage: job.output.error.as_ref().and_then(|error| error.stage),
        last_error: job.output.error.as_deref().cloned(),
        attempts: job.attempt,
        last_owner: last.map(|lease| lease.worker.clone()),
        last_lease_expires_at: last.map(|lease| context.now.calendar(lease.expires)),
        correlation_id: job.spec.correlation_id(),
        dismissed: None,
    }
}

/// A successful compensation is recorded in the history of the compensated job, if that still exists.
fn note_compensated(context: &mut DecisionContext<'_>, job: &Job) {
    let first = job.spec.links.compensates.and_then(|id| context.set.job(id).cloned());
    let Some(first) = first else { return };
    context.set.changes.appended.events.push(Event {
        job_id: first.id(),
        seq: None,
        name: "job_compensated".into(),
        trigger: Trigger::Signal("compensated".into()),
        from: Some(first.state.clone()),
        to: first.state.clone(),
        attempt: first.attempt,
        ts: job.times.updated_at.max(first.times.updated_at),
        actor: "compensation".into(),
        cause: None,
        facts: Facts {
            note: Some(Json::of(&serde_json::json!({ "compensated_by": job.id() }))),
            ..Facts::entering(first.phase)
        },
    });
}

/// A job that was active and did not succeed is compensated by a job of the type that its own type names.
fn compensate(
    context: &mut DecisionContext<'_>,
    lifecycle: &Lifecycle,
    job: &Job,
    outcome: Outcome,
) -> Result<(), Refusal> {
    let unsuccessful = matches!(outcome, Outcome::Failed | Outcome::Cancelled | Outcome::Dead);
    let was_active = |(state, _): &(StateName, _)| {
        lifecycle.state(state.as_str()).is_some_and(|state| state.phase == Phase::Active)
    };
    if !unsuccessful || !job.times.entered.iter().any(was_active) {
        return Ok(());
    }
    let own_type = context.catalog.job_type(job.spec.job_type.as_str());
    let Some(with) = own_type.and_then(|own| own.compensate_with.clone()) else { return Ok(()) };
    // The type that the catch-all type names may be of the catch-all type itself: each failure would make another job.
    if job.spec.links.compensates.is_some() && with == job.spec.job_type {
        return Ok(());
    }
    let job_type =
        context.catalog.job_type(with.as_str()).cloned().ok_or_else(|| Refusal::UnknownType(with.clone()))?;
    let spec = Spec {
        id: compensation_id(context, job),
        job_type: with,
        lifecycle: job_type.lifecycle.clone(),
        queue: job_type.queue.clone(),
        user_id: job.spec.user_id.clone(),
        priority: job_type.priority,
        max_attempts: job_type.policy.max_attempts,
        cost: 0,
        payload: compensation::payload(job),
        created_at: job.times.updated_at,
        links: Links {
            correlation_id: Some(job.spec.correlation_id()),
            traceparent: job.spec.links.traceparent.clone(),
            compensates: Some(job.id()),
            ..Links::default()
        }
        .shared(),
        flow: FlowKeys::default().shared(),
    };
    create::enter(context, &"compensation".into(), Arc::new(spec), When::Now)
}

/// Deterministic: deciding the same batch again gives the same id.
fn compensation_id(context: &DecisionContext<'_>, job: &Job) -> JobId {
    let seed = job.id().seed();
    let chance = (u128::from(mix(seed)) << 64) | u128::from(mix(seed.rotate_left(17) ^ u128::from(job.seq)));
    JobId::new(context.now.at.0 as u64, chance)
}
