//! A job's history, read in pages that are limited in bytes: a job may have any number of events.

use tenure_core::fold::Difference;
use tenure_core::job::Spec;
use tenure_store::StoreError;

use crate::prelude::*;

/// Events per read of the store.
pub const PAGE_EVENTS: usize = 500;

/// Why there is no folded job.
#[derive(Debug)]
pub enum FoldError {
    Store(StoreError),
    Damaged(Difference),
}

/// Folds a history page by page: the job after `until` transitions. The checks are those of [`tenure_core::fold::fold`].
pub async fn fold(service: &Service, id: JobId, spec: Arc<Spec>, until: u32) -> Result<Job, FoldError> {
    let mut job = Job::blank(spec);
    let damaged = |law, what| FoldError::Damaged(Difference { job: Some(id), law, what });
    while job.seq < until {
        let limit = PAGE_EVENTS.min((until - job.seq) as usize);
        let page = service.store().history_page(id, job.seq.into(), limit).await;
        let events = page.map_err(FoldError::Store)?.rows;
        for event in &events {
            let seq = event.seq.unwrap_or_default();
            if seq != job.seq + 1 {
                return Err(damaged(5, format!("event {seq} follows event {}", job.seq)));
            }
            if event.facts.lease_end.is_some() && job.lease.is_none() {
                return Err(damaged(4, format!("event {seq} ends a lease that no worker holds")));
            }
            job.evolve(event);
        }
        if events.is_empty() {
            break;
        }
    }
    Ok(job)
}
