//! A job's history, read in pages that are limited in bytes: a job may have any number of events.

use tenure_core::fold::{self, Difference};
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

/// Folds a history page by page: the job after `until` transitions and amendments.
pub async fn fold(service: &Service, id: JobId, spec: Arc<Spec>, until: u32) -> Result<Job, FoldError> {
    let mut job = Job::blank(spec);
    while job.seq < until {
        let limit = PAGE_EVENTS.min((until - job.seq) as usize);
        let page = service.store().history_page(id, job.seq.into(), limit).await;
        let events = page.map_err(FoldError::Store)?.rows;
        for event in &events {
            fold::step(&mut job, event).map_err(FoldError::Damaged)?;
        }
        if events.is_empty() {
            break;
        }
    }
    Ok(job)
}
