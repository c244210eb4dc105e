//! The numbers of flow control in a batch, changed by its decisions.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::bucket::{Blocked, BucketUse, TokenLevel};
use super::keys::{BucketId, FlowKeys, ResourceUse, SequenceId};
use super::state::FlowState;
use crate::id::JobId;
use crate::job::Job;
use crate::time::Timestamp;

/// A job that a claim may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    pub id: JobId,
    /// The group in which it is claimed, if its type declares groups.
    pub group: Option<Group>,
}

/// A group among the candidates of a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group {
    /// The job after which it is named.
    pub first: JobId,
    /// The number of its jobs.
    pub size: usize,
    /// Whether its oldest job has waited as long as declared: then fewer of its jobs may be claimed.
    pub is_due: bool,
}

impl From<JobId> for Candidate {
    fn from(id: JobId) -> Self {
        Self { id, group: None }
    }
}

/// The state of flow control in a batch, changed by its decisions.
#[derive(Clone, Debug, Default)]
pub struct FlowView {
    pub state: Arc<FlowState>,
    /// The buckets that loaded and new jobs use. One that is missing is unused.
    pub buckets: BTreeMap<BucketId, BucketUse>,
    /// The first unfinished jobs of the sequences of loaded jobs, with their places: one more than jobs of the sequence are loaded.
    pub sequences: BTreeMap<SequenceId, Vec<(u64, JobId)>>,
    /// Buckets with unfinished jobs, in the whole store.
    pub buckets_in_use: usize,
    /// The end of the journal when the batch began: the place of a new job in its sequence follows from it.
    pub position: u64,
}

/// What a job adds to a bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Contribution {
    flow: Arc<FlowKeys>,
    is_leased: bool,
}

impl Contribution {
    /// `None` if the job uses no resources, has finished or does not exist yet.
    pub(crate) fn of(job: &Job) -> Option<Self> {
        if job.flow().resources.is_empty() || job.phase.is_final() || job.seq == 0 {
            return None;
        }
        Some(Self { flow: job.shared_flow(), is_leased: job.lease.is_some() })
    }
}

impl FlowView {
    pub fn bucket(&self, id: &BucketId) -> BucketUse {
        self.buckets.get(id).copied().unwrap_or_default()
    }

    /// The first demand of a job that cannot be met now, and why.
    pub(crate) fn blocked<'a>(
        &self,
        flow: &'a FlowKeys,
        now: Timestamp,
    ) -> Option<(&'a ResourceUse, Blocked)> {
        flow.resources.iter().find_map(|demand| {
            let bucket = self.bucket(&demand.bucket());
            self.state.blocked(demand, &bucket, now).map(|why| (demand, why))
        })
    }

    /// Whether the job is the first of its sequence, and the sequence is not halted.
    pub(crate) fn is_next(&self, id: JobId, sequence: &SequenceId) -> bool {
        !self.state.halts.contains_key(sequence) && self.is_first(id, sequence)
    }

    pub(crate) fn is_first(&self, id: JobId, sequence: &SequenceId) -> bool {
        let first = self.sequences.get(sequence).and_then(|jobs| jobs.first());
        first.is_none_or(|(_, first)| *first == id)
    }

    /// Whether jobs that are claimed together find room in every bucket.
    pub(crate) fn admits_together<'a>(
        &self,
        jobs: impl IntoIterator<Item = &'a FlowKeys>,
        now: Timestamp,
    ) -> bool {
        let mut units: BTreeMap<BucketId, u64> = BTreeMap::new();
        for demand in jobs.into_iter().flat_map(|flow| &flow.resources) {
            *units.entry(demand.bucket()).or_default() += demand.units;
        }
        units.into_iter().all(|(bucket, units)| {
            let used = self.bucket(&bucket);
            let demand = ResourceUse { resource: bucket.resource, key: bucket.key, units };
            self.state.blocked(&demand, &used, now).is_none()
        })
    }

    /// Removes a job from its sequence.
    pub(crate) fn leave(&mut self, id: JobId, sequence: &SequenceId) {
        if let Some(jobs) = self.sequences.get_mut(sequence) {
            jobs.retain(|(_, job)| *job != id);
        }
    }

    /// Takes the tokens of a job's demands; returns the levels that changed.
    pub(crate) fn take_tokens(&mut self, flow: &FlowKeys, now: Timestamp) -> Vec<(BucketId, TokenLevel)> {
        let mut levels = Vec::new();
        for demand in &flow.resources {
            let Some(rate) = self.state.limits(&demand.resource).rate else { continue };
            let bucket = self.buckets.entry(demand.bucket()).or_default();
            bucket.level = bucket.level.take(&rate, demand.units, now);
            levels.push((demand.bucket(), bucket.level));
        }
        levels
    }

    /// Replaces what a job added to its buckets.
    pub(crate) fn moved(&mut self, before: Option<Contribution>, after: Option<Contribution>) {
        if before == after {
            return;
        }
        for (contribution, adds) in [(before, false), (after, true)] {
            let Some(Contribution { flow, is_leased }) = contribution else { continue };
            for demand in &flow.resources {
                let bucket = self.buckets.entry(demand.bucket()).or_default();
                let units = if is_leased { demand.units } else { 0 };
                if adds {
                    bucket.running += units;
                    bucket.unfinished += 1;
                } else {
                    bucket.running = bucket.running.saturating_sub(units);
                    bucket.unfinished = bucket.unfinished.saturating_sub(1);
                }
            }
        }
    }
}
