//! Amendments: the payload, priority or earliest time of a job that no worker holds changes, and its state does not.

use crate::command::{Amend, When};
use crate::command_origin::CommandOrigin;
use crate::decide::create::{priority_within_limits, run_at};
use crate::decide::report::fits;
use crate::decide::{CommandResult, DecisionContext, clock, invalid_transition, resource, sequence, unique};
use crate::event::{Event, Facts};
use crate::flow::FlowKeys;
use crate::id::JobId;
use crate::job::Job;
use crate::json::Json;
use crate::lifecycle::{Phase, Trigger};
use crate::refusal::Refusal;
use crate::time::Timestamp;

/// The name of the event, which no lifecycle declares.
pub(crate) const EVENT: &str = "job_amended";

/// The values that a job is to have. `None` stays.
#[derive(Clone, Debug, Default)]
pub(crate) struct NewValues {
    pub(crate) payload: Option<Json>,
    pub(crate) priority: Option<i32>,
    pub(crate) run_at: Option<Timestamp>,
    /// The keys for the new payload.
    pub(crate) flow: Option<FlowKeys>,
}

pub(crate) fn decide(context: &mut DecisionContext<'_>, by: &CommandOrigin, amend: &Amend) -> CommandResult {
    let job = context.job(amend.job)?;
    if amend.if_seq.is_some_and(|seq| seq != job.seq) {
        return Err(Refusal::PreconditionFailed { job: amend.job, seq: job.seq });
    }
    if !is_amendable(&job) {
        let lifecycle = context.lifecycle(&job)?;
        return Err(invalid_transition(&job, &lifecycle, &Trigger::Amend));
    }
    if let Some(payload) = &amend.payload {
        let job_type = context.catalog.job_type(job.spec.job_type.as_str());
        let job_type = job_type.ok_or_else(|| Refusal::UnknownType(job.spec.job_type.clone()))?;
        fits("payload", payload.as_str().len(), job_type.payload_bytes_max)?;
    }
    priority_within_limits(amend.priority)?;
    let Amend { payload, priority, flow, .. } = amend.clone();
    if let Some(flow) = &flow {
        resource::admit(context, flow, &job.flow().resources)?;
    }
    let run_at = amend.run_at.map(|at| run_at(When::At(at), context.now.at));
    let run_at = run_at.filter(|_| amend.run_at != Some(job.run_at));
    apply(context, by, amend.job, NewValues { payload, priority, run_at, flow })?;
    context.job_output(amend.job)
}

pub(crate) fn is_amendable(job: &Job) -> bool {
    matches!(job.phase, Phase::Ready | Phase::Waiting)
}

/// Writes one event with the values that differ; none if no value does.
pub(crate) fn apply(
    context: &mut DecisionContext<'_>,
    by: &CommandOrigin,
    id: JobId,
    new: NewValues,
) -> Result<(), Refusal> {
    let job = context.job(id)?;
    // A ready state without a rule for claims has no earliest time.
    let run_at = new.run_at.filter(|at| *at != job.run_at && job.run_at != Timestamp::NEVER);
    let payload = new.payload.filter(|payload| payload.digest() != job.payload().digest());
    let priority = new.priority.filter(|priority| *priority != job.priority());
    // An amended key keeps the place of the job's creation.
    let placed = |flow: FlowKeys| match job.flow().place {
        0 => sequence::placed(context, &job.spec.job_type, &flow),
        place => FlowKeys { place, ..flow },
    };
    let flow = new.flow.map(placed).filter(|flow| flow != job.flow()).map(Box::new);
    if run_at.is_none() && payload.is_none() && priority.is_none() && flow.is_none() {
        return Ok(());
    }
    let moved_due = run_at.map(|at| context.now.running() + (at - context.now.at));
    let facts = Facts {
        run_at,
        timeout: job.clocks.timeout,
        due: job.clocks.due.map(|due| moved_due.unwrap_or(due)),
        credential: by.credential.clone(),
        payload,
        priority,
        flow,
        ..Facts::entering(job.phase)
    };
    context.set.record(Event {
        job_id: id,
        seq: Some(job.seq + 1),
        name: EVENT.into(),
        trigger: Trigger::Amend,
        from: Some(job.state.clone()),
        to: job.state.clone(),
        attempt: job.attempt,
        ts: context.now.at.max(job.times.updated_at),
        actor: by.actor.clone(),
        cause: None,
        facts,
    });
    let amended = context.job(id)?;
    sequence::moved(context, &job, &amended);
    unique::moved(context, &job)?;
    clock::catch_up(context, id)
}
