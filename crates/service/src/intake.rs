//! Requests for jobs in SQL that are not jobs: in the intake, refused, or answered with another job.

use serde_json::{Map, Value, json};
use tenure_api::JobRequest;
use tenure_core::id::{QueueName, TypeName};
use tenure_core::intake::{IntakeOutcome, IntakeRecord, PendingRequest};
use tenure_core::job_type::Catalog;

use crate::prelude::*;
use crate::query::job_id;

/// The phase by which refused requests are listed.
pub const REFUSED: &str = "refused";

/// What an id leads to.
#[derive(Debug)]
pub enum FoundJob {
    Job(Arc<Job>),
    Request(Box<JobRequest>),
}

/// A job, or the request for it, that the caller may see.
pub async fn find(service: &Service, caller: &Caller, id: JobId) -> Result<FoundJob> {
    match service.job(caller, id).await {
        Err(problem) if problem.code() == ProblemCode::NotFound.code() => {}
        found => return found.map(FoundJob::Job),
    }
    let store = service.store();
    if let Some(request) = store.pending_request(id).await? {
        let (queue, user_id) = (request.queue.as_ref(), request.user_id.as_ref());
        return visible(id, may_see(caller, &request.job_type, queue, user_id), pending(&request));
    }
    // A request that is no longer pending has a record or became a job.
    match store.intake_record(id).await? {
        Some(record) if record.outcome != IntakeOutcome::Acted => {
            let (queue, user_id) = (record.queue.as_ref(), record.user_id.as_ref());
            let is_visible = may_see(caller, &record.job_type, queue, user_id);
            visible(id, is_visible, shown_to(service, caller, &record).await?)
        }
        _ => service.job(caller, id).await.map(FoundJob::Job),
    }
}

fn visible(id: JobId, is_visible: bool, shown: JobRequest) -> Result<FoundJob> {
    if is_visible {
        return Ok(FoundJob::Request(Box::new(shown)));
    }
    Err(Problem::forbidden(format!("job {id} belongs to another user or worker")))
}

fn may_see(
    caller: &Caller,
    job_type: &TypeName,
    queue: Option<&QueueName>,
    user_id: Option<&UserId>,
) -> bool {
    let no_queue = QueueName::from("");
    caller.scopes.admits_job(job_type, queue.unwrap_or(&no_queue), user_id)
        && (caller.sees_all_users() || caller.owns(user_id))
}

/// Refused requests that the caller may see, newest first, and the cursor of the next page.
pub async fn refusals(
    service: &Service,
    caller: &Caller,
    filter: &JobFilter,
    rows: Page,
) -> Result<(Vec<JobRequest>, Option<JobId>)> {
    let page = service.store().refusals(filter.user_id.clone(), rows.before, rows.limit).await?;
    let next = (page.len() == rows.limit).then(|| page.last().map(|record| record.id)).flatten();
    let catalog = service.runtime().catalog();
    let is_wanted = |record: &&IntakeRecord| {
        may_see(caller, &record.job_type, record.queue.as_ref(), record.user_id.as_ref())
            && matches(filter, record, &catalog)
    };
    let mut found = Vec::new();
    for record in page.iter().filter(is_wanted) {
        found.push(shown_to(service, caller, record).await?);
    }
    Ok((found, next))
}

/// A judged request without the other job that it names, unless the caller may see that job.
async fn shown_to(service: &Service, caller: &Caller, record: &IntakeRecord) -> Result<JobRequest> {
    let mut shown = judged(record);
    let in_problem = shown.problem.as_ref().and_then(|problem| problem["job_id"].as_str());
    let Some(named) = shown.job_id.as_deref().or(in_problem).and_then(job_id) else { return Ok(shown) };
    let sees_all = caller.sees_all_users() && !caller.scopes.limits_jobs();
    let is_seen = sees_all
        || match service.store().job(named).await? {
            Some(job) => service.may_see(caller, &job).await?,
            None => false,
        };
    if !is_seen {
        shown.job_id = None;
        shown.problem.as_mut().and_then(Value::as_object_mut).map(|problem| problem.remove("job_id"));
    }
    Ok(shown)
}

/// Whether a refused request has every value of a filter. It has no state, outcome, worker and original. Its lifecycle is that of its
/// type, and it would have been created when it was judged.
fn matches(filter: &JobFilter, record: &IntakeRecord, catalog: &Catalog) -> bool {
    let lifecycle = || catalog.job_type(record.job_type.as_str()).map(|it| &it.lifecycle.name);
    filter.state.is_none()
        && filter.outcome.is_none()
        && filter.worker.is_none()
        && filter.retry_of.is_none()
        && filter.lifecycle.as_ref().is_none_or(|wanted| lifecycle() == Some(wanted))
        && filter.job_type.as_ref().is_none_or(|wanted| *wanted == record.job_type)
        && filter.queue.as_ref().is_none_or(|wanted| record.queue.as_ref() == Some(wanted))
        && filter.correlation_id.as_ref().is_none_or(|wanted| *wanted == *correlation(record))
        && filter.created_after.is_none_or(|after| after < record.judged_at)
        && filter.created_before.is_none_or(|before| record.judged_at < before)
}

fn correlation(record: &IntakeRecord) -> String {
    record.correlation_id.as_ref().map_or_else(|| record.id.to_string(), ToString::to_string)
}

fn pending(request: &PendingRequest) -> JobRequest {
    let correlation_id = request.correlation_id.as_ref().map(ToString::to_string);
    JobRequest {
        id: request.id.to_string(),
        job_type: request.job_type.to_string(),
        queue: request.queue.as_ref().map(ToString::to_string),
        user_id: request.user_id.as_ref().map(ToString::to_string),
        correlation_id: correlation_id.unwrap_or_else(|| request.id.to_string()),
        phase: "intake".to_owned(),
        requested_at: request.requested_at.to_string(),
        ..JobRequest::default()
    }
}

fn judged(record: &IntakeRecord) -> JobRequest {
    let mut shown = JobRequest {
        id: record.id.to_string(),
        job_type: record.job_type.to_string(),
        queue: record.queue.as_ref().map(ToString::to_string),
        user_id: record.user_id.as_ref().map(ToString::to_string),
        correlation_id: correlation(record),
        requested_at: record.requested_at.to_string(),
        ..JobRequest::default()
    };
    match &record.outcome {
        IntakeOutcome::Refused(parts) => {
            REFUSED.clone_into(&mut shown.phase);
            shown.refused_at = Some(record.judged_at.to_string());
            shown.problem = Some(problem(record.id, &parts.to_value().unwrap_or_default()));
        }
        IntakeOutcome::Merged(job) => {
            "merged".clone_into(&mut shown.phase);
            shown.job_id = Some(job.to_string());
        }
        IntakeOutcome::Acted => {}
    }
    shown
}

/// The problem with which a call of the HTTP API would have been refused.
fn problem(id: JobId, parts: &Value) -> Value {
    let code = parts["code"].as_str().unwrap_or_default();
    let known = ProblemCode::ALL.iter().find(|known| known.code() == code);
    let detail = parts["detail"].as_str().unwrap_or_default();
    let problem = Problem::new(known.copied().unwrap_or(ProblemCode::ValidationFailed), detail);
    let mut body = problem.to_json(&format!("/api/jobs/{id}"));
    let others = Map::new();
    for (name, value) in parts.as_object().unwrap_or(&others) {
        body[name] = json!(value);
    }
    body
}
