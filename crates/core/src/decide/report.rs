//! A worker's word on a job that it holds: start, succeed, partial, fail, reject, release, cancel-confirm.

use crate::command::{Report, Verb};
use crate::decide::transition::Step;
use crate::decide::{Answer, Done, Scene, clock, invalid_transition, lease, replay};
use crate::id::{Actor, Fence, Name};
use crate::job::{Category, Class, Job, JobError};
use crate::json::Json;
use crate::lifecycle::{Lifecycle, Phase};
use crate::limits;
use crate::refusal::Refusal;

pub(crate) fn decide(scene: &mut Scene<'_>, by: &Actor, report: &Report) -> Answer {
    let job = scene.job(report.job)?;
    let lifecycle = scene.lifecycle(&job)?;
    let holder = report.holder.as_ref().map(|(worker, fence)| (worker, *fence));
    if let Some((worker, fence)) = holder
        && replay::by_holder(&job, worker, fence, &report.verb.trigger())
    {
        return Ok(Done::Job { job, replayed: true, ignored: false });
    }
    may_say(&job, &lifecycle, holder, &report.verb)?;
    within_limits(&report.verb)?;
    let actor = holder.map_or_else(|| by.clone(), |(worker, _)| Actor::worker(worker));
    let step = Step { reported: holder.is_some(), ..step(&report.verb, actor) };
    scene.follow(report.job, step)?;
    if scene.job(report.job)?.lease.is_some() {
        scene.hear(report.job, false);
    }
    clock::catch_up(scene, report.job)?;
    scene.done(report.job)
}

/// The holder of the live lease is judged by the rules alone. Where nobody can hold a lease, an operator may reject.
fn may_say(
    job: &Job,
    lifecycle: &Lifecycle,
    holder: Option<(&Name, Fence)>,
    verb: &Verb,
) -> Result<(), Refusal> {
    let trigger = verb.trigger();
    let unheld = matches!(job.phase, Phase::Ready | Phase::Waiting);
    let may = match holder {
        Some((worker, fence)) => lease::is_held_by(job, worker, fence),
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

fn step(verb: &Verb, actor: Actor) -> Step {
    let step = Step::new(verb.trigger(), actor);
    match verb {
        Verb::Start => step,
        Verb::Succeed { result, error } | Verb::Partial { result, error } => {
            Step { result: result.clone(), error: error.clone(), ..step }
        }
        Verb::Fail { error, retry_after } => Step { delay: *retry_after, ..step.failing(error.clone()) },
        Verb::Reject { reason } => step.failing(JobError {
            class: Class::Validation,
            ..JobError::own("REJECTED", reason, Category::Validation)
        }),
        Verb::Release { checkpoint, delay } => Step { checkpoint: checkpoint.clone(), delay: *delay, ..step },
        Verb::CancelConfirm { checkpoint, result } => {
            Step { checkpoint: checkpoint.clone(), result: result.clone(), ..step }
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
