//! Verbs of the worker that holds a job: start, succeed, partial, fail, reject, release, cancel-confirm.

use crate::command::{Holder, Report, Verb};
use crate::decide::transition::TransitionRequest;
use crate::decide::{
    CommandOutput, CommandResult, DecisionContext, clock, invalid_transition, lease, replay,
};
use crate::id::Actor;
use crate::job::{Category, Class, Job, JobError};
use crate::json::Json;
use crate::lifecycle::{Lifecycle, Phase};
use crate::limits;
use crate::refusal::Refusal;

pub(crate) fn decide(context: &mut DecisionContext<'_>, by: &Actor, report: &Report) -> CommandResult {
    let job = context.job(report.job)?;
    let lifecycle = context.lifecycle(&job)?;
    let holder = report.holder.as_ref();
    if let Some(Holder { worker, fence }) = holder
        && replay::by_holder(&job, worker, *fence, &report.verb.trigger())
    {
        return Ok(CommandOutput::Job { job, replayed: true, ignored: false });
    }
    check_permitted(&job, &lifecycle, holder, &report.verb)?;
    within_limits(&report.verb)?;
    let actor = holder.map_or_else(|| by.clone(), |holder| Actor::worker(&holder.worker));
    let request = TransitionRequest { reported: holder.is_some(), ..request(&report.verb, actor) };
    context.transition(report.job, request)?;
    if context.job(report.job)?.lease.is_some() {
        context.renew_lease(report.job, false);
    }
    clock::catch_up(context, report.job)?;
    context.job_output(report.job)
}

/// The holder of the live lease needs only a rule. In a state without a lease, an operator may reject.
fn check_permitted(
    job: &Job,
    lifecycle: &Lifecycle,
    holder: Option<&Holder>,
    verb: &Verb,
) -> Result<(), Refusal> {
    let trigger = verb.trigger();
    let unheld = matches!(job.phase, Phase::Ready | Phase::Waiting);
    let may = match holder {
        Some(Holder { worker, fence }) => lease::is_held_by(job, worker, *fence),
        None => unheld && matches!(verb, Verb::Reject { .. }),
    };
    if !may {
        return Err(lease::refuse(job, lifecycle, holder, &trigger));
    }
    if matches!(verb, Verb::CancelConfirm { .. }) && job.cancel.is_none() {
        return Err(invalid_transition(job, lifecycle, &trigger));
    }
    Ok(())
}

fn request(verb: &Verb, actor: Actor) -> TransitionRequest {
    let request = TransitionRequest::new(verb.trigger(), actor);
    match verb {
        Verb::Start => request,
        Verb::Succeed { result, error } | Verb::Partial { result, error } => {
            TransitionRequest { result: result.clone(), error: error.clone(), ..request }
        }
        Verb::Fail { error, retry_after } => {
            TransitionRequest { delay: *retry_after, ..request.failing(error.clone()) }
        }
        Verb::Reject { reason } => request.failing(JobError {
            class: Class::Validation,
            ..JobError::own("REJECTED", reason, Category::Validation)
        }),
        Verb::Release { checkpoint, delay } => {
            TransitionRequest { checkpoint: checkpoint.clone(), delay: *delay, ..request }
        }
        Verb::CancelConfirm { checkpoint, result } => {
            TransitionRequest { checkpoint: checkpoint.clone(), result: result.clone(), ..request }
        }
    }
}

fn within_limits(verb: &Verb) -> Result<(), Refusal> {
    let (result, checkpoint, error) = match verb {
        Verb::Start => (None, None, None),
        Verb::Succeed { result, error } | Verb::Partial { result, error } => {
            (result.as_ref(), None, error.as_ref())
        }
        Verb::Fail { error, .. } => (None, None, Some(error)),
        Verb::Reject { reason } => return fits("reason", reason.len(), limits::MESSAGE_BYTES_MAX),
        Verb::Release { checkpoint, .. } => (None, checkpoint.as_ref(), None),
        Verb::CancelConfirm { checkpoint, result } => (result.as_ref(), checkpoint.as_ref(), None),
    };
    let length = |json: &Json| json.as_str().len();
    fits("result", result.map_or(0, length), limits::PAYLOAD_BYTES_MAX)?;
    fits("checkpoint", checkpoint.map_or(0, length), limits::PAYLOAD_BYTES_MAX)?;
    let Some(error) = error else { return Ok(()) };
    fits("error code", error.code.as_str().len(), limits::NAME_BYTES_MAX)?;
    fits("error message", error.message.len(), limits::MESSAGE_BYTES_MAX)?;
    fits("error details", error.details.as_ref().map_or(0, length), limits::PAYLOAD_BYTES_MAX)
}

pub(crate) fn fits(what: &'static str, bytes: usize, limit: usize) -> Result<(), Refusal> {
    if bytes > limit { Err(Refusal::TooLarge { what, limit }) } else { Ok(()) }
}
