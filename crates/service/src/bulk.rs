//! One action on every job that matches a filter.

use serde::Deserialize;
use tenure_core::command::{Cancel, Command, CommandEnvelope, IdempotencyKey, Retry, When};
use tenure_core::decide::CommandResult;
use tenure_core::id::JobId;
use tenure_core::job::CancelMode;
use tenure_core::query::{JobFilter, Page};
use tenure_runtime::Failure;
use tenure_store::Store as _;

use crate::caller::Caller;
use crate::problem::Problem;
use crate::service::Service;

/// Jobs that one request may touch; the answer's cursor leads to the rest.
pub const ACTION_JOBS_MAX: usize = 10_000;

/// Jobs that are read at once.
pub const PAGE_JOBS: usize = 500;

/// What can be done to many jobs at once.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    Cancel,
    Retry,
}

/// Jobs that match, newest first, and where to go on if there are more than one request may touch.
pub async fn matching(
    service: &Service,
    filter: &JobFilter,
    mut before: Option<JobId>,
) -> Result<(Vec<JobId>, Option<JobId>), Problem> {
    let mut jobs: Vec<JobId> = Vec::new();
    loop {
        let found = service.store().list(filter.clone(), Page { before, limit: PAGE_JOBS }).await?;
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
pub async fn ask_each(
    service: &Service,
    caller: &Caller,
    (action, mode): (Action, CancelMode),
    key: Option<IdempotencyKey>,
    jobs: &[JobId],
) -> Vec<Result<CommandResult, Failure>> {
    let by = caller.actor();
    let ask = |&job: &JobId| {
        let command = match action {
            Action::Cancel => Command::Cancel(Cancel { job, mode, reason: None }),
            Action::Retry => Command::Retry(Retry { job, id: service.runtime().new_id(), when: When::Now }),
        };
        CommandEnvelope { by: by.clone(), key: key.clone(), command }
    };
    service.runtime().submit_all(jobs.iter().map(ask).collect::<Vec<_>>()).await
}
