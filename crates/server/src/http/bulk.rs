//! One action on every job that matches a filter.

use axum::extract::State;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tenure_core::command::{Asked, Cancel, Command, Retry, When};
use tenure_core::decide::Answer;
use tenure_core::id::JobId;
use tenure_core::job::CancelMode;
use tenure_core::query::Page;
use tenure_runtime::Failure;
use tenure_store::Store as _;

use crate::app::App;
use crate::body::Body;
use crate::caller::{Caller, Right};
use crate::http::dead_letters::cursor_of;
use crate::http::{Reply, Shown, ok};
use crate::problem::Problem;
use crate::query::Given;

/// Jobs that one request may touch; the answer's cursor leads to the rest.
pub(crate) const ACTION_JOBS_MAX: usize = 10_000;
/// Jobs that are read at once.
pub(crate) const PAGE_JOBS: usize = 500;

#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum Action {
    Cancel,
    Retry,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ActionBody {
    action: Action,
    filter: Map<String, Value>,
    mode: Option<CancelMode>,
    cursor: Option<String>,
}

pub(crate) async fn act(
    State(app): State<App>,
    caller: Caller,
    given: Given,
    body: Body<ActionBody>,
) -> Reply {
    caller.may(Right::Operate)?;
    given.done()?;
    let ActionBody { action, filter, mode, cursor } = body.value;
    if action == Action::Retry && mode.is_some() {
        return Err(Problem::malformed("#/mode", "belongs to cancel"));
    }
    let mut given = Given::of_object(&filter)?;
    let mut filter = given.jobs()?;
    given.done()?;
    app.speak_canonical(&mut filter);
    let (mut jobs, mut before): (Vec<JobId>, _) = (Vec::new(), cursor_of(cursor.as_deref())?);
    let mut next_cursor = None;
    loop {
        let found = app.store().list(filter.clone(), Page { before, limit: PAGE_JOBS }).await?;
        jobs.extend(found.iter().map(|job| job.id()));
        before = jobs.last().copied();
        if found.len() < PAGE_JOBS {
            break;
        }
        if jobs.len() >= ACTION_JOBS_MAX {
            next_cursor = before.map(|id| id.to_string());
            break;
        }
    }
    let by = caller.actor();
    let ask = |job: &JobId| {
        let command = match action {
            Action::Cancel => {
                Command::Cancel(Cancel { job: *job, mode: mode.unwrap_or(CancelMode::Soft), reason: None })
            }
            Action::Retry => Command::Retry(Retry { job: *job, id: app.runtime().new_id(), when: When::Now }),
        };
        Asked { by: by.clone(), key: body.key.clone(), command }
    };
    let answers = app.runtime().submit_all(jobs.iter().map(ask).collect::<Vec<_>>()).await;
    let (_, rows) = results(&app, &jobs, answers, "/api/jobs/actions");
    ok(&json!({ "matched": jobs.len(), "results": rows, "next_cursor": next_cursor }))
}

/// How many were done, and what became of each.
pub(crate) fn results(
    app: &App,
    jobs: &[JobId],
    answers: Vec<Result<Answer, Failure>>,
    instance: &str,
) -> (usize, Vec<Value>) {
    let now = app.runtime().reading();
    let mut count = 0;
    let rows = jobs.iter().zip(answers).map(|(job, answer)| match answer {
        Ok(Ok(done)) => {
            count += 1;
            json!({ "job_id": job, "ok": Shown { done, now } })
        }
        Ok(Err(refusal)) => json!({ "job_id": job, "error": Problem::from(refusal).to_json(instance) }),
        Err(failure) => json!({ "job_id": job, "error": Problem::from(failure).to_json(instance) }),
    });
    let rows = rows.collect();
    (count, rows)
}
