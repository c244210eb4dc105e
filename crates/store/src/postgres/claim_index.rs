//! Where claims look. Ready jobs of one queue, type and priority are a *shelf*, in the order in which they are taken.
//!
//! A node remembers which claim_index there are and how far it has emptied each, so that a claim does not walk over the
//! index entries of jobs that are gone. What it remembers is only a short cut: it is forgotten every second, and a claim
//! that finds too little looks again without it. Where that takes long, because a backup or another long transaction
//! keeps the entries of all the jobs that went meanwhile, both happen less often.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tenure_core::command::ClaimFilter;
use tenure_core::id::{QueueName, TypeName};
use tenure_core::job::Job;
use tenure_core::lifecycle::Phase;
use tokio_postgres::Row;
use uuid::Uuid;

use super::rows::{get, text};
use crate::StoreError;

/// How long places are remembered.
const REMEMBERED: Duration = Duration::from_secs(1);
/// A look that takes no longer than this is always worth it.
const CHEAP: Duration = Duration::from_millis(5);
/// Dear looks take at most one part in this many of the time.
const DEAR_SHARE: u32 = 20;
/// How many claim_index a claim looks at before it looks at all.
pub(super) const LOOKED_AT_FIRST: usize = 64;

/// Queue, type, priority.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ClaimSlot {
    pub(super) queue: QueueName,
    pub(super) job_type: TypeName,
    pub(super) priority: i32,
}

/// A place on a shelf: `run_at` and id of the last job that was taken.
pub(super) type Place = (i64, Uuid);

/// Before every job.
const START: Place = (i64::MIN, Uuid::nil());

/// The claim_index that a node knows.
#[derive(Debug, Default)]
pub(super) struct ClaimIndex(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    places: BTreeMap<ClaimSlot, Place>,
    read_at: Option<Instant>,
    /// How long reading them took.
    took: Duration,
}

impl ClaimIndex {
    /// Whether they must be read before anyone claims.
    pub(super) fn are_stale(&self) -> bool {
        let known = self.known();
        known.read_at.is_none_or(|at| at.elapsed() > REMEMBERED.max(known.took * DEAR_SHARE))
    }

    /// Whether a claim that found too little may look at all of them from the start.
    pub(super) fn may_be_searched(&self) -> bool {
        let known = self.known();
        known.took <= CHEAP || known.read_at.is_none_or(|at| at.elapsed() > known.took * DEAR_SHARE)
    }

    /// Takes the rows of `claim_index.sql`, which was asked at a time.
    pub(super) fn renew(&self, rows: &[Row], asked_at: Instant) -> Result<(), StoreError> {
        let mut places = BTreeMap::new();
        for row in rows {
            let slot = ClaimSlot { queue: text(row, 0)?, job_type: text(row, 1)?, priority: get(row, 2)? };
            places.insert(slot, START);
        }
        *self.known() = Known { places, read_at: Some(Instant::now()), took: asked_at.elapsed() };
        Ok(())
    }

    /// The first claim_index that a filter admits, highest priority first, and from where on to look.
    pub(super) fn admitted(&self, filter: &ClaimFilter, max: usize) -> Vec<(ClaimSlot, Place)> {
        let known = self.known();
        let admitted = known.places.iter().filter(|(shelf, _)| filter.admits(&shelf.queue, &shelf.job_type));
        let mut found: Vec<_> = admitted.map(|(shelf, place)| (shelf.clone(), *place)).collect();
        drop(known);
        found.sort_by_key(|(shelf, _)| std::cmp::Reverse(shelf.priority));
        found.truncate(max);
        found
    }

    /// Jobs of a shelf were taken, up to this one.
    pub(super) fn emptied(&self, shelf: &ClaimSlot, upto: Place) {
        if let Some(place) = self.known().places.get_mut(shelf) {
            *place = upto.max(*place);
        }
    }

    /// A job is on a shelf now: it must not be overlooked.
    pub(super) fn put(&self, job: &Job) {
        let (shelf, at) = (ClaimSlot::of(job), place(job));
        let mut known = self.known();
        let place = known.places.entry(shelf).or_insert(START);
        if at <= *place {
            *place = START;
        }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ClaimSlot {
    pub(super) fn of(job: &Job) -> Self {
        let spec = &job.spec;
        Self { queue: spec.queue.clone(), job_type: spec.job_type.clone(), priority: spec.priority }
    }
}

/// Where a job is on its shelf.
pub(super) fn place(job: &Job) -> Place {
    (job.run_at.0, job.id().0)
}

/// How far candidates were taken from each shelf: up to the first that is still there.
pub(super) fn taken<'a>(candidates: impl Iterator<Item = &'a Job>) -> BTreeMap<ClaimSlot, Place> {
    let mut upto = BTreeMap::new();
    let mut left = std::collections::BTreeSet::new();
    for job in candidates {
        let shelf = ClaimSlot::of(job);
        if job.phase == Phase::Ready {
            left.insert(shelf);
        } else if !left.contains(&shelf) {
            upto.insert(shelf, place(job));
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
        };
        Job::blank(Arc::new(spec))
    }

    #[test]
    fn an_emptied_shelf_is_looked_at_from_where_it_was_left() {
        let (claim_index, any) = (ClaimIndex::default(), ClaimFilter::default());
        let (first, second) = (a_job("q", 0, 10), a_job("q", 0, 20));
        claim_index.put(&first);
        claim_index.emptied(&ClaimSlot::of(&first), place(&first));
        claim_index.put(&second);
        assert_eq!(claim_index.admitted(&any, 9), [(ClaimSlot::of(&first), place(&first))]);
    }

    #[test]
    fn a_job_that_comes_back_before_that_is_not_overlooked() {
        let (claim_index, any) = (ClaimIndex::default(), ClaimFilter::default());
        let (first, second) = (a_job("q", 0, 10), a_job("q", 0, 20));
        claim_index.put(&second);
        claim_index.emptied(&ClaimSlot::of(&second), place(&second));
        claim_index.put(&first);
        assert_eq!(claim_index.admitted(&any, 9), [(ClaimSlot::of(&first), START)]);
    }

    #[test]
    fn the_highest_priority_comes_first_and_only_what_the_filter_admits() {
        let claim_index = ClaimIndex::default();
        for (queue, priority) in [("a", 1), ("b", 9), ("a", 5)] {
            claim_index.put(&a_job(queue, priority, 10));
        }
        let filter = ClaimFilter { types: None, queues: Some(vec!["a".into()]) };
        let priorities: Vec<i32> =
            claim_index.admitted(&filter, 9).iter().map(|(shelf, _)| shelf.priority).collect();
        assert_eq!(priorities, [5, 1]);
    }

    #[test]
    fn candidates_count_as_taken_up_to_the_first_that_is_left() {
        let mut jobs = [a_job("q", 0, 10), a_job("q", 0, 20), a_job("q", 0, 30)];
        jobs[0].phase = Phase::Held;
        jobs[2].phase = Phase::Held;
        assert_eq!(taken(jobs.iter()), BTreeMap::from([(ClaimSlot::of(&jobs[0]), place(&jobs[0]))]));
    }
}
