//! Dead letters: list, redrive, dismiss.

use tenure_api::RedriveResults;
use tenure_core::dead_letter::DeadLetter;
use tenure_service::bulk::{ACTION_JOBS_MAX, bind_request};
use tenure_service::dead_letters::{check_rate, find, matching, narrow, redrive_each, visible};
use tenure_store::BoundedPage;

use crate::http::bulk::NamedAnswer;
use crate::http::prelude::*;

pub(crate) async fn list(call: CallContext, mut params: QueryParams) -> Reply {
    let (mut filter, rows) = (params.dead_letters()?, params.page()?);
    params.done()?;
    call.resolve_state_alias(&mut filter.jobs);
    narrow(&call.caller, &mut filter)?;
    let BoundedPage { rows: letters, has_more } = call.store().dead_letters_page(filter, rows).await?;
    let next = letters.last().filter(|_| has_more).map(|letter| letter.job_id.to_string());
    let letters = visible(&call, &call.caller, letters).await?;
    page(CallId::ListDeadLetters, letters.iter().map(wire::dead_letter).collect(), next)
}

pub(crate) async fn redrive(call: CallContext, body: Body<request::Redrive>) -> Reply {
    let request::Redrive { ids, filter, max_per_second, cursor } = body.value;
    check_rate("#/max_per_second", max_per_second)?;
    let by_filter = filter.is_some();
    let bind = async || bind_request(&call, &call.caller, "redrive", body.key.as_ref(), true).await;
    let (jobs, next_cursor) = match (ids, filter) {
        (Some(ids), None) => {
            let ids = job_ids(&ids)?;
            bind().await?;
            (ids, None)
        }
        (None, Some(filter)) => {
            let mut params = QueryParams::of_object(&filter)?;
            let mut filter = params.dead_letters()?;
            params.done()?;
            call.resolve_state_alias(&mut filter.jobs);
            let before = cursor_of(cursor.as_deref())?;
            let first_at = bind().await?;
            let keep = |letter: &DeadLetter| first_at.is_none_or(|at| letter.created_at <= at);
            matching(&call, &call.caller, filter, before, keep).await?
        }
        _ => return Err(Problem::malformed("#", "give either ids or filter")),
    };
    let (mut found, mut missing) = (Vec::with_capacity(jobs.len()), Vec::new());
    for job in jobs {
        let checked = if by_filter || find(&call, job).await?.is_some() {
            call.app.check_copy(&call.caller, job).await
        } else {
            Err(Problem::not_found("dead letter", job))
        };
        match checked {
            Ok(()) => found.push(job),
            Err(problem) => missing.push((job, problem)),
        }
    }
    let mut answer = NamedAnswer::new(&call, CallId::RedriveDeadLetters);
    let push = |job, result| answer.push(job, result);
    redrive_each(&call, &call.caller, max_per_second, body.key, &found, push).await;
    let redriven = answer.results.iter().filter(|result| result.ok.is_some()).count() as u64;
    for (job, problem) in &missing {
        answer.refuse(*job, problem);
    }
    ok(&RedriveResults { redriven, results: answer.results, next_cursor })
}

fn job_ids(ids: &[String]) -> Result<Vec<JobId>> {
    require(ids.len() <= ACTION_JOBS_MAX, "#/ids", format_args!("at most {ACTION_JOBS_MAX} at once"))?;
    let one = |(index, text): (usize, &String)| {
        job_id(text).ok_or_else(|| Problem::malformed(format!("#/ids/{index}"), "is not a job's id"))
    };
    ids.iter().enumerate().map(one).collect()
}

/// The cursor of an earlier answer.
pub(crate) fn cursor_of(cursor: Option<&str>) -> Result<Option<JobId>> {
    let bad = || Problem::malformed("#/cursor", "must be a cursor of an earlier answer");
    cursor.map(|cursor| job_id(cursor).ok_or_else(bad)).transpose()
}

pub(crate) async fn dismiss(call: CallContext, Id(id): Id, body: Body<request::Dismissal>) -> Reply {
    let reason = message("#/reason", Some(body.value.reason))?.unwrap_or_default();
    call.check_scope(id).await?;
    call.submit(body.key, Command::DismissDeadLetter { job: id, reason }).await?;
    let letter = find(&call, id).await?;
    ok(&wire::dead_letter(&letter.ok_or_else(|| Problem::not_found("dead letter", id))?))
}
