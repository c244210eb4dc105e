//! Reads of unfinished jobs, from memory: gauges, counts, leased, waiting, due and ready jobs. None of them scans finished jobs, except
//! `counts`.

use std::collections::{BTreeMap, BTreeSet};

use super::follow::{self, Present};
use super::read::Reader;
use super::rows::{decoded, get, one};
use super::statements::{COUNTS, OPEN_DEAD_LETTERS};
use super::*;
use crate::live::Live;
use crate::pages::PageSize;

/// Rows of jobs that are read at once: each may have some mebibytes.
const PORTION_ROWS: usize = 50;

/// Jobs by their ids, each with the job if it is in memory completely.
type Found = Vec<(JobId, Option<Arc<Job>>)>;

impl Reader<'_> {
    /// Looks at the unfinished jobs of all nodes.
    async fn look<T>(&self, look: impl FnOnce(&mut Live, &Present) -> T) -> Result<T> {
        let present = follow::catch_up(self.node).await?;
        let mut memory = self.node.memory();
        let memory = memory.as_mut().expect("a memory that has caught up is there");
        Ok(look(&mut memory.live, &present))
    }

    pub(super) async fn counts(&self) -> Result<Vec<Count>> {
        let finished = decoded(&self.ask(&COUNTS, &[]).await?, records::count)?;
        let mut counts = self.look(|live, _| live.counts()).await?;
        counts.extend(finished);
        counts.sort();
        Ok(counts)
    }

    pub(super) async fn gauges(&self) -> Result<Gauges> {
        let letters = self.ask(&OPEN_DEAD_LETTERS, &[]).await?;
        let letters = one(&letters, &OPEN_DEAD_LETTERS)?;
        let (dead_letters, oldest) = (get::<i64>(letters, 0)? as u64, get::<Option<i64>>(letters, 1)?);
        let look = |live: &mut Live, present: &Present| {
            (live.counts(), live.oldest_ready(Timestamp(present.reading.at)))
        };
        let (jobs, oldest_ready) = self.look(look).await?;
        Ok(Gauges { jobs, oldest_ready, dead_letters, oldest_dead_letter: oldest.map(Timestamp) })
    }

    pub(super) async fn waiting(&self, after: Option<JobId>, limit: usize) -> Result<Vec<Arc<Job>>> {
        let found = self.look(|live, _| live.waiting(after, limit)).await?;
        self.completed(found).await
    }

    pub(super) async fn leased(
        &self,
        worker: Option<WorkerId>,
        after: Option<JobId>,
        limit: usize,
    ) -> Result<Vec<Arc<Job>>> {
        let found = self.look(|live, _| live.leased(worker.as_ref(), after, limit)).await?;
        self.completed(found).await
    }

    pub(super) async fn due(&self, limit: usize) -> Result<DueJobs> {
        self.look(|live, present| live.due(present.reading.now().running(), limit)).await
    }

    pub(super) async fn ready_jobs(&self, awaited: Vec<AwaitedJobs>, limit: usize) -> Result<Vec<ReadyJobs>> {
        let look = |live: &mut Live, present: &Present| {
            live.ready_jobs(&awaited, &present.paused, limit, Timestamp(present.reading.at))
        };
        self.look(look).await
    }

    pub(super) async fn resources(&self, filter: ResourceFilter) -> Result<Vec<ResourceReport>> {
        self.look(|live, present| live.resources(&filter, Timestamp(present.reading.at))).await
    }

    pub(super) async fn sequences(&self, filter: SequenceFilter) -> Result<Vec<SequenceReport>> {
        self.look(|live, _| live.sequences(&filter)).await
    }

    pub(super) async fn waits(&self, id: JobId) -> Result<Vec<WaitReport>> {
        let Some(job) = self.job(id).await? else { return Ok(Vec::new()) };
        self.look(|live, present| live.waits(&job, Timestamp(present.reading.at))).await
    }

    /// The first jobs, as many as a page may have. Reads those of which only the indexes are in memory. One that was deleted meanwhile is
    /// left out.
    async fn completed(&self, found: Found) -> Result<Vec<Arc<Job>>> {
        let known = |id: JobId| self.node.memory().as_ref().and_then(|memory| memory.get(id).cloned());
        let found: Found = found.into_iter().map(|(id, job)| (id, job.or_else(|| known(id)))).collect();
        let (mut size, mut jobs) = (PageSize::new(found.len()), Vec::new());
        for portion in found.chunks(PORTION_ROWS) {
            let missing: BTreeSet<JobId> =
                portion.iter().filter(|(_, job)| job.is_none()).map(|(id, _)| *id).collect();
            let mut rows: BTreeMap<JobId, Arc<Job>> = BTreeMap::new();
            if !missing.is_empty() {
                let mut connection = self.pool.get().await?;
                rows = follow::jobs(&connection, &missing).await?;
                connection.release();
            }
            for (id, job) in portion {
                let Some(job) = job.clone().or_else(|| rows.remove(id)) else { continue };
                if !size.take(job.bytes()) {
                    return Ok(jobs);
                }
                jobs.push(job);
            }
        }
        Ok(jobs)
    }
}
