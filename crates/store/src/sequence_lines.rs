//! The unfinished jobs of each sequence, in order of creation. Only the first of them is offered to claims.

use std::collections::HashMap;

use tenure_core::flow::{FlowKeys, SequenceId};

use crate::prelude::*;
use crate::sorted::SortedVecs;

#[derive(Debug, Default)]
pub(crate) struct SequenceLines(HashMap<SequenceId, Line>);

#[derive(Debug, Default)]
struct Line {
    /// By place.
    jobs: SortedVecs<(u64, JobId)>,
    /// The job that is offered to claims.
    offered: Option<JobId>,
}

impl SequenceLines {
    pub(crate) fn join(&mut self, id: &SequenceId, place: u64, job: JobId) {
        self.0.entry(id.clone()).or_default().jobs.insert((place, job));
    }

    pub(crate) fn leave(&mut self, id: &SequenceId, place: u64, job: JobId) {
        let Some(line) = self.0.get_mut(id) else { return };
        line.jobs.remove(&(place, job));
        if line.jobs.is_empty() {
            self.0.remove(id);
        }
    }

    /// The first unfinished jobs.
    pub(crate) fn first(&self, id: &SequenceId, limit: usize) -> Vec<(u64, JobId)> {
        self.0.get(id).into_iter().flat_map(|line| line.jobs.iter()).take(limit).copied().collect()
    }

    pub(crate) fn ids(&self) -> impl Iterator<Item = &SequenceId> {
        self.0.keys()
    }

    /// The number of unfinished jobs before a place.
    pub(crate) fn before(&self, id: &SequenceId, place: u64) -> usize {
        self.0.get(id).map_or(0, |line| line.jobs.iter().take_while(|(other, _)| *other < place).count())
    }

    pub(crate) fn len(&self, id: &SequenceId) -> usize {
        self.0.get(id).map_or(0, |line| line.jobs.len())
    }

    /// Offers a job, or none, to claims; returns the one that was offered before.
    pub(crate) fn offer(&mut self, id: &SequenceId, job: Option<JobId>) -> Option<JobId> {
        let line = self.0.get_mut(id)?;
        std::mem::replace(&mut line.offered, job)
    }

    /// A job is no longer ready; returns whether it was offered to claims.
    pub(crate) fn withdraw(&mut self, job_type: &TypeName, flow: &FlowKeys, job: JobId) -> bool {
        let line = flow.sequence_of(job_type).and_then(|id| self.0.get_mut(&id));
        line.is_some_and(|line| line.offered.take_if(|offered| *offered == job).is_some())
    }
}
