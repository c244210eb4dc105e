//! The unfinished jobs of all nodes, in the memory of one node, as of a position of the journal.
//!
//! `job_states` follows: it has a finished job from the commit that ended it, and an unfinished one some seconds after its last
//! change. Jobs whose rows are missing or older are kept here completely. The fold of the journal after the saved position gives
//! them again when a node starts.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tenure_core::fold;
use tenure_core::working_set::JobChanges;

use super::tail::{JournalTail, TailEntry, TailRecord};
use crate::live::Live;
use crate::prelude::*;

/// A job is saved when it has been unfinished for this long since its first unsaved change. Most jobs end sooner.
const SAVE_AFTER: Duration = Duration::from_secs(5);
/// Beyond this many bytes of unsaved jobs, or this part of the memory of the process, they are saved at once, and as many as are beyond it.
const UNSAVED_BYTES_MAX: usize = 64 << 20;
const UNSAVED_SHARE: usize = 8;
/// How many jobs beyond that a commit saves at most: more than a batch has commands.
const EXCESS_JOBS_MAX: usize = 4096;
/// How often the saved position is written if no job is saved.
const POSITION_EVERY: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct JobMemory {
    /// The last position of the journal that is applied.
    pub(super) position: i64,
    /// The last record that is applied, with its job; `None` if the journal has none.
    pub(super) last: Option<(i64, JobId)>,
    pub(super) live: Live,
    /// The version of the records of flow control that are applied.
    pub(super) flow: i64,
    unsaved: Unsaved,
    unsaved_bytes_max: usize,
    /// When the saved position was last written by this node.
    position_saved: Instant,
}

/// How much of the journal a memory has. Read before a snapshot begins, so that the snapshot has all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Followed {
    pub(super) position: i64,
    pub(super) last: Option<(i64, JobId)>,
}

/// Jobs that a commit saves besides its own changes, and the position that is saved after it.
#[derive(Debug, Default)]
pub(super) struct Saving {
    pub(super) jobs: Vec<Arc<Job>>,
    pub(super) position: Option<i64>,
}

/// Which unsaved jobs a commit saves.
#[derive(Clone, Copy, Debug)]
pub(super) struct SaveLimit {
    /// Also those that have changed a moment ago.
    pub(super) all: bool,
    pub(super) jobs_max: usize,
}

impl JobMemory {
    pub(super) fn new(position: i64) -> Self {
        Self {
            position,
            last: None,
            live: Live::bounded(),
            unsaved_bytes_max: UNSAVED_BYTES_MAX,
            flow: 0,
            unsaved: Unsaved::default(),
            position_saved: Instant::now(),
        }
    }

    pub(super) fn limit_memory(&mut self, process_bytes: usize) {
        self.live.limit_memory(process_bytes);
        self.unsaved_bytes_max = UNSAVED_BYTES_MAX.min(process_bytes / UNSAVED_SHARE);
    }

    pub(super) fn followed(&self) -> Followed {
        Followed { position: self.position, last: self.last }
    }

    /// An unfinished job that is here completely.
    pub(super) fn get(&self, id: JobId) -> Option<&Arc<Job>> {
        self.unsaved.jobs.get(&id).map(|unsaved| &unsaved.job).or_else(|| self.live.get(id))
    }

    /// The jobs whose rows must be read before records of the journal can be applied to them.
    pub(super) fn only_indexed(&self, tail: &JournalTail) -> BTreeSet<JobId> {
        tail.jobs().filter(|id| self.live.contains(*id) && self.get(*id).is_none()).collect()
    }

    /// Applies the next records of the journal. Those that are already applied are skipped. Returns whether there are more.
    pub(super) fn apply(&mut self, tail: JournalTail) -> bool {
        for TailRecord { position, entry } in tail.records {
            if position > self.position {
                self.last = Some((position, entry.job()));
                match entry {
                    TailEntry::Event(event, spec) => self.fold(position, &event, spec),
                    TailEntry::Change(change) => match change.held {
                        Some(held) => self.change(position, change.job_id, |job| held.set(job)),
                        None => self.remove(change.job_id),
                    },
                    TailEntry::Unreadable(job) => self.remove(job),
                }
                self.position = position;
            }
        }
        tail.is_cut
    }

    fn fold(&mut self, position: i64, event: &Event, spec: Option<Arc<Spec>>) {
        for (bucket, level) in &event.facts.levels {
            self.live.set_level(bucket, *level);
        }
        let Some(seq) = event.seq else { return };
        let known = self.get(event.job_id).map(|job| Job::clone(job));
        // An event of a job that is neither here nor new: the job is finished.
        let Some(mut job) = known.or_else(|| spec.map(Job::blank)) else { return };
        if seq <= job.seq {
            return;
        }
        if let Err(difference) = fold::step(&mut job, event) {
            tracing::error!(job = %event.job_id, %difference, "job removed from memory; history broken");
            return self.remove(event.job_id);
        }
        self.keep(position, Arc::new(job));
    }

    fn change(&mut self, position: i64, id: JobId, change: impl FnOnce(&mut Job)) {
        let Some(mut job) = self.get(id).map(|job| Job::clone(job)) else { return };
        change(&mut job);
        self.keep(position, Arc::new(job));
    }

    fn keep(&mut self, position: i64, job: Arc<Job>) {
        if job.phase.is_final() {
            return self.remove(job.id());
        }
        self.live.put(Arc::clone(&job));
        self.unsaved.put(position, job);
    }

    fn remove(&mut self, id: JobId) {
        self.live.remove(id);
        self.unsaved.remove(id);
    }

    /// Completes a job from its row. It stays complete, whatever the limits of bytes are, until it is saved again.
    pub(super) fn put_complete(&mut self, job: Arc<Job>) {
        self.keep(self.position + 1, job);
    }

    /// A job that cannot be read is not claimed again before this node restarts.
    pub(super) fn exclude(&mut self, id: JobId) {
        self.live.remove(id);
    }

    /// Applies a commit of this node, which began at `began` and whose last record is `end`.
    pub(super) fn committed(&mut self, set: &WorkingSet, began: i64, (end, job): (i64, JobId)) {
        // A read may have followed the journal past this commit already, or replaced this memory by one that has to follow first.
        if self.position == began {
            self.last = Some((end, job));
            self.live.flow_committed(set);
            let JobChanges { created, updated, purged } = &set.changes.jobs;
            for id in created.iter().chain(updated) {
                self.keep(began + 1, Arc::clone(&set.jobs[id]));
                self.unsaved.touch(*id, end);
            }
            for id in purged {
                self.remove(*id);
            }
            self.position = end;
        }
    }

    /// What the next commit saves. `changed` are the jobs that it changes anyway.
    pub(super) fn saving(&self, limit: SaveLimit, changed: &JobChanges) -> Saving {
        let is_changed = |id: &JobId| changed.updated.contains(id) || changed.purged.contains(id);
        let order = self.unsaved.order.iter().filter(|(_, id)| !is_changed(id));
        // Batches can add jobs faster than they save them otherwise.
        let mut excess = self.unsaved.bytes.saturating_sub(self.unsaved_bytes_max);
        let mut jobs: Vec<Arc<Job>> = Vec::new();
        for unsaved in order.map(|(_, id)| &self.unsaved.jobs[id]) {
            let is_wanted = limit.all || unsaved.at.elapsed() >= SAVE_AFTER;
            let is_excess = excess > 0 && jobs.len() < EXCESS_JOBS_MAX;
            if !is_excess && (!is_wanted || jobs.len() >= limit.jobs_max) {
                break;
            }
            excess = excess.saturating_sub(unsaved.job.bytes());
            jobs.push(Arc::clone(&unsaved.job));
        }
        if jobs.is_empty() && self.position_saved.elapsed() < POSITION_EVERY {
            return Saving::default();
        }
        let saved: BTreeSet<JobId> = jobs.iter().map(|job| job.id()).collect();
        let first = self.unsaved.order.iter().find(|(_, id)| !saved.contains(id));
        let position = first.map_or(self.position, |(since, _)| since - 1);
        Saving { jobs, position: Some(position) }
    }

    /// The rows of these jobs are as of `began`.
    pub(super) fn saved(&mut self, saving: &Saving, began: i64) {
        for job in &saving.jobs {
            self.unsaved.saved(job.id(), began);
        }
        if saving.position.is_some() {
            self.position_saved = Instant::now();
        }
    }

    /// Every row is as of `position` or later: this or another node has saved it.
    pub(super) fn saved_until(&mut self, position: i64) {
        while let Some((_, id)) = self.unsaved.order.first().copied().filter(|(since, _)| *since <= position)
        {
            self.unsaved.saved(id, position);
        }
    }

    /// Whether jobs have to be saved.
    pub(super) fn has_stale(&self) -> bool {
        !self.unsaved.jobs.is_empty()
            && !self.saving(SaveLimit { all: false, jobs_max: 1 }, &JobChanges::default()).jobs.is_empty()
    }

    /// Whether a job with a change up to `position` is not saved.
    pub(super) fn has_unsaved(&self, position: i64) -> bool {
        self.unsaved.order.first().is_some_and(|(since, _)| *since <= position)
    }
}

/// Unfinished jobs whose rows are missing or older.
#[derive(Debug, Default)]
struct Unsaved {
    jobs: HashMap<JobId, UnsavedJob>,
    /// By the position of the first unsaved change.
    order: BTreeSet<(i64, JobId)>,
    bytes: usize,
}

#[derive(Debug)]
struct UnsavedJob {
    job: Arc<Job>,
    /// Positions of its first and its last unsaved change.
    since: i64,
    last: i64,
    /// When the first became known here.
    at: Instant,
}

impl Unsaved {
    fn put(&mut self, position: i64, job: Arc<Job>) {
        let (id, bytes) = (job.id(), job.bytes());
        let earlier = self.take(id);
        let (since, at) = earlier.map_or_else(|| (position, Instant::now()), |job| (job.since, job.at));
        self.bytes += bytes;
        self.order.insert((since, id));
        self.jobs.insert(id, UnsavedJob { job, since, last: position, at });
    }

    /// Its last change may be as late as `position`.
    fn touch(&mut self, id: JobId, position: i64) {
        if let Some(unsaved) = self.jobs.get_mut(&id) {
            unsaved.last = position;
        }
    }

    fn take(&mut self, id: JobId) -> Option<UnsavedJob> {
        let unsaved = self.jobs.remove(&id)?;
        self.order.remove(&(unsaved.since, id));
        self.bytes -= unsaved.job.bytes();
        Some(unsaved)
    }

    fn remove(&mut self, id: JobId) {
        self.take(id);
    }

    /// The row of the job has its changes up to `position`.
    fn saved(&mut self, id: JobId, position: i64) {
        let Some(unsaved) = self.take(id).filter(|unsaved| unsaved.last > position) else { return };
        let UnsavedJob { job, last, .. } = unsaved;
        self.put(position + 1, job);
        self.touch(id, last);
    }
}
