//! Retention: deletes finished jobs that were kept long enough, and expired telemetry, keys and workers. Every node does so.

use std::collections::{BTreeMap, BTreeSet};

use tokio::time::Instant;
use uuid::Uuid;

use crate::prelude::*;
use crate::sweeper::envelope;
use crate::{Failure, Inner};

/// Finished jobs in one page.
const PURGE_JOBS_MAX: usize = 500;

/// Completion times are searched again for this long: a timeout dates the end of a job by its deadline, so a job may complete
/// at a time that was already searched.
const SEARCH_AGAIN: Millis = Millis::seconds(600);

/// Before every completed job.
const START: Timestamp = Timestamp(i64::MIN);

/// Where the search for jobs that completed some time ago continues, by lifecycle and that time.
pub(crate) type Searched = BTreeMap<(LifecycleName, Millis), Timestamp>;

/// How long each version of one lifecycle keeps its jobs.
type Retentions = BTreeMap<u32, Millis>;

impl Inner {
    /// Deletes finished jobs past their retention, and expired telemetry, keys and workers.
    pub(crate) async fn prune(&self, searched: &mut Searched) -> Result<(), Failure> {
        let erased = self.continue_erasures().await;
        let purged = self.purge_completed(searched).await;
        let pruned = self.delete_expired().await;
        erased.and(purged).and(pruned)
    }

    /// Deletes expired rows until none is left. Each command deletes a limited number, and the pause after it is as long as it
    /// took, so that other commands have at least half of the time.
    async fn delete_expired(&self) -> Result<(), Failure> {
        while self.store.has_expired().await? {
            let began = Instant::now();
            let is_pruned = self.submit(envelope(Command::Prune)).await?.is_ok();
            if !is_pruned || !self.pause(began.elapsed()).await {
                break;
            }
        }
        Ok(())
    }

    async fn purge_completed(&self, searched: &mut Searched) -> Result<(), Failure> {
        let now = self.store.now().await?.at;
        let mut lifecycles: BTreeMap<LifecycleName, Retentions> = BTreeMap::new();
        for lifecycle in self.active().catalog.lifecycles() {
            let versions = lifecycles.entry(lifecycle.name.clone()).or_default();
            versions.insert(lifecycle.version, lifecycle.retention.jobs);
        }
        for (lifecycle, versions) in lifecycles {
            let distinct: BTreeSet<Millis> = versions.values().copied().collect();
            for (shorter, kept) in distinct.into_iter().rev().enumerate() {
                let before = Timestamp(now.0.saturating_sub_unsigned(kept.0).saturating_add(1));
                let key = (lifecycle.clone(), kept);
                // Jobs that completed before the longest retention are all due. Among later ones there may be any number
                // that other versions keep, so these are not searched from the start each time.
                let known = searched.get(&key).filter(|_| shorter > 0);
                self.purge_between(&key, &versions, *known.unwrap_or(&START), before).await?;
                searched.insert(key, Timestamp(before.0.saturating_sub_unsigned(SEARCH_AGAIN.0)));
            }
        }
        Ok(())
    }

    /// Purges the jobs that completed between two times, except those of versions that keep jobs for longer. The pages
    /// continue after the jobs that are kept.
    async fn purge_between(
        &self,
        (lifecycle, kept): &(LifecycleName, Millis),
        versions: &Retentions,
        after: Timestamp,
        before: Timestamp,
    ) -> Result<(), Failure> {
        let mut after = (after, JobId(Uuid::nil()));
        while !*self.stopping.borrow() {
            let page =
                self.store.completed_between(lifecycle.clone(), after.0, after.1, before, PURGE_JOBS_MAX);
            let page = page.await?;
            let is_due = |version| versions.get(version).is_none_or(|own| own <= kept);
            let due = page.iter().filter(|job| is_due(&job.lifecycle_version));
            self.purge(due.map(|job| job.id)).await?;
            let Some(last) = page.last().filter(|_| page.len() == PURGE_JOBS_MAX) else { return Ok(()) };
            after = (last.completed_at, last.id);
        }
        Err(Failure::Stopped)
    }

    /// A refusal is no failure: another node has purged the job.
    async fn purge(&self, jobs: impl Iterator<Item = JobId>) -> Result<(), Failure> {
        let purged = self.submit_all(jobs.map(|id| envelope(Command::Purge(id))).collect()).await;
        purged.into_iter().try_for_each(|answer| answer.map(drop))
    }
}
