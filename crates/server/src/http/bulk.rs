//! One action on every job that matches a filter.

use serde_json::Value;
use tenure_api::{ActionResults, NamedResult};
use tenure_core::job::CancelMode;
use tenure_service::bulk::{Action, matching, submit_each};

use crate::http::dead_letters::cursor_of;
use crate::http::jobs::core_mode;
use crate::http::prelude::*;

pub(crate) async fn act(call: CallContext, body: Body<request::JobAction>) -> Reply {
    let request::JobAction { action, filter, mode, cursor } = body.value;
    let action = parsed::<Action>("#/action", Some(action))?.expect("a given text is parsed");
    require(mode.is_none() || action == Action::Cancel, "#/mode", "belongs to cancel")?;
    let mut params = QueryParams::of_object(&filter)?;
    let mut filter = params.jobs()?;
    params.done()?;
    call.resolve_state_alias(&mut filter);
    let (jobs, next_cursor) = matching(&call, &filter, cursor_of(cursor.as_deref())?).await?;
    let mode = mode.map_or(CancelMode::Soft, core_mode);
    let answers = submit_each(&call, &call.caller, action, mode, body.key, &jobs).await;
    let results = named_results(CallId::ActOnJobs, &call, &jobs, answers);
    ok(&ActionResults { matched: jobs.len() as u64, results, next_cursor })
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
