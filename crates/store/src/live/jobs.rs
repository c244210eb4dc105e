//! Unfinished jobs in memory: complete up to limits of bytes, the others with the fields that indexes need.

use std::collections::HashMap;
use std::sync::Arc;

use tenure_core::flow::FlowKeys;

use super::{CountKey, count_key};
use crate::claim_index::ReadyEntry;
use crate::prelude::*;
use crate::sorted::{Sorted, SortedVecs};

/// Each unfinished job is in one of them.
#[derive(Debug, Default)]
pub(super) struct LiveJobs {
    pub(super) complete: HashMap<JobId, Arc<Job>>,
    pub(super) ready: SortedVecs<ReadyJob>,
    pub(super) busy: SortedVecs<BusyJob>,
}

/// As much as is here of an unfinished job.
#[derive(Clone, Copy, Debug)]
pub(super) enum LiveJob<'a> {
    Complete(&'a Arc<Job>),
    Ready(&'a ReadyJob),
    Busy(&'a BusyJob),
}

/// What the indexes need of a ready job.
#[derive(Clone, Debug)]
pub(crate) struct ReadyJob {
    pub(crate) id: JobId,
    pub(crate) key: Arc<CountKey>,
    pub(crate) priority: i32,
    pub(crate) run_at: Timestamp,
    pub(crate) clock: Option<Deadline>,
    /// Whether this is its first attempt.
    pub(crate) is_new: bool,
    pub(crate) flow: Arc<FlowKeys>,
}

/// What the indexes need of a job that is neither ready nor finished.
#[derive(Clone, Debug)]
pub(super) struct BusyJob {
    pub(super) id: JobId,
    pub(super) key: Arc<CountKey>,
    pub(super) clock: Option<Deadline>,
    /// The holder of its lease.
    pub(super) worker: Option<WorkerId>,
    pub(super) is_waiting: bool,
    pub(super) flow: Arc<FlowKeys>,
}

impl Sorted for ReadyJob {
    type Key = JobId;

    fn key(&self) -> JobId {
        self.id
    }
}

impl Sorted for BusyJob {
    type Key = JobId;

    fn key(&self) -> JobId {
        self.id
    }
}

impl LiveJobs {
    pub(super) fn find(&self, id: JobId) -> Option<LiveJob<'_>> {
        let indexed =
            || self.ready.get(&id).map(LiveJob::Ready).or_else(|| self.busy.get(&id).map(LiveJob::Busy));
        self.complete.get(&id).map(LiveJob::Complete).or_else(indexed)
    }

    pub(super) fn ids(&self) -> impl Iterator<Item = JobId> {
        let indexed = self.ready.iter().map(Sorted::key).chain(self.busy.iter().map(Sorted::key));
        self.complete.keys().copied().chain(indexed)
    }
}

impl BusyJob {
    pub(super) fn of(job: &Job) -> Self {
        Self {
            id: job.id(),
            key: Arc::new(count_key(job)),
            clock: job.next_clock(),
            worker: job.lease.as_ref().map(|lease| lease.worker.clone()),
            is_waiting: job.phase == Phase::Waiting,
            flow: job.shared_flow(),
        }
    }
}

impl ReadyJob {
    pub(super) fn of(job: &Job) -> Self {
        Self {
            id: job.id(),
            key: Arc::new(count_key(job)),
            priority: job.priority(),
            run_at: job.run_at,
            clock: job.next_clock(),
            is_new: job.attempt <= 1,
            flow: job.shared_flow(),
        }
    }

    pub(super) fn entry(&self) -> ReadyEntry {
        ReadyEntry {
            id: self.id,
            queue: self.key.queue.clone(),
            job_type: self.key.job_type.clone(),
            priority: self.priority,
            run_at: self.run_at,
            is_new: self.is_new,
            flow: Arc::clone(&self.flow),
        }
    }
}

impl LiveJob<'_> {
    pub(super) fn entry(self) -> ReadyEntry {
        match self {
            Self::Complete(job) => ReadyEntry {
                id: job.id(),
                queue: job.spec.queue.clone(),
                job_type: job.spec.job_type.clone(),
                priority: job.priority(),
                run_at: job.run_at,
                is_new: job.attempt <= 1,
                flow: job.shared_flow(),
            },
            Self::Ready(ready) => ready.entry(),
            Self::Busy(_) => unreachable!("only ready jobs can be claimed"),
        }
    }

    pub(super) fn is_ready(self) -> bool {
        match self {
            Self::Complete(job) => job.phase == Phase::Ready,
            Self::Ready(_) => true,
            Self::Busy(_) => false,
        }
    }
}
