//! Dead letters: listed, redriven, put aside.

use axum::extract::State;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tenure_core::command::{Asked, Command, GivenKey, Retry, When};
use tenure_core::dead_letter::DeadLetter;
use tenure_core::decide::Answer;
use tenure_core::id::JobId;
use tenure_core::query::{DeadLetterFilter, Page};
use tenure_core::time::Millis;
use tenure_core::wire::DeadLetterForm;
use tenure_runtime::Failure;
use tenure_store::Store as _;

use crate::app::App;
use crate::body::Body;
use crate::caller::{Caller, Right};
use crate::http::bulk::{ACTION_JOBS_MAX, PAGE_JOBS, results};
use crate::http::jobs::message;
use crate::http::{Id, Reply, ok, page};
use crate::problem::Problem;
use crate::query::{Given, job_id};

/// Where problems of a redrive occurred.
const REDRIVE: &str = "/api/dead-letters/redrive";
/// Jobs that a redrive may begin each second.
const RATE_MAX: f64 = 100_000.0;

pub(crate) async fn list(State(app): State<App>, caller: Caller, mut given: Given) -> Reply {
    caller.may(Right::See)?;
    let (mut filter, rows) = (given.dead_letters()?, given.page()?);
    given.done()?;
    narrow(&caller, &mut filter)?;
    let letters = app.store().dead_letters(filter, rows).await?;
    let next =
        (letters.len() == rows.limit).then(|| letters.last().map(|last| last.job_id.to_string())).flatten();
    page("dead_letters", letters.iter().map(DeadLetterForm::new).collect(), next)
}

/// Narrows a listing to what the caller may see: everything, or his own user's.
pub(crate) fn narrow(caller: &Caller, filter: &mut DeadLetterFilter) -> Result<(), Problem> {
    caller.narrow(&mut filter.jobs)?;
    if caller.is(Right::Own) { Ok(()) } else { caller.may(Right::Oversee) }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RedriveBody {
    ids: Option<Vec<String>>,
    filter: Option<Map<String, Value>>,
    max_per_second: Option<f64>,
    cursor: Option<String>,
}

/// Each becomes a new job with `retry_of`. A rate is kept by when the new jobs may be claimed, so that it holds whatever
/// happens to the caller or to this node meanwhile.
pub(crate) async fn redrive(
    State(app): State<App>,
    caller: Caller,
    given: Given,
    body: Body<RedriveBody>,
) -> Reply {
    caller.may(Right::Operate)?;
    given.done()?;
    let RedriveBody { ids, filter, max_per_second, cursor } = body.value;
    check_rate("#/max_per_second", max_per_second)?;
    let by_filter = filter.is_some();
    let (jobs, next_cursor) = match (ids, filter) {
        (Some(ids), None) => (named(&ids)?, None),
        (None, Some(filter)) => {
            let mut given = Given::of_object(&filter)?;
            let filter = given.dead_letters()?;
            given.done()?;
            matching(&app, filter, cursor_of(cursor.as_deref())?, |_| true).await?
        }
        _ => return Err(Problem::malformed("#", "say either ids or filter")),
    };
    let (mut there, mut missing) = (Vec::with_capacity(jobs.len()), Vec::new());
    for job in jobs {
        if by_filter || letter(&app, job).await?.is_some() {
            there.push(job);
        } else {
            let problem = Problem::not_found("dead letter", job).to_json(REDRIVE);
            missing.push(json!({ "job_id": job, "error": problem }));
        }
    }
    let answers = redrive_each(&app, &caller, max_per_second, body.key, &there).await;
    let (done, mut rows) = results(&app, &there, answers, REDRIVE);
    rows.extend(missing);
    ok(&json!({ "redriven": done, "results": rows, "next_cursor": next_cursor }))
}

/// A rate must be one that can be kept.
pub(crate) fn check_rate(pointer: &str, max_per_second: Option<f64>) -> Result<(), Problem> {
    if max_per_second.is_some_and(|rate| !(rate > 0.0 && rate <= RATE_MAX)) {
        return Err(Problem::malformed(pointer, format!("must be above 0 and at most {RATE_MAX}")));
    }
    Ok(())
}

/// Asks for a new job like each of these, at most so many a second.
pub(crate) async fn redrive_each(
    app: &App,
    caller: &Caller,
    max_per_second: Option<f64>,
    key: Option<GivenKey>,
    jobs: &[JobId],
) -> Vec<Result<Answer, Failure>> {
    let by = caller.actor();
    let ask = |(index, &job): (usize, &JobId)| {
        let delay = max_per_second.map_or(0, |rate| (index as f64 * 1000.0 / rate) as u64);
        let when = if delay == 0 { When::Now } else { When::In(Millis(delay)) };
        let command = Command::Retry(Retry { job, id: app.runtime().new_id(), when });
        Asked { by: by.clone(), key: key.clone(), command }
    };
    app.runtime().submit_all(jobs.iter().enumerate().map(ask).collect::<Vec<_>>()).await
}

fn named(ids: &[String]) -> Result<Vec<JobId>, Problem> {
    if ids.len() > ACTION_JOBS_MAX {
        return Err(Problem::malformed("#/ids", format!("at most {ACTION_JOBS_MAX} at once")));
    }
    let one = |(index, text): (usize, &String)| {
        job_id(text).ok_or_else(|| Problem::malformed(format!("#/ids/{index}"), "is not a job's id"))
    };
    ids.iter().enumerate().map(one).collect()
}

/// Where an earlier answer stopped.
pub(crate) fn cursor_of(cursor: Option<&str>) -> Result<Option<JobId>, Problem> {
    let bad = || Problem::malformed("#/cursor", "must be a cursor of an earlier answer");
    cursor.map(|cursor| job_id(cursor).ok_or_else(bad)).transpose()
}

/// Dead letters that match and are to be kept, and where to go on if there are more than one request may touch.
pub(crate) async fn matching(
    app: &App,
    filter: DeadLetterFilter,
    mut before: Option<JobId>,
    keep: impl Fn(&DeadLetter) -> bool,
) -> Result<(Vec<JobId>, Option<JobId>), Problem> {
    let mut found: Vec<JobId> = Vec::new();
    loop {
        let page = Page { before, limit: PAGE_JOBS };
        let letters: Vec<DeadLetter> = app.store().dead_letters(filter.clone(), page).await?;
        found.extend(letters.iter().filter(|letter| keep(letter)).map(|letter| letter.job_id));
        before = letters.last().map(|letter| letter.job_id);
        if letters.len() < PAGE_JOBS {
            return Ok((found, None));
        }
        if found.len() >= ACTION_JOBS_MAX {
            return Ok((found, before));
        }
    }
}

/// The dead letter of a job, dismissed or not.
pub(crate) async fn letter(app: &App, job: JobId) -> Result<Option<DeadLetter>, Problem> {
    let just_after = JobId(uuid::Uuid::from_u128(job.seed().wrapping_add(1)));
    for dismissed in [false, true] {
        let filter = DeadLetterFilter { dismissed, ..DeadLetterFilter::default() };
        let found = app.store().dead_letters(filter, Page { before: Some(just_after), limit: 1 }).await?;
        if let Some(letter) = found.into_iter().find(|letter| letter.job_id == job) {
            return Ok(Some(letter));
        }
    }
    Ok(None)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DismissBody {
    reason: String,
}

pub(crate) async fn dismiss(
    State(app): State<App>,
    caller: Caller,
    Id(id): Id,
    given: Given,
    body: Body<DismissBody>,
) -> Reply {
    caller.may(Right::Operate)?;
    given.done()?;
    let reason = message("#/reason", Some(body.value.reason))?.unwrap_or_default();
    app.submit(&caller, body.key, Command::Dismiss(id, reason)).await?;
    let letter = letter(&app, id).await?;
    ok(&DeadLetterForm::new(&letter.ok_or_else(|| Problem::not_found("dead letter", id))?))
}
