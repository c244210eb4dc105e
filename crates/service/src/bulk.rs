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
    Delete,
}

/// Matching jobs in the caller's scopes, newest first, and a cursor if there are more than one request may touch, or if they
/// have more than `bytes_max` bytes.
pub async fn matching(
    service: &Service,
    caller: &Caller,
    mut filter: JobFilter,
    mut before: Option<JobId>,
    bytes_max: usize,
) -> Result<(Vec<JobId>, Option<JobId>)> {
    caller.narrow(&mut filter)?;
    let (mut jobs, mut bytes) = (Vec::new(), 0);
    loop {
        let found = service.store().list_page(filter.clone(), Page { before, limit: PAGE_JOBS }).await?;
        bytes += found.rows.iter().map(|job| job.bytes()).sum::<usize>();
        jobs.extend(found.rows.iter().filter(|job| caller.has_in_scope(&job.spec)).map(|job| job.id()));
        before = found.rows.last().map(|job| job.id()).or(before);
        if !found.has_more {
            return Ok((jobs, None));
        }
        if jobs.len() >= ACTION_JOBS_MAX || bytes > bytes_max {
            return Ok((jobs, before));
        }
    }
}

/// The jobs that the caller may copy, and the problem of each of the others.
pub async fn split_copies(
    service: &Service,
    caller: &Caller,
    jobs: Vec<JobId>,
) -> (Vec<JobId>, Vec<(JobId, Problem)>) {
    let (mut allowed, mut refused) = (Vec::with_capacity(jobs.len()), Vec::new());
    for job in jobs {
        match service.check_copy(caller, job).await {
            Ok(()) => allowed.push(job),
            Err(problem) => refused.push((job, problem)),
        }
    }
    (allowed, refused)
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
    let by = caller.origin();
    let command = |&job: &JobId| {
        let command = match action {
            Action::Cancel => Command::Cancel(Cancel { job, mode, reason: None }),
            Action::Delete => Command::Delete { job, reason: None },
            Action::Retry => Command::Retry(Retry { job, id: service.runtime().new_id(), when: When::Now }),
        };
        CommandEnvelope { by: by.clone(), key: key.clone(), command }
    };
    service.runtime().submit_all(jobs.iter().map(command).collect::<Vec<_>>()).await
}
