//! The jobs of a lifecycle that finished in a period; if there are more than a limit, some from each part of the period.

use tenure_store::{CompletedJob, Store, StoreError};
use uuid::Uuid;

use crate::prelude::*;

/// Parts of a period with more jobs than the limit.
const PARTS: usize = 20;

/// Finished jobs, in the order of their completion.
#[derive(Clone, Debug, Default)]
pub struct FinishedJobs {
    pub ids: Vec<JobId>,
    /// Whether these are all.
    pub is_complete: bool,
}

/// At most `limit` jobs that completed from `from` until before `to`. If there are more: the first of each twentieth of the period.
pub async fn finished_jobs(
    store: &Store,
    lifecycle: &LifecycleName,
    (from, to): (Timestamp, Timestamp),
    limit: usize,
) -> Result<FinishedJobs, StoreError> {
    let all = between(store, lifecycle, (from, to), limit + 1).await?;
    if all.len() <= limit {
        return Ok(FinishedJobs { ids: all, is_complete: true });
    }
    let (mut ids, mut unused) = (Vec::new(), 0);
    let length = (to - from).0 / PARTS as u64 + 1;
    for part in 0..PARTS as u64 {
        let begin = from + Millis(part * length);
        let end = (begin + Millis(length)).min(to);
        let wanted = limit / PARTS + unused;
        let found = between(store, lifecycle, (begin, end), wanted).await?;
        unused = wanted - found.len();
        ids.extend(found);
    }
    Ok(FinishedJobs { ids, is_complete: false })
}

async fn between(
    store: &Store,
    lifecycle: &LifecycleName,
    (from, to): (Timestamp, Timestamp),
    limit: usize,
) -> Result<Vec<JobId>, StoreError> {
    // After every job of the millisecond before.
    let (after, after_job) = (Timestamp(from.0.saturating_sub(1)), JobId(Uuid::max()));
    let found = store.completed_between(lifecycle.clone(), after, after_job, to, limit).await?;
    Ok(found.into_iter().map(|CompletedJob { id, .. }| id).collect())
}
