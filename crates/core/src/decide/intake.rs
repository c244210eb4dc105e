//! Requests from SQL. Each is judged like a call of the HTTP API, in the commit that removes its row. A refusal becomes a record
//! and an event, because the application has committed already.

use serde_json::{Value, json};

use crate::decide::{CommandOutput, DecisionContext, decide};
use crate::event::{Event, Facts};
use crate::intake::{IntakeAction, IntakeOutcome, IntakeRecord, IntakeRequest, JOB_REFUSED};
use crate::job::Job;
use crate::json::Json;
use crate::lifecycle::{Phase, Retention, Trigger};
use crate::refusal::Refusal;

/// Judges requests in order. One that another node has taken in meanwhile is skipped.
pub(crate) fn take_in(context: &mut DecisionContext<'_>, requests: &[IntakeRequest]) -> CommandOutput {
    let (mut taken, mut refused) = (0, Vec::new());
    for request in requests {
        if !is_new(context, request) {
            continue;
        }
        begin(context, request);
        taken += 1;
        match request.envelope().and_then(|envelope| decide(context, &envelope)) {
            Ok(output) => merge(context, request, &output),
            Err(refusal) => {
                refuse(context, request, &refusal);
                refused.push(refusal.code());
            }
        }
    }
    CommandOutput::TakenIn { taken, refused }
}

/// Whether the request is judged for the first time.
fn is_new(context: &DecisionContext<'_>, request: &IntakeRequest) -> bool {
    if let Some(place) = request.place {
        return context.set.intake.contains(&place);
    }
    let is_job =
        matches!(request.action, IntakeAction::Create { .. }) && context.set.job(request.job).is_some();
    !is_job && !context.set.intake_records.contains_key(&request.receipt)
}

/// Removes the row, or records the receipt of a request from another database.
fn begin(context: &mut DecisionContext<'_>, request: &IntakeRequest) {
    let Some(place) = request.place else {
        if let IntakeAction::Act { .. } = request.action {
            let receipt =
                IntakeRecord { id: request.receipt, ..record(context, request, IntakeOutcome::Acted) };
            context.set.put_intake_record(receipt);
        }
        return;
    };
    context.set.changes.intake.taken.insert(place);
    context.set.intake.remove(&place);
}

/// Records that another job is the answer to a creation.
fn merge(context: &mut DecisionContext<'_>, request: &IntakeRequest, output: &CommandOutput) {
    if let IntakeAction::Create { .. } = request.action
        && let CommandOutput::Job { job, .. } | CommandOutput::Amended(job) = output
        && job.id() != request.job
    {
        let merged = record(context, request, IntakeOutcome::Merged(job.id()));
        context.set.put_intake_record(merged);
    }
}

fn refuse(context: &mut DecisionContext<'_>, request: &IntakeRequest, refusal: &Refusal) {
    let problem = problem(refusal);
    let outcome = match &request.action {
        IntakeAction::Create { .. } => Some(IntakeOutcome::Refused(problem.clone())),
        // The event needs a record if there is no job.
        IntakeAction::Act { .. } if context.set.job(request.job).is_none() => Some(IntakeOutcome::Acted),
        IntakeAction::Act { .. } => None,
    };
    if let Some(outcome) = outcome {
        let refused = record(context, request, outcome);
        context.set.put_intake_record(refused);
    }
    let event = event(context, request, refusal, problem);
    context.set.changes.appended.events.push(event);
}

fn event(context: &DecisionContext<'_>, request: &IntakeRequest, refusal: &Refusal, problem: Json) -> Event {
    let job = context.set.job(request.job);
    let trigger = match &request.action {
        IntakeAction::Create { .. } => Trigger::Create,
        IntakeAction::Act { trigger, .. } => trigger.clone(),
    };
    Event {
        job_id: request.job,
        seq: None,
        name: JOB_REFUSED.into(),
        trigger,
        from: job.map(|job| job.state.clone()),
        to: job.map_or_else(|| "".into(), |job| job.state.clone()),
        attempt: job.map_or(0, |job: &std::sync::Arc<Job>| job.attempt),
        ts: context.now.at,
        actor: request.by.actor.clone(),
        cause: Some(refusal.code().into()),
        facts: Facts { note: Some(problem), ..Facts::entering(job.map_or(Phase::Waiting, |job| job.phase)) },
    }
}

fn record(context: &DecisionContext<'_>, request: &IntakeRequest, outcome: IntakeOutcome) -> IntakeRecord {
    let (job_type, queue, user_id, correlation_id) = match &request.action {
        IntakeAction::Create { job_type, queue, user_id, correlation_id, .. } => {
            let default = || context.catalog.job_type(job_type.as_str()).map(|found| found.queue.clone());
            (job_type.clone(), queue.clone().or_else(default), user_id.clone(), correlation_id.clone())
        }
        IntakeAction::Act { .. } => ("".into(), None, None, None),
    };
    IntakeRecord {
        id: request.job,
        job_type,
        queue,
        user_id,
        correlation_id,
        requested_at: request.requested_at,
        judged_at: context.now.at,
        keep_until: context.now.at + Retention::default().jobs,
        outcome,
    }
}

/// The parts of a problem that depend on the refusal.
fn problem(refusal: &Refusal) -> Json {
    let mut parts = refusal.members();
    parts.insert("code".to_owned(), json!(refusal.code()));
    parts.insert("detail".to_owned(), json!(refusal.to_string()));
    Json::of(&Value::Object(parts))
}
