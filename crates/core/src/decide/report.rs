//! Verbs of the worker that holds a job: start, succeed, partial, fail, reject, release, cancel-confirm.

use crate::command::{Holder, PauseRequest, Report, Verb};
use crate::command_origin::CommandOrigin;
use crate::decide::lease::Presented;
use crate::decide::transition::TransitionRequest;
use crate::decide::{
    CommandOutput, CommandResult, DecisionContext, clock, invalid_transition, lease, replay, resource,
};
use crate::job::{Category, Class, Job, JobError};
use crate::json::Json;
use crate::lifecycle::{Lifecycle, Phase};
use crate::limits;
use crate::refusal::Refusal;

pub(crate) fn decide(
    context: &mut DecisionContext<'_>,
    by: &CommandOrigin,
    report: &Report,
) -> CommandResult {
    let job = context.job(report.job)?;
    let lifecycle = context.lifecycle(&job)?;
    let holder = report.holder.as_ref();
    let presented = holder.map(|holder| Presented::holder(by, holder));
    if presented.is_some_and(|presented| replay::by_holder(&job, &presented, &report.verb.trigger())) {
        return Ok(CommandOutput::Job { job, replayed: true, ignored: false });
    }
    check_permitted(&job, &lifecycle, presented.as_ref(), &report.verb)?;
    within_limits(&report.verb)?;
    let pause = pause_of(&report.verb)
        .map(|pause| Ok((resource::paused_bucket(&job, pause)?, pause.span)))
        .transpose()?;
    let origin = holder.map_or_else(|| by.clone(), |Holder { worker, .. }| by.as_worker(worker));
    let request = TransitionRequest { reported: holder.is_some(), ..request(&report.verb, origin) };
    let worker = request.by.clone();
    context.transition(report.job, request)?;
    if let Some((bucket, span)) = pause {
        resource::pause_bucket(context, &worker, bucket, span);
    }
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
    presented: Option<&Presented<'_>>,
    verb: &Verb,
) -> Result<(), Refusal> {
    let trigger = verb.trigger();
    let unheld = matches!(job.phase, Phase::Ready | Phase::Waiting);
    let may = match presented {
        Some(presented) => presented.holds(job),
        None => unheld && matches!(verb, Verb::Reject { .. }),
    };
    if !may {
        let fence = presented.map(|presented| presented.fence);
        return Err(lease::refuse(job, lifecycle, fence, &trigger));
    }
    if matches!(verb, Verb::CancelConfirm { .. }) && job.cancel.is_none() {
        return Err(invalid_transition(job, lifecycle, &trigger));
    }
    Ok(())
}

fn pause_of(verb: &Verb) -> Option<&PauseRequest> {
    match verb {
        Verb::Fail { pause, .. } | Verb::Release { pause, .. } => pause.as_ref(),
        _ => None,
    }
}

fn request(verb: &Verb, by: CommandOrigin) -> TransitionRequest {
    let request = TransitionRequest::new(verb.trigger(), by);
    match verb {
        Verb::Start => request,
        Verb::Succeed { result, error } | Verb::Partial { result, error } => {
            TransitionRequest { result: result.clone(), error: error.clone(), ..request }
        }
        Verb::Fail { error, retry_after, .. } => {
            TransitionRequest { delay: *retry_after, ..request.failing(error.clone()) }
        }
        Verb::Reject { reason } => request.failing(JobError {
            class: Class::Validation,
            ..JobError::own("REJECTED", reason, Category::Validation)
        }),
        Verb::Release { checkpoint, delay, .. } => {
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
