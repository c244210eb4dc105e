//! One action on every job that matches a filter.

use serde::Deserialize;
use tenure_core::command::Cancel;
use tenure_core::job::CancelMode;

use crate::prelude::*;

/// Jobs per request; the answer has a cursor for the rest.
pub const ACTION_JOBS_MAX: usize = 10_000;

/// Jobs per read of the store.
pub const PAGE_JOBS: usize = 500;

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    Cancel,
    Retry,
}

/// Matching jobs, newest first, and a cursor if there are more than one request may touch.
pub async fn matching(
    service: &Service,
    filter: &JobFilter,
    mut before: Option<JobId>,
) -> Result<(Vec<JobId>, Option<JobId>)> {
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

/// Submits the same command for each job, as the caller.
pub async fn submit_each(
    service: &Service,
    caller: &Caller,
    action: Action,
    mode: CancelMode,
    key: Option<IdempotencyKey>,
    jobs: &[JobId],
) -> Vec<Result<CommandResult, Failure>> {
    let by = caller.actor();
    let command = |&job: &JobId| {
        let command = match action {
            Action::Cancel => Command::Cancel(Cancel { job, mode, reason: None }),
            Action::Retry => Command::Retry(Retry { job, id: service.runtime().new_id(), when: When::Now }),
        };
        CommandEnvelope { by: by.clone(), key: key.clone(), command }
    };
    service.runtime().submit_all(jobs.iter().map(command).collect::<Vec<_>>()).await
}
