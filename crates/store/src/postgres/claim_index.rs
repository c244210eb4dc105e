//! Where claims search. The ready jobs of one queue, type and priority form a *slot*, in claim order.
//!
//! A node caches the existing slots and the position of the first job in each, so that a claim does not scan index entries of
//! claimed jobs, which a backup or another long transaction keeps visible. The cache is only an optimisation: it expires every
//! second, and a claim that finds too few jobs searches again without it. When reading the slots is slow, both happen less
//! often.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio_postgres::Row;
use uuid::Uuid;

use super::rows::decoded;
use crate::Result;
use crate::prelude::*;
use crate::row::Int4;

/// Lifetime of the cache.
const CACHE_LIFETIME: Duration = Duration::from_secs(1);
/// A full search that takes no longer than this is always allowed.
const FAST_SEARCH: Duration = Duration::from_millis(5);
/// Slow full searches use at most one part in this many of the time.
const SLOW_SEARCH_SHARE: u32 = 20;
/// Slots that a claim searches before it searches all of them; more if the last of them have the same priority.
pub(super) const SLOTS_AT_FIRST: usize = 64;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ClaimSlot {
    pub(super) queue: QueueName,
    pub(super) job_type: TypeName,
    pub(super) priority: i32,
}

/// A position in a slot: `run_at` and id of the last claimed job.
pub(super) type SlotPosition = (i64, Uuid);

/// The position before all jobs of a `run_at`.
fn before(run_at: i64) -> SlotPosition {
    (run_at.saturating_sub(1), Uuid::max())
}

/// The slots that a node knows.
#[derive(Debug, Default)]
pub(super) struct ClaimIndex(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    positions: BTreeMap<ClaimSlot, SlotPosition>,
    read_at: Option<Instant>,
    /// Duration of the last read.
    took: Duration,
}

impl ClaimIndex {
    /// Whether the cache has expired.
    pub(super) fn are_stale(&self) -> bool {
        let known = self.known();
        known.read_at.is_none_or(|at| at.elapsed() > CACHE_LIFETIME.max(known.took * SLOW_SEARCH_SHARE))
    }

    /// Whether a claim that found too few jobs may search all slots from the start.
    pub(super) fn may_be_searched(&self) -> bool {
        let known = self.known();
        known.took <= FAST_SEARCH
            || known.read_at.is_none_or(|at| at.elapsed() > known.took * SLOW_SEARCH_SHARE)
    }

    /// Replaces the cache by the rows of `claim_index.sql`.
    pub(super) fn renew(&self, rows: &[Row], asked_at: Instant) -> Result<()> {
        let slots = decoded(rows, |row| {
            let (queue, job_type) = (row.name()?, row.name()?);
            let slot = ClaimSlot { queue, job_type, priority: row.get::<Int4>()?.0 as i32 };
            Ok((slot, before(row.get()?)))
        })?;
        let positions = slots.into_iter().collect();
        *self.known() = Known { positions, read_at: Some(Instant::now()), took: asked_at.elapsed() };
        Ok(())
    }

    /// The slots that a filter admits, highest priority first, each with its position: the first `at_first` and all others
    /// that have the same priority as the last of these. Jobs of other slots come after all jobs of these, so a claim that
    /// finds enough jobs here has found the best.
    pub(super) fn admitted(&self, filter: &ClaimFilter, at_first: usize) -> Vec<(ClaimSlot, SlotPosition)> {
        let known = self.known();
        let admitted = known.positions.iter().filter(|(slot, _)| filter.admits(&slot.queue, &slot.job_type));
        let mut found: Vec<_> = admitted.map(|(slot, position)| (slot.clone(), *position)).collect();
        drop(known);
        found.sort_by_key(|(slot, _)| std::cmp::Reverse(slot.priority));
        if let Some((last, _)) = found.get(at_first.saturating_sub(1)) {
            let lowest = last.priority;
            found.truncate(found.partition_point(|(slot, _)| slot.priority >= lowest));
        }
        found
    }

    /// Advances the position of a slot.
    pub(super) fn emptied(&self, slot: &ClaimSlot, upto: SlotPosition) {
        if let Some(position) = self.known().positions.get_mut(slot) {
            *position = upto.max(*position);
        }
    }

    /// Moves the position back so that a job that became ready is found.
    pub(super) fn put(&self, job: &Job) {
        let before = before(job.run_at.0);
        let mut known = self.known();
        let position = known.positions.entry(ClaimSlot::of(job)).or_insert(before);
        if self::position(job) <= *position {
            *position = before;
        }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ClaimSlot {
    pub(super) fn of(job: &Job) -> Self {
        let spec = &job.spec;
        Self { queue: spec.queue.clone(), job_type: spec.job_type.clone(), priority: job.priority() }
    }
}

/// The position of a job in its slot.
pub(super) fn position(job: &Job) -> SlotPosition {
    (job.run_at.0, job.id().0)
}

/// The position up to which all candidates of each slot were claimed.
pub(super) fn taken<'a>(candidates: impl Iterator<Item = &'a Job>) -> BTreeMap<ClaimSlot, SlotPosition> {
    let mut upto = BTreeMap::new();
    let mut left = std::collections::BTreeSet::new();
    for job in candidates {
        let slot = ClaimSlot::of(job);
        if job.phase == Phase::Ready {
            left.insert(slot);
        } else if !left.contains(&slot) {
            upto.insert(slot, position(job));
        }
    }
    upto
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tenure_core::id::JobId;
    use tenure_core::job::{LifecycleRef, Links, Spec};
    use tenure_core::json::Json;
    use tenure_core::time::Timestamp;

    use super::*;

    fn a_job(queue: &str, priority: i32, run_at: i64) -> Job {
        let spec = Spec {
            id: JobId::new(run_at as u64, 7),
            job_type: "t".into(),
            lifecycle: LifecycleRef { name: "l".into(), version: 1 },
            queue: queue.into(),
            user_id: None,
            priority,
            max_attempts: 1,
            cost: 0,
            payload: Json::null(),
            created_at: Timestamp(run_at),
            links: Links::default().shared(),
            flow: Arc::default(),
        };
        Job::blank(Arc::new(spec))
    }

    #[test]
    fn an_emptied_slot_is_searched_from_its_last_position() {
        let (claim_index, any) = (ClaimIndex::default(), ClaimFilter::default());
        let (first, second) = (a_job("q", 0, 10), a_job("q", 0, 20));
        claim_index.put(&first);
        claim_index.emptied(&ClaimSlot::of(&first), position(&first));
        claim_index.put(&second);
        assert_eq!(claim_index.admitted(&any, 9), [(ClaimSlot::of(&first), position(&first))]);
    }

    #[test]
    fn a_job_that_comes_back_before_that_is_not_overlooked() {
        let (claim_index, any) = (ClaimIndex::default(), ClaimFilter::default());
        let (first, second) = (a_job("q", 0, 10), a_job("q", 0, 20));
        claim_index.put(&second);
        claim_index.emptied(&ClaimSlot::of(&second), position(&second));
        claim_index.put(&first);
        assert_eq!(claim_index.admitted(&any, 9), [(ClaimSlot::of(&first), before(10))]);
    }

    #[test]
    fn the_highest_priority_comes_first_and_only_what_the_filter_admits() {
        let claim_index = ClaimIndex::default();
        for (queue, priority) in [("a", 1), ("b", 9), ("a", 5)] {
            claim_index.put(&a_job(queue, priority, 10));
        }
        let filter = ClaimFilter { types: None, queues: Some(vec!["a".into()]) };
        let priorities: Vec<i32> =
            claim_index.admitted(&filter, 9).iter().map(|(slot, _)| slot.priority).collect();
        assert_eq!(priorities, [5, 1]);
    }

    #[test]
    fn slots_of_equal_priority_are_searched_together() {
        let claim_index = ClaimIndex::default();
        for (queue, priority) in [("a", 9), ("b", 5), ("c", 5), ("d", 5), ("e", 1)] {
            claim_index.put(&a_job(queue, priority, 10));
        }
        let searched = |at_first| claim_index.admitted(&ClaimFilter::default(), at_first).len();
        assert_eq!([1, 2, 4, 5, 9].map(searched), [1, 4, 4, 5, 5]);
    }

    #[test]
    fn candidates_count_as_taken_up_to_the_first_that_is_left() {
        let mut jobs = [a_job("q", 0, 10), a_job("q", 0, 20), a_job("q", 0, 30)];
        jobs[0].phase = Phase::Held;
        jobs[2].phase = Phase::Held;
        assert_eq!(taken(jobs.iter()), BTreeMap::from([(ClaimSlot::of(&jobs[0]), position(&jobs[0]))]));
    }
}
