//! The list of workers: when each was last seen by any node, and which jobs it holds.

use std::collections::BTreeMap;

use crate::prelude::*;

pub struct Worker {
    pub name: WorkerId,
    /// `None` for a worker that holds a job and was never seen here.
    pub seen_at: Option<Timestamp>,
    pub holds: Vec<Arc<Job>>,
}

/// All workers, the last seen first.
pub async fn list(service: &Service) -> Result<Vec<Worker>> {
    let mut workers: BTreeMap<WorkerId, Worker> = BTreeMap::new();
    let new = |name: WorkerId| move || Worker { name, seen_at: None, holds: Vec::new() };
    let mut pages = LeasePages::all(service.store());
    while let Some(page) = pages.next().await? {
        for job in page {
            let Some(name) = job.lease.as_ref().map(|lease| lease.worker.clone()) else { continue };
            workers.entry(name.clone()).or_insert_with(new(name)).holds.push(job);
        }
    }
    let stored = service.store().workers().await?.into_iter().map(|worker| (worker.name, worker.seen_at));
    for (name, at) in stored.chain(service.worker_registry().all()) {
        let worker = workers.entry(name.clone()).or_insert_with(new(name));
        worker.seen_at = worker.seen_at.max(Some(at));
    }
    let mut workers: Vec<Worker> = workers.into_values().collect();
    workers.sort_by(|one, other| other.seen_at.cmp(&one.seen_at).then_with(|| one.name.cmp(&other.name)));
    Ok(workers)
}
