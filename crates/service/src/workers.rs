//! The roll of the workers: who was heard at any node, when, and what each holds.

use std::collections::BTreeMap;
use std::sync::Arc;

use tenure_core::id::Name;
use tenure_core::job::Job;
use tenure_core::time::Timestamp;
use tenure_stats::LEASES_MAX;
use tenure_store::Store as _;

use crate::problem::Problem;
use crate::service::Service;

/// A worker that was heard, or that holds something.
pub struct Worker {
    pub name: Name,
    /// When it was last heard, if it ever was here.
    pub seen_at: Option<Timestamp>,
    /// The jobs that it has leases of.
    pub holds: Vec<Arc<Job>>,
}

/// All of them, the last heard first.
pub async fn list(service: &Service) -> Result<Vec<Worker>, Problem> {
    let mut roll: BTreeMap<Name, (Option<Timestamp>, Vec<Arc<Job>>)> = BTreeMap::new();
    for job in service.store().leased(LEASES_MAX).await? {
        if let Some(lease) = &job.lease {
            roll.entry(lease.worker.clone()).or_default().1.push(Arc::clone(&job));
        }
    }
    let seen = service.store().workers().await?.into_iter().map(|worker| (worker.name, worker.seen_at));
    for (name, at) in seen.chain(service.worker_registry().all()) {
        let known = &mut roll.entry(name).or_default().0;
        *known = (*known).max(Some(at));
    }
    let workers = roll.into_iter().map(|(name, (seen_at, holds))| Worker { name, seen_at, holds });
    let mut workers: Vec<Worker> = workers.collect();
    workers.sort_by(|one, other| other.seen_at.cmp(&one.seen_at).then(one.name.cmp(&other.name)));
    Ok(workers)
}
