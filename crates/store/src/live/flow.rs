//! What unfinished jobs mean for flow control: buckets, shares and sequences.

use std::sync::Arc;

use tenure_core::flow::{BucketId, FlowRecord, FlowState, FlowView, ResourceUse, SequenceId, TokenLevel};

use super::{BusyJob, FlowUse, Live, LiveJob, ReadyJob};
use crate::claim_index::ClaimIndex;
use crate::prelude::*;
use crate::sequence_lines::SequenceLines;

/// What flow control has to know of an unfinished job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tracked {
    id: JobId,
    used: FlowUse,
    sequence: Option<SequenceId>,
}

impl Live {
    pub(super) fn tracked_ready(&self, ready: &ReadyJob) -> Option<Tracked> {
        self.tracked(ready.id, &ready.key.queue, &ready.key.job_type, &ready.flow, false)
    }

    pub(super) fn tracked_busy(&self, busy: &BusyJob) -> Option<Tracked> {
        self.tracked(busy.id, &busy.key.queue, &busy.key.job_type, &busy.flow, busy.worker.is_some())
    }

    /// `None` for a job without flow control.
    fn tracked(
        &self,
        id: JobId,
        queue: &QueueName,
        job_type: &TypeName,
        flow: &Arc<tenure_core::flow::FlowKeys>,
        is_leased: bool,
    ) -> Option<Tracked> {
        let sequence = flow.sequence_of(job_type);
        if sequence.is_none() && !self.claims.uses.tracks(queue, flow) {
            return None;
        }
        let used = FlowUse { queue: queue.clone(), flow: Arc::clone(flow), is_leased };
        Some(Tracked { id, used, sequence })
    }

    /// A job has changed, begun or ended.
    pub(super) fn moved(&mut self, before: Option<Tracked>, after: Option<Tracked>) {
        if before.is_none() && after.is_none() {
            return;
        }
        self.claims.moved(before.as_ref().map(|it| &it.used), after.as_ref().map(|it| &it.used));
        let changed = [before.clone(), after.clone()];
        if let Some(Tracked { id, used, sequence: Some(sequence) }) = before {
            self.sequences.leave(&sequence, used.flow.place, id);
        }
        if let Some(Tracked { id, used, sequence: Some(sequence) }) = after {
            self.sequences.join(&sequence, used.flow.place, id);
        }
        for sequence in changed.into_iter().flatten().filter_map(|it| it.sequence) {
            self.refresh_sequence(&sequence);
        }
    }

    /// Offers the first job of a sequence to claims, if it is ready and the sequence is not halted.
    fn refresh_sequence(&mut self, sequence: &SequenceId) {
        let is_halted = self.claims.state().halts.contains_key(sequence);
        let first = self.sequences.first(sequence, 1).first().map(|(_, id)| *id);
        let ready = |id: &JobId| self.jobs.find(*id).is_some_and(LiveJob::is_ready);
        let next = first.filter(|id| !is_halted && ready(id));
        let before = self.sequences.offer(sequence, next);
        if before == next {
            return;
        }
        if let Some(job) = before.and_then(|id| self.jobs.find(id)).filter(|job| job.is_ready()) {
            self.claims.remove(&job.entry());
        }
        if let Some(job) = next.and_then(|id| self.jobs.find(id)) {
            self.claims.insert(&job.entry());
        }
    }

    pub(crate) fn flow_state(&self) -> &Arc<FlowState> {
        self.claims.state()
    }

    /// What a batch with these reads and jobs needs to know.
    pub(crate) fn flow_view(&self, reads: &Reads, set: &WorkingSet, position: u64) -> FlowView {
        let uses = &self.claims.uses;
        let mut view = FlowView {
            state: Arc::clone(&uses.state),
            buckets_in_use: uses.len(),
            position,
            ..FlowView::default()
        };
        for bucket in &reads.buckets {
            view.buckets.insert(bucket.clone(), uses.bucket(bucket));
        }
        let mut sequences = reads.sequences.clone();
        for job in set.jobs.values().filter(|job| !job.flow().is_empty()) {
            for bucket in job.flow().resources.iter().map(ResourceUse::bucket) {
                view.buckets.entry(bucket).or_insert_with_key(|bucket| uses.bucket(bucket));
            }
            sequences.extend(job.flow().sequence_of(&job.spec.job_type));
        }
        let limit = set.jobs.len() + 1;
        for sequence in sequences {
            let first = self.sequences.first(&sequence, limit);
            view.sequences.insert(sequence, first);
        }
        view
    }

    /// Applies the records of flow control that a batch has written.
    pub(crate) fn flow_committed(&mut self, set: &WorkingSet) {
        let records = &set.changes.upserted.flow;
        // Whether a bucket is full depends on its limits.
        if records.values().any(|record| !matches!(record, Some(FlowRecord::Level(..)))) {
            self.set_flow_state(Arc::clone(&set.flow.state));
        }
        for record in records.values() {
            if let Some(FlowRecord::Level(bucket, level, _)) = record {
                self.set_level(bucket, *level);
            }
        }
        if let Some(now) = set.changes.prune {
            self.claims.uses.prune(now);
        }
    }

    /// The stored records, when a store is opened.
    pub(crate) fn open_flow(&mut self, records: &[FlowRecord]) {
        let mut state = FlowState::default();
        for record in records {
            state.apply(&record.id(), Some(record));
        }
        // Whether a bucket is full depends on its limits.
        self.set_flow_state(Arc::new(state));
        for record in records {
            if let FlowRecord::Level(bucket, level, _) = record {
                self.set_level(bucket, *level);
            }
        }
    }

    pub(crate) fn set_level(&mut self, bucket: &BucketId, level: TokenLevel) {
        self.claims.uses.set_level(bucket, level);
    }

    /// Replaces declarations, overrides, pauses and halts.
    pub(crate) fn set_flow_state(&mut self, state: Arc<FlowState>) {
        let before = std::mem::replace(&mut self.claims.uses.state, Arc::clone(&state));
        if before.declarations != state.declarations {
            return self.index_again(state);
        }
        self.claims.open_gates(&before, &state);
        let halted = |a: &FlowState, b: &FlowState| -> Vec<SequenceId> {
            a.halts.keys().filter(|id| !b.halts.contains_key(*id)).cloned().collect()
        };
        for sequence in halted(&before, &state).into_iter().chain(halted(&state, &before)) {
            self.refresh_sequence(&sequence);
        }
    }

    /// Counts and indexes all jobs again, under other declarations.
    fn index_again(&mut self, state: Arc<FlowState>) {
        let levels = self.claims.uses.levels();
        self.claims = ClaimIndex::with_state(state);
        self.sequences = SequenceLines::default();
        for (bucket, level) in levels {
            self.set_level(&bucket, level);
        }
        let ids: Vec<JobId> = self.jobs.ids().collect();
        for id in ids {
            let Some(job) = self.jobs.find(id) else { continue };
            let tracked = match job {
                LiveJob::Complete(job) if job.phase == Phase::Ready => self.tracked_ready(&ReadyJob::of(job)),
                LiveJob::Complete(job) => self.tracked_busy(&BusyJob::of(job)),
                LiveJob::Ready(ready) => self.tracked_ready(ready),
                LiveJob::Busy(busy) => self.tracked_busy(busy),
            };
            if job.is_ready() && tracked.as_ref().is_none_or(|tracked| tracked.sequence.is_none()) {
                let entry = job.entry();
                self.claims.insert(&entry);
            }
            self.moved(None, tracked);
        }
    }
}
