//! Jobs, their leases and errors.

use std::time::Duration;

use serde::{Serialize, Serializer};
use tenure_api::{
    CancelMode, CancelRequestOf, Clock, Explanation, FinalStatusOf, FlowOf, HeartbeatAnswerOf, JobBriefOf,
    JobErrorOf, JobOf, LeaseOf, NextTransition, WaitingFor,
};
use tenure_core::job;
use tenure_core::time::Now;

use super::{Borrowed, Entered, Text, text};
use tenure_core::flow::{FlowKeys, ResourceUse};

use crate::prelude::*;
use crate::{attempt_trace, explain};

/// What an answer adds to a job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JobExtras {
    /// The command had been executed before.
    pub replayed: bool,
    /// The command had no effect.
    pub ignored: bool,
    /// The job goes to the worker that claimed it: with the trace context and the durations of the lease.
    pub claimed: Option<ClaimedTrace>,
}

/// The trace context that a worker gets with a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClaimedTrace {
    /// That of the job.
    Job,
    /// That of the attempt, because attempts are exported as spans.
    Attempt,
}

/// A job that is converted when it is written: a list of these is small.
#[derive(Clone, Copy, Debug)]
pub struct JobView<'a> {
    pub job: &'a Job,
    pub now: Now,
    pub extras: JobExtras,
}

impl Serialize for JobView<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        job_with(self.job, self.now, self.extras).serialize(to)
    }
}

/// A job at this time.
pub fn job(job: &Job, now: Now) -> JobOf<Borrowed<'_>> {
    job_with(job, now, JobExtras::default())
}

pub fn job_with(job: &Job, now: Now, extras: JobExtras) -> JobOf<Borrowed<'_>> {
    let (spec, times, output) = (&*job.spec, &job.times, &job.output);
    let traceparent = spec.traceparent();
    let attempt = job.lease.as_ref().filter(|_| extras.claimed == Some(ClaimedTrace::Attempt));
    let attempt = attempt.map(|lease| attempt_trace::traceparent(spec, lease.fence));
    let progress = output.progress.as_ref();
    JobOf {
        id: spec.id,
        lifecycle: spec.lifecycle.name.as_str().into(),
        lifecycle_version: spec.lifecycle.version,
        job_type: spec.job_type.as_str().into(),
        queue: spec.queue.as_str().into(),
        user_id: spec.user_id.as_ref().map(|user| user.as_str().into()),
        max_attempts: Some(spec.max_attempts),
        priority: job.priority(),
        payload: job.payload(),
        correlation_id: Some(match &spec.links.correlation_id {
            Some(correlation) => correlation.as_str().into(),
            None => Text::Id(spec.id),
        }),
        trace_id: Some(Text::TraceId(traceparent.clone())),
        traceparent: extras.claimed.map(|_| Text::Shared(attempt.unwrap_or(traceparent))),
        idempotency_key: spec.links.idempotency_key.as_ref().map(|key| key.as_str().into()),
        retry_of: spec.links.retry_of,
        created_at: spec.created_at,
        flow: flow(job.flow()),
        group: job
            .lease
            .as_ref()
            .filter(|_| extras.claimed.is_some())
            .and_then(|lease| lease.group.as_ref())
            .map(|group| group.as_str().into()),
        state: job.state.as_str().into(),
        phase: job.phase.as_str().into(),
        outcome: job.phase.outcome().map(|outcome| outcome.as_str().into()),
        seq: job.seq.into(),
        attempt: job.attempt,
        retry_count: job.retry_count,
        worker: job.worker().map(|worker| worker.as_str().into()),
        lease: job.lease.as_deref().map(|held| lease(held, now, extras.claimed.is_some())),
        cancel_requested: job.cancel.as_deref().map(|request| cancel_request(request, now)),
        run_at: Some(job.visible_run_at()),
        progress: progress.map(|progress| progress.percent),
        progress_message: progress.and_then(|progress| progress.message.as_deref()).map(Text::Str),
        result: output.result.as_ref(),
        error: output.error.as_deref().map(error),
        checkpoint: output.checkpoint.as_ref(),
        updated_at: Some(times.updated_at),
        claimed_at: times.claimed_at,
        started_at: times.started_at,
        completed_at: times.completed_at,
        entered: Entered(&times.entered),
        duration_ms: job.duration().map(|span| span.0),
        run_ms: job.run_time().map(|span| span.0),
        replayed: extras.replayed,
        ignored: extras.ignored,
    }
}

/// The keys of flow control.
fn flow(keys: &FlowKeys) -> FlowOf<Borrowed<'_>> {
    let shown = |key: &Option<Name>| key.as_ref().map(|key| Text::Shared(key.clone()));
    let used = |used: &ResourceUse| (used.resource.to_string(), used.key.as_ref().map(ToString::to_string));
    FlowOf {
        unique: shown(&keys.unique),
        resources: (!keys.resources.is_empty()).then(|| keys.resources.iter().map(used).collect()),
        sequence: shown(&keys.sequence),
        share: shown(&keys.share),
        batch: keys.batch.as_ref().map(|batch| Text::Shared(batch.key.clone().unwrap_or_else(|| "".into()))),
    }
}

pub fn brief(job: &Job, extras: JobExtras) -> JobBriefOf<Borrowed<'static>> {
    JobBriefOf { id: job.id(), replayed: extras.replayed, ignored: extras.ignored }
}

/// How a finished job ended.
pub fn final_status(job: &Job) -> FinalStatusOf<Borrowed<'_>> {
    FinalStatusOf {
        job_id: job.id(),
        state: job.state.as_str().into(),
        outcome: job.phase.outcome().map(|outcome| outcome.as_str().into()),
        output: job.output.result.as_ref(),
        error: job.output.error.as_deref().map(error),
    }
}

pub fn heartbeat_answer(
    held: &job::Lease,
    cancel: Option<job::CancelMode>,
    now: Now,
) -> HeartbeatAnswerOf<Borrowed<'_>> {
    HeartbeatAnswerOf { lease: Some(lease(held, now, true)), cancel: cancel.map(cancel_mode) }
}

/// Durations are only for the holder.
fn lease(lease: &job::Lease, now: Now, for_holder: bool) -> LeaseOf<Borrowed<'_>> {
    let span = |span: tenure_core::time::Millis| for_holder.then_some(Duration::from_millis(span.0));
    LeaseOf {
        fence: lease.fence.0,
        expires_at: now.calendar(lease.expires()),
        heartbeat: span(lease.heartbeat),
        ttl: span(lease.ttl),
    }
}

fn cancel_request(request: &job::CancelRequest, now: Now) -> CancelRequestOf<Borrowed<'_>> {
    CancelRequestOf {
        mode: Some(cancel_mode(request.mode)),
        reason: request.reason.as_deref().map(Text::Str),
        by: Some(Text::Str(&request.by.0)),
        at: request.at,
        hard_at: Some(now.calendar(request.hard_at)),
    }
}

pub fn cancel_mode(mode: job::CancelMode) -> CancelMode {
    match mode {
        job::CancelMode::Soft => CancelMode::Soft,
        job::CancelMode::Hard => CancelMode::Hard,
    }
}

pub(super) fn error(error: &job::JobError) -> JobErrorOf<Borrowed<'_>> {
    JobErrorOf {
        code: error.code.as_str().into(),
        message: Text::Str(&error.message),
        category: Text::Category(error.category),
        class: Text::Class(error.class),
        stage: error.stage.map(Text::Stage),
        reason_code: error.reason_code.map(|reason| reason.as_str().into()),
        details: error.details.as_ref(),
        text: Text::Owned(error.text()),
    }
}

pub fn explanation(it: &explain::Explanation) -> Explanation {
    convert!(it => Explanation { job_id, job_type, state, phase, since, summary, waiting_for, clocks, next;
        waits_for: it.waits_for.iter().map(super::flow::waits_for).collect(),
        tries: it.suggestions.clone() })
}

conversions! {
    explain::Waiting as it => WaitingFor { what, detail, until }
    explain::Clock as it => Clock { at, to; trigger: text(&it.trigger) }
    explain::NextStep as it => NextTransition { to;
        trigger: text(&it.trigger), who: it.who.iter().map(ToString::to_string).collect() }
}
