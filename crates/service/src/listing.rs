//! Listings of the jobs that a caller may see.

use tenure_store::{BoundedPage, NewestRows};

use crate::prelude::*;

/// A page of matching jobs that the caller may see, and the cursor of the next page.
pub async fn list(
    service: &Service,
    caller: &Caller,
    filter: JobFilter,
    rows: Page,
) -> Result<(Vec<Arc<Job>>, Option<JobId>)> {
    let BoundedPage { rows: jobs, has_more } = match leased(service, &filter, rows).await? {
        Some(page) => page,
        None => service.store().list_page(filter, rows).await?,
    };
    let next = has_more.then(|| jobs.last().map(|job| job.id())).flatten();
    let mut shown = Vec::with_capacity(jobs.len());
    for job in jobs {
        if service.may_see(caller, &job).await? {
            shown.push(job);
        }
    }
    Ok((shown, next))
}

/// Whether only leased jobs can match. There are few of them, however many are ready.
pub fn is_leased(filter: &JobFilter) -> bool {
    filter.phase.as_ref().is_some_and(|phase| *phase == "held" || *phase == "active")
}

/// Stores have leased jobs in memory, by worker; listing by filter would scan all ready jobs.
async fn leased(service: &Service, filter: &JobFilter, rows: Page) -> Result<Option<BoundedPage<Arc<Job>>>> {
    if !is_leased(filter) || filter.is_indexed() {
        return Ok(None);
    }
    let mut pages = match &filter.worker {
        Some(worker) => LeasePages::of(service.store(), worker.clone()),
        None => LeasePages::all(service.store()),
    };
    // The pages are in id order, and the newest jobs are listed first.
    let mut newest = NewestRows::new(rows.limit);
    while let Some(page) = pages.next().await? {
        let is_older = |job: &Arc<Job>| rows.before.is_none_or(|before| job.id() < before);
        for job in page.into_iter().filter(|job| is_older(job) && filter.admits(job)) {
            let bytes = job.bytes();
            newest.push(job, bytes);
        }
    }
    Ok(Some(newest.into_page()))
}
