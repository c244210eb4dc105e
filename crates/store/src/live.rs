//! Live jobs in memory, indexed for claims and sweeps: ready jobs in claim order, clocks by deadline. Counts are maintained
//! with each change. Finished jobs are not here, so they cannot slow claims.

use std::cmp::Reverse;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap};
use std::ops::Bound;
use std::sync::Arc;

use crate::prelude::*;
use crate::{Count, OldestReady};

/// Higher priority first, then earlier `run_at`, then earlier creation.
type Rank = (Reverse<i32>, Timestamp, JobId);

/// Live jobs and their indexes.
#[derive(Debug, Default)]
pub(crate) struct Live {
    jobs: HashMap<JobId, Arc<Job>>,
    /// Claimable jobs by queue and type.
    ready: BTreeMap<(QueueName, TypeName), BTreeSet<Rank>>,
    /// Ready jobs with a future `run_at`.
    later: BTreeSet<(Timestamp, JobId)>,
    clocks: BTreeSet<(Deadline, JobId)>,
    leased: BTreeSet<JobId>,
    waiting: BTreeSet<JobId>,
    counts: BTreeMap<CountKey, u64>,
}

/// Jobs are counted by lifecycle, type, queue and state.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CountKey {
    lifecycle: LifecycleName,
    job_type: TypeName,
    queue: QueueName,
    state: StateName,
}

impl Live {
    pub(crate) fn get(&self, id: JobId) -> Option<&Arc<Job>> {
        self.jobs.get(&id)
    }

    pub(crate) fn jobs(&self) -> impl Iterator<Item = &Arc<Job>> {
        self.jobs.values()
    }

    /// Inserts or replaces a job; a finished job is removed.
    pub(crate) fn put(&mut self, job: Arc<Job>) {
        self.remove(job.id());
        if job.phase.is_final() {
            return;
        }
        if job.phase == Phase::Ready {
            self.later.insert((job.run_at, job.id()));
        }
        if let Some(deadline) = job.next_clock() {
            self.clocks.insert((deadline, job.id()));
        }
        if job.lease.is_some() {
            self.leased.insert(job.id());
        }
        if job.phase == Phase::Waiting {
            self.waiting.insert(job.id());
        }
        *self.counts.entry(count_key(&job)).or_default() += 1;
        self.jobs.insert(job.id(), job);
    }

    pub(crate) fn remove(&mut self, id: JobId) {
        let Some(job) = self.jobs.remove(&id) else { return };
        if job.phase == Phase::Ready && !self.later.remove(&(job.run_at, id)) {
            let place = place(&job);
            let ranks = self.ready.get_mut(&place).expect("a ready job is in its place or later");
            ranks.remove(&rank(&job));
            if ranks.is_empty() {
                self.ready.remove(&place);
            }
        }
        if let Some(deadline) = job.next_clock() {
            self.clocks.remove(&(deadline, id));
        }
        if job.lease.is_some() {
            self.leased.remove(&id);
        }
        if job.phase == Phase::Waiting {
            self.waiting.remove(&id);
        }
        if let Entry::Occupied(mut count) = self.counts.entry(count_key(&job)) {
            *count.get_mut() -= 1;
            if *count.get() == 0 {
                count.remove();
            }
        }
    }

    /// Ready jobs that `filter` admits, in claim order, from queues that are not paused.
    pub(crate) fn claimable(
        &mut self,
        filter: &ClaimFilter,
        paused: &BTreeSet<QueueName>,
        max: usize,
        now: Timestamp,
    ) -> Vec<JobId> {
        self.promote_delayed(now);
        let admitted = |(queue, job_type): &(QueueName, TypeName)| {
            filter.admits(queue, job_type) && !paused.contains(queue)
        };
        let places = self.ready.iter().filter(|(place, _)| admitted(place));
        let mut heads = BinaryHeap::new();
        let mut rest: Vec<_> = places.map(|(_, ranks)| ranks.iter()).collect();
        for (place, ranks) in rest.iter_mut().enumerate() {
            heads.extend(ranks.next().map(|rank| Reverse((*rank, place))));
        }
        let mut found = Vec::new();
        while let Some(Reverse(((_, _, id), place))) = heads.pop().filter(|_| found.len() < max) {
            found.push(id);
            heads.extend(rest[place].next().map(|rank| Reverse((*rank, place))));
        }
        found
    }

    /// Moves jobs whose `run_at` has passed to the claimable ones.
    fn promote_delayed(&mut self, now: Timestamp) {
        while let Some(&(run_at, id)) = self.later.first().filter(|(run_at, _)| *run_at <= now) {
            self.later.remove(&(run_at, id));
            let job = &self.jobs[&id];
            self.ready.entry(place(job)).or_default().insert(rank(job));
        }
    }

    /// The earliest future `run_at`.
    pub(crate) fn next_run(&self, filter: &ClaimFilter, now: Timestamp) -> Option<Timestamp> {
        let admits = |id: &JobId| filter.admits(&self.jobs[id].spec.queue, &self.jobs[id].spec.job_type);
        let ahead = self.later.iter().skip_while(|(run_at, _)| *run_at <= now);
        ahead.filter(|(_, id)| admits(id)).map(|(run_at, _)| *run_at).next()
    }

    pub(crate) fn waiting(&self, limit: usize) -> Vec<Arc<Job>> {
        self.waiting.iter().take(limit).map(|id| Arc::clone(&self.jobs[id])).collect()
    }

    pub(crate) fn leased(&self, limit: usize) -> Vec<Arc<Job>> {
        self.leased.iter().take(limit).map(|id| Arc::clone(&self.jobs[id])).collect()
    }

    pub(crate) fn counts(&self) -> Vec<Count> {
        counts(self.counts.iter().map(|(key, count)| (key.clone(), *count)))
    }

    /// For each queue and type, the earliest past `run_at`: the minimum of the first job of each priority.
    pub(crate) fn oldest_ready(&mut self, now: Timestamp) -> Vec<OldestReady> {
        self.promote_delayed(now);
        let oldest = |ranks: &BTreeSet<Rank>| {
            let mut firsts = Vec::new();
            let mut next = ranks.first();
            while let Some(&(priority, run_at, _)) = next {
                firsts.push(run_at);
                let last = (priority, Timestamp(i64::MAX), JobId(uuid::Uuid::max()));
                next = ranks.range((Bound::Excluded(last), Bound::Unbounded)).next();
            }
            firsts.into_iter().min()
        };
        let of_place = |((queue, job_type), ranks): (&(QueueName, TypeName), &BTreeSet<Rank>)| {
            Some(OldestReady { queue: queue.clone(), job_type: job_type.clone(), since: oldest(ranks)? })
        };
        self.ready.iter().filter_map(of_place).collect()
    }

    /// Jobs with an overdue clock, most overdue first.
    pub(crate) fn due(&self, running: Deadline, limit: usize) -> Vec<JobId> {
        self.clocks
            .iter()
            .take_while(|(deadline, _)| *deadline <= running)
            .map(|(_, id)| *id)
            .take(limit)
            .collect()
    }
}

pub(crate) fn count_key(job: &Job) -> CountKey {
    let Spec { lifecycle, job_type, queue, .. } = &*job.spec;
    CountKey {
        lifecycle: lifecycle.name.clone(),
        job_type: job_type.clone(),
        queue: queue.clone(),
        state: job.state.clone(),
    }
}

pub(crate) fn counts(keys: impl Iterator<Item = (CountKey, u64)>) -> Vec<Count> {
    keys.map(|(CountKey { lifecycle, job_type, queue, state }, count)| Count {
        lifecycle,
        job_type,
        queue,
        state,
        count,
    })
    .collect()
}

fn place(job: &Job) -> (QueueName, TypeName) {
    (job.spec.queue.clone(), job.spec.job_type.clone())
}

fn rank(job: &Job) -> Rank {
    (Reverse(job.spec.priority), job.run_at, job.id())
}
