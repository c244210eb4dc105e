//! One action on every job that matches a filter.

use axum::extract::State;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tenure_core::command::{Asked, Cancel, Command, GivenKey, Retry, When};
use tenure_core::decide::Answer;
use tenure_core::id::JobId;
use tenure_core::job::CancelMode;
use tenure_core::query::{JobFilter, Page};
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

/// What can be done to many jobs at once.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Action {
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
    let (jobs, next_cursor) = matching(&app, &filter, cursor_of(cursor.as_deref())?).await?;
    let answers = ask_each(&app, &caller, (action, mode.unwrap_or(CancelMode::Soft)), body.key, &jobs).await;
    let (_, rows) = results(&app, &jobs, answers, "/api/jobs/actions");
    ok(&json!({ "matched": jobs.len(), "results": rows, "next_cursor": next_cursor }))
}

/// Jobs that match, newest first, and where to go on if there are more than one request may touch.
pub(crate) async fn matching(
    app: &App,
    filter: &JobFilter,
    mut before: Option<JobId>,
) -> Result<(Vec<JobId>, Option<JobId>), Problem> {
    let mut jobs: Vec<JobId> = Vec::new();
    loop {
        let found = app.store().list(filter.clone(), Page { before, limit: PAGE_JOBS }).await?;
        jobs.extend(found.iter().map(|job| job.id()));
        before = jobs.last().copied();
        if found.len() < PAGE_JOBS {
            return Ok((jobs, None));
        }
        if jobs.len() >= ACTION_JOBS_MAX {
            return Ok((jobs, before));
        }
    }
}

/// Asks the same of each job, in the caller's name.
pub(crate) async fn ask_each(
    app: &App,
    caller: &Caller,
    (action, mode): (Action, CancelMode),
    key: Option<GivenKey>,
    jobs: &[JobId],
) -> Vec<Result<Answer, Failure>> {
    let by = caller.actor();
    let ask = |&job: &JobId| {
        let command = match action {
            Action::Cancel => Command::Cancel(Cancel { job, mode, reason: None }),
            Action::Retry => Command::Retry(Retry { job, id: app.runtime().new_id(), when: When::Now }),
        };
        Asked { by: by.clone(), key: key.clone(), command }
    };
    app.runtime().submit_all(jobs.iter().map(ask).collect::<Vec<_>>()).await
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
