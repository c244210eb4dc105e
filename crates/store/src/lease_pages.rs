//! Reads all leases, of all workers or of one, page by page.

use super::*;

/// Jobs in one page, if they have few bytes.
const PAGE_JOBS_MAX: usize = 500;

/// Pages of leased jobs in id order, each with at most [`limits::PAGE_BYTES_MAX`], or one job. Each page is current when it is
/// read: a lease that begins or ends between two pages may be missing or included.
#[derive(Debug)]
pub struct LeasePages<'a> {
    store: &'a Store,
    /// All workers if `None`.
    worker: Option<WorkerId>,
    after: Option<JobId>,
    is_last: bool,
}

impl<'a> LeasePages<'a> {
    pub fn all(store: &'a Store) -> Self {
        Self { store, worker: None, after: None, is_last: false }
    }

    /// The leases of one worker.
    pub fn of(store: &'a Store, worker: WorkerId) -> Self {
        Self { worker: Some(worker), ..Self::all(store) }
    }

    /// The next page; `None` after the last.
    pub async fn next(&mut self) -> Result<Option<Vec<Arc<Job>>>> {
        if self.is_last {
            return Ok(None);
        }
        let page = self.store.leased(self.worker.clone(), self.after, PAGE_JOBS_MAX).await?;
        self.is_last = page.is_empty();
        self.after = page.last().map(|job| job.id());
        Ok(Some(page).filter(|page| !page.is_empty()))
    }
}
