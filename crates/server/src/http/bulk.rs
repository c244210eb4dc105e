//! One action on every job that matches a filter.

use serde_json::Value;
use tenure_api::{ActionResults, NamedResult};
use tenure_core::job::CancelMode;
use tenure_core::job::Job;
use tenure_core::limits::PAGE_BYTES_MAX;
use tenure_service::bulk::{
    Action, Answer, Portions, bind_request, matching, output_bytes, split_copies, submit_each,
};

use crate::headers::ReturnPreference;
use crate::http::ItemOutput;
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
    let key = body.key.filter(|_| !dry_run);
    let adds_work = action == Action::Retry;
    let first_at = bind_request(&call, &call.caller, "actions", key.as_ref(), adds_work).await?;
    let keep = |job: &Job| first_at.is_none_or(|at| action.concerned(job, at));
    let (jobs, next_cursor) = matching(&call, &call.caller, &filter.into(), before, bytes_max, keep).await?;
    let matched = jobs.len() as u64;
    if dry_run {
        return ok(&ActionResults::<JobId, ItemOutput, Value> { matched, results: Vec::new(), next_cursor });
    }
    let (jobs, others) = if action == Action::Retry {
        split_copies(&call, &call.caller, jobs).await
    } else {
        (jobs, Vec::new())
    };
    let mode = mode.map_or(CancelMode::Soft, core_mode);
    let mut answer = NamedAnswer::new(&call, CallId::ActOnJobs);
    submit_each(&call, &call.caller, action, mode, key, &jobs, |job, result| answer.push(job, result)).await;
    for (job, problem) in &others {
        answer.refuse(*job, problem);
    }
    ok(&ActionResults { matched, results: answer.results, next_cursor })
}

/// The results for many jobs. Beyond a limit in bytes, jobs are answered in brief, as with `Prefer: return=minimal`.
pub(crate) struct NamedAnswer<'c> {
    call: &'c CallContext,
    id: CallId,
    size: Portions,
    pub(crate) results: Vec<NamedResult<JobId, ItemOutput, Value>>,
}

impl<'c> NamedAnswer<'c> {
    pub(crate) fn new(call: &'c CallContext, id: CallId) -> Self {
        Self { call, id, size: Portions::default(), results: Vec::new() }
    }

    pub(crate) fn push(&mut self, job_id: JobId, answer: Answer) {
        let output = match answer {
            Ok(Ok(output)) => output,
            Ok(Err(refusal)) => return self.refuse(job_id, &refusal.into()),
            Err(failure) => return self.refuse(job_id, &failure.into()),
        };
        self.size.add(output_bytes(&output));
        let preference =
            if self.size.is_full() { ReturnPreference::Minimal } else { ReturnPreference::Whole };
        let ok = Some(ItemOutput::of(self.call, output, preference));
        self.results.push(NamedResult { job_id, ok, error: None });
    }

    pub(crate) fn refuse(&mut self, job_id: JobId, problem: &Problem) {
        let error = Some(problem.to_json(self.id.call().path));
        self.results.push(NamedResult { job_id, ok: None, error });
    }
}
