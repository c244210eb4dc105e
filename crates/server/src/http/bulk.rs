//! One action on every job that matches a filter.

use serde_json::Value;
use tenure_api::{ActionResults, NamedResult};
use tenure_core::job::CancelMode;
use tenure_core::limits::PAGE_BYTES_MAX;
use tenure_service::bulk::{Action, matching, split_copies, submit_each};

use crate::http::dead_letters::cursor_of;
use crate::http::jobs::core_mode;
use crate::http::prelude::*;
use crate::lifecycle_api::AtLifecycleApi;

pub(crate) async fn act(call: CallContext, at: AtLifecycleApi, body: Body<request::JobAction>) -> Reply {
    let request::JobAction { action, filter, all, dry_run, mode, cursor } = body.value;
    let action = parsed::<Action>("#/action", Some(action))?.expect("a given text is parsed");
    require(mode.is_none() || action == Action::Cancel, "#/mode", "belongs to cancel")?;
    require(
        at.is_selective(&filter) || all,
        "#/filter",
        "matches every job; to act on every job, set \"all\" to true",
    )?;
    let mut params = QueryParams::of_object(&filter)?;
    let mut filter = params.jobs()?;
    params.done()?;
    call.resolve_state_alias(&mut filter);
    // The answer has the jobs: at most this many bytes and those of the last page that was read.
    let bytes_max = if dry_run { usize::MAX } else { PAGE_BYTES_MAX / 2 };
    let before = cursor_of(cursor.as_deref())?;
    let (jobs, next_cursor) = matching(&call, &call.caller, filter, before, bytes_max).await?;
    let matched = jobs.len() as u64;
    if dry_run {
        return ok(&ActionResults::<JobId, OutputAnswer, Value> {
            matched,
            results: Vec::new(),
            next_cursor,
        });
    }
    let (jobs, others) = if action == Action::Retry {
        split_copies(&call, &call.caller, jobs).await
    } else {
        (jobs, Vec::new())
    };
    let mode = mode.map_or(CancelMode::Soft, core_mode);
    let answers = submit_each(&call, &call.caller, action, mode, body.key, &jobs).await;
    let mut results = named_results(CallId::ActOnJobs, &call, &jobs, answers);
    results.extend(others.iter().map(|(job, problem)| refused(CallId::ActOnJobs, *job, problem)));
    ok(&ActionResults { matched, results, next_cursor })
}

/// The result for one job, as it is answered.
pub(crate) type JobResult = NamedResult<JobId, OutputAnswer, Value>;

pub(crate) fn named_results(
    call: CallId,
    app: &App,
    jobs: &[JobId],
    answers: Vec<Result<CommandResult, Failure>>,
) -> Vec<JobResult> {
    let now = app.runtime().reading();
    let one = |(job, answer): (&JobId, Result<CommandResult, Failure>)| match answer {
        Ok(Ok(output)) => NamedResult { job_id: *job, ok: Some(OutputAnswer { output, now }), error: None },
        Ok(Err(refusal)) => refused(call, *job, &refusal.into()),
        Err(failure) => refused(call, *job, &failure.into()),
    };
    jobs.iter().zip(answers).map(one).collect()
}

pub(crate) fn refused(call: CallId, job_id: JobId, problem: &Problem) -> JobResult {
    NamedResult { job_id, ok: None, error: Some(problem.to_json(call.call().path)) }
}
