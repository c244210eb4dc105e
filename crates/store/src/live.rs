//! Live jobs in memory, indexed for claims and sweeps: ready jobs in claim order, clocks by deadline. Counts are maintained
//! with each change. Finished jobs are not here, so they cannot slow claims.
//!
//! Only jobs that fit into a limit of bytes are kept completely, with one limit for ready jobs and one for the others. Of jobs
//! beyond it the indexes have what claims, sweeps and listings need, and the store reads them when they are used. Jobs
//! become ready at the end of their queue, so the complete ones are mostly those that are claimed next.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap};
use std::ops::Bound;
use std::sync::Arc;

use crate::prelude::*;
use crate::{Count, OldestReady, ReadyJobs};

/// Higher priority first, then earlier `run_at`, then earlier creation.
type Rank = (Reverse<i32>, Timestamp, JobId);

/// Ready jobs are indexed by queue and type.
type Place = (QueueName, TypeName);

/// Live jobs and their indexes.
#[derive(Debug)]
pub(crate) struct Live {
    jobs: HashMap<JobId, LiveJob>,
    /// Bytes of the ready jobs that are complete, about.
    ready_bytes: usize,
    ready_bytes_max: usize,
    /// Bytes of the other jobs that are complete, about.
    busy_bytes: usize,
    busy_bytes_max: usize,
    /// Claimable jobs.
    ready: BTreeMap<Place, BTreeSet<Rank>>,
    /// Ready jobs with a future `run_at`.
    later: BTreeMap<Place, BTreeSet<(Timestamp, JobId)>>,
    clocks: BTreeSet<(Deadline, JobId)>,
    leased: BTreeSet<JobId>,
    leased_by: HashMap<WorkerId, BTreeSet<JobId>>,
    waiting: BTreeSet<JobId>,
    counts: BTreeMap<Arc<CountKey>, u64>,
}

#[derive(Debug)]
enum LiveJob {
    Complete(Arc<Job>),
    Indexed(ReadyJob),
    IndexedBusy(BusyJob),
}

/// What the indexes need of a job that is neither ready nor finished.
#[derive(Clone, Debug)]
struct BusyJob {
    key: Arc<CountKey>,
    clock: Option<Deadline>,
    /// The holder of its lease.
    worker: Option<WorkerId>,
    is_waiting: bool,
}

/// What the indexes need of a ready job.
#[derive(Clone, Debug)]
pub(crate) struct ReadyJob {
    pub(crate) id: JobId,
    pub(crate) key: Arc<CountKey>,
    pub(crate) priority: i32,
    pub(crate) run_at: Timestamp,
    pub(crate) clock: Option<Deadline>,
}

/// Jobs are counted by lifecycle, type, queue and state.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CountKey {
    pub(crate) lifecycle: LifecycleName,
    pub(crate) job_type: TypeName,
    pub(crate) queue: QueueName,
    pub(crate) state: StateName,
}

impl Default for Live {
    /// Keeps every job completely.
    fn default() -> Self {
        Self::with_bytes_max(usize::MAX, usize::MAX)
    }
}

impl Live {
    pub(crate) fn with_bytes_max(ready_bytes_max: usize, busy_bytes_max: usize) -> Self {
        Self {
            jobs: HashMap::new(),
            ready_bytes: 0,
            ready_bytes_max,
            busy_bytes: 0,
            busy_bytes_max,
            ready: BTreeMap::new(),
            later: BTreeMap::new(),
            clocks: BTreeSet::new(),
            leased: BTreeSet::new(),
            leased_by: HashMap::new(),
            waiting: BTreeSet::new(),
            counts: BTreeMap::new(),
        }
    }

    /// A job that is here completely.
    pub(crate) fn get(&self, id: JobId) -> Option<&Arc<Job>> {
        match self.jobs.get(&id)? {
            LiveJob::Complete(job) => Some(job),
            LiveJob::Indexed(_) | LiveJob::IndexedBusy(_) => None,
        }
    }

    /// The jobs that are here completely.
    pub(crate) fn jobs(&self) -> impl Iterator<Item = &Arc<Job>> {
        self.jobs.values().filter_map(|job| match job {
            LiveJob::Complete(job) => Some(job),
            LiveJob::Indexed(_) | LiveJob::IndexedBusy(_) => None,
        })
    }

    /// Inserts or replaces a job; a finished job is removed.
    pub(crate) fn put(&mut self, job: Arc<Job>) {
        self.remove(job.id());
        if job.phase.is_final() {
            return;
        }
        let bytes = job.bytes();
        if job.phase == Phase::Ready {
            let ready = ReadyJob::of(&job);
            if self.ready_bytes_max - self.ready_bytes < bytes {
                return self.put_ready(ready);
            }
            self.ready_bytes += bytes;
            self.index(&ready);
        } else {
            let mut busy = BusyJob::of(&job);
            busy.key = self.shared(busy.key);
            self.index_busy(job.id(), &busy);
            if self.busy_bytes_max - self.busy_bytes < bytes {
                self.jobs.insert(job.id(), LiveJob::IndexedBusy(busy));
                return;
            }
            self.busy_bytes += bytes;
        }
        self.jobs.insert(job.id(), LiveJob::Complete(job));
    }

    /// Inserts a ready job that is not here yet, without its other fields.
    pub(crate) fn put_ready(&mut self, mut ready: ReadyJob) {
        ready.key = self.shared(ready.key);
        self.index(&ready);
        self.jobs.insert(ready.id, LiveJob::Indexed(ready));
    }

    /// The equal key that other jobs have, if there is one.
    fn shared(&self, key: Arc<CountKey>) -> Arc<CountKey> {
        self.counts.get_key_value(&key).map_or(key, |(known, _)| Arc::clone(known))
    }

    fn index(&mut self, ready: &ReadyJob) {
        if ready.run_at != Timestamp::NEVER {
            self.later.entry(ready.key.place()).or_default().insert((ready.run_at, ready.id));
        }
        self.clocks.extend(ready.clock.map(|deadline| (deadline, ready.id)));
        *self.counts.entry(Arc::clone(&ready.key)).or_default() += 1;
    }

    fn index_busy(&mut self, id: JobId, busy: &BusyJob) {
        self.clocks.extend(busy.clock.map(|deadline| (deadline, id)));
        if let Some(worker) = &busy.worker {
            self.leased.insert(id);
            self.leased_by.entry(worker.clone()).or_default().insert(id);
        }
        if busy.is_waiting {
            self.waiting.insert(id);
        }
        *self.counts.entry(Arc::clone(&busy.key)).or_default() += 1;
    }

    pub(crate) fn remove(&mut self, id: JobId) {
        match self.jobs.remove(&id) {
            Some(LiveJob::Complete(job)) if job.phase == Phase::Ready => {
                self.ready_bytes -= job.bytes();
                self.remove_ready(&ReadyJob::of(&job));
            }
            Some(LiveJob::Complete(job)) => {
                self.busy_bytes -= job.bytes();
                self.remove_busy(id, &BusyJob::of(&job));
            }
            Some(LiveJob::Indexed(ready)) => self.remove_ready(&ready),
            Some(LiveJob::IndexedBusy(busy)) => self.remove_busy(id, &busy),
            None => {}
        }
    }

    fn remove_ready(&mut self, ready: &ReadyJob) {
        let place = ready.key.place();
        if !remove_from(&mut self.later, &place, &(ready.run_at, ready.id)) {
            remove_from(&mut self.ready, &place, &ready.rank());
        }
        self.remove_clock_and_count(ready.id, ready.clock, &ready.key);
    }

    fn remove_busy(&mut self, id: JobId, busy: &BusyJob) {
        if let Some(worker) = &busy.worker {
            self.leased.remove(&id);
            self.remove_from_worker(worker, id);
        }
        if busy.is_waiting {
            self.waiting.remove(&id);
        }
        self.remove_clock_and_count(id, busy.clock, &busy.key);
    }

    fn remove_clock_and_count(&mut self, id: JobId, clock: Option<Deadline>, key: &CountKey) {
        if let Some(deadline) = clock {
            self.clocks.remove(&(deadline, id));
        }
        let Some(count) = self.counts.get_mut(key) else { return };
        *count -= 1;
        if *count == 0 {
            self.counts.remove(key);
        }
    }

    fn remove_from_worker(&mut self, worker: &WorkerId, id: JobId) {
        let Some(held) = self.leased_by.get_mut(worker) else { return };
        held.remove(&id);
        if held.is_empty() {
            self.leased_by.remove(worker);
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
        let admitted = |(queue, job_type): &Place| filter.admits(queue, job_type) && !paused.contains(queue);
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
        self.later.retain(|place, delayed| {
            while let Some((_, id)) = delayed.first().copied().filter(|(run_at, _)| *run_at <= now) {
                delayed.pop_first();
                let rank = self.jobs[&id].rank();
                self.ready.entry(place.clone()).or_default().insert(rank);
            }
            !delayed.is_empty()
        });
    }

    /// Ready jobs that one of the filters admits, from queues that are not paused; of the delayed ones only the next. Reads one
    /// delayed job of each queue and type, however many there are.
    pub(crate) fn ready_jobs(
        &mut self,
        filters: &[ClaimFilter],
        paused: &BTreeSet<QueueName>,
        limit: usize,
        now: Timestamp,
    ) -> Vec<ReadyJobs> {
        self.promote_delayed(now);
        let admitted = |(queue, job_type): &Place| {
            !paused.contains(queue) && filters.iter().any(|filter| filter.admits(queue, job_type))
        };
        let of_place = |(queue, job_type): &Place, claimable, next_run| ReadyJobs {
            queue: queue.clone(),
            job_type: job_type.clone(),
            claimable,
            next_run,
        };
        let places = self.ready.iter().filter(|(place, _)| admitted(place));
        let claimable = places.map(|(place, ranks)| of_place(place, ranks.len().min(limit), None));
        let delayed = self.later.iter().filter(|(place, _)| admitted(place));
        let next = delayed.filter_map(|(place, delayed)| Some((delayed.first()?, place))).min();
        claimable.chain(next.map(|((run_at, _), place)| of_place(place, 0, Some(*run_at)))).collect()
    }

    /// The jobs in a waiting state, each with the job if it is here completely.
    pub(crate) fn waiting(&self, limit: usize) -> Vec<(JobId, Option<Arc<Job>>)> {
        self.waiting.iter().take(limit).map(|id| (*id, self.get(*id).cloned())).collect()
    }

    /// The jobs with a lease, each with the job if it is here completely.
    pub(crate) fn leased(
        &self,
        worker: Option<&WorkerId>,
        after: Option<JobId>,
        limit: usize,
    ) -> Vec<(JobId, Option<Arc<Job>>)> {
        let held = worker.map_or(Some(&self.leased), |worker| self.leased_by.get(worker));
        let start = after.map_or(Bound::Unbounded, Bound::Excluded);
        let later = held.into_iter().flat_map(|held| held.range((start, Bound::Unbounded)));
        later.take(limit).map(|id| (*id, self.get(*id).cloned())).collect()
    }

    pub(crate) fn counts(&self) -> Vec<Count> {
        counts(self.counts.iter().map(|(key, count)| (CountKey::clone(key), *count)))
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
        let of_place = |((queue, job_type), ranks): (&Place, &BTreeSet<Rank>)| {
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

/// Removes an entry of a place, and the place with its last entry. Returns whether the entry existed.
fn remove_from<T: Ord>(places: &mut BTreeMap<Place, BTreeSet<T>>, place: &Place, entry: &T) -> bool {
    let Some(entries) = places.get_mut(place) else { return false };
    let existed = entries.remove(entry);
    if entries.is_empty() {
        places.remove(place);
    }
    existed
}

impl CountKey {
    fn place(&self) -> Place {
        (self.queue.clone(), self.job_type.clone())
    }
}

impl BusyJob {
    fn of(job: &Job) -> Self {
        Self {
            key: Arc::new(count_key(job)),
            clock: job.next_clock(),
            worker: job.lease.as_ref().map(|lease| lease.worker.clone()),
            is_waiting: job.phase == Phase::Waiting,
        }
    }
}

impl ReadyJob {
    fn of(job: &Job) -> Self {
        Self {
            id: job.id(),
            key: Arc::new(count_key(job)),
            priority: job.priority(),
            run_at: job.run_at,
            clock: job.next_clock(),
        }
    }

    fn rank(&self) -> Rank {
        (Reverse(self.priority), self.run_at, self.id)
    }
}

impl LiveJob {
    fn rank(&self) -> Rank {
        match self {
            Self::Complete(job) => (Reverse(job.priority()), job.run_at, job.id()),
            Self::Indexed(ready) => ready.rank(),
            Self::IndexedBusy(_) => unreachable!("only ready jobs have a rank"),
        }
    }
}

#[cfg(test)]
mod tests {
    use tenure_core::command::{Command, CommandEnvelope, Create, CreationKey, Reader, When};
    use tenure_core::decide::decide_batch;
    use tenure_core::flow::FlowKeys;
    use tenure_core::job_type::{Catalog, JobType};
    use tenure_core::json::Json;
    use tenure_core::lifecycle::Lifecycle;

    use super::*;

    const NOW: Now = Now { at: Timestamp(1_000_000), stopped: Millis(0) };

    fn delayed(n: u64, queue: &str) -> CommandEnvelope {
        let create = Create {
            id: JobId::new(1, n.into()),
            job_type: "work".into(),
            lifecycle: None,
            payload: Json::null(),
            user_id: None,
            queue: Some(queue.into()),
            priority: None,
            max_attempts: None,
            when: When::In(Millis(1000 - n)),
            links: Links::default(),
            key: CreationKey::None,
            flow: FlowKeys::default(),
            reader: Reader::default(),
            throttled: None,
        };
        CommandEnvelope { by: "test".into(), key: None, command: Command::Create(Box::new(create)) }
    }

    /// A hundred delayed jobs in each of three queues.
    fn three_queues(ready_bytes_max: usize) -> Live {
        let mut catalog = Catalog::default();
        let lifecycle = Lifecycle::built_in().remove(0);
        let job_type = JobType::following("work", &lifecycle);
        catalog.add_lifecycle(lifecycle);
        catalog.add_type(job_type).expect("it is valid");
        let commands: Vec<_> = (0..300).map(|n| delayed(n, ["a", "b", "c"][n as usize % 3])).collect();
        let mut set = WorkingSet::default();
        assert!(decide_batch(&mut set, &catalog, &commands, NOW).iter().all(Result::is_ok));
        let mut live = Live::with_bytes_max(ready_bytes_max, usize::MAX);
        for job in set.jobs.into_values() {
            live.put(job);
        }
        live
    }

    #[test]
    fn delayed_jobs_are_found_by_queue_and_type() {
        let mut live = three_queues(usize::MAX);
        let after = |ms| Timestamp(NOW.at.0 + ms);
        let of = |queue: &str| ClaimFilter { queues: Some([queue.into()].into()), types: None };
        let any = ClaimFilter::default();
        assert_eq!(live.later.len(), 3, "one index for each queue and type");
        let mut next_run = |filter: ClaimFilter, now| {
            let found = live.ready_jobs(&[filter], &BTreeSet::new(), 9, now);
            found.iter().find_map(|place| place.next_run)
        };
        assert_eq!(next_run(any.clone(), NOW.at), Some(after(701)));
        assert_eq!(next_run(of("a"), NOW.at), Some(after(703)));
        assert_eq!(next_run(of("a"), after(703)), Some(after(706)), "later than now");
        assert_eq!(next_run(of("d"), NOW.at), None);
        let claimable = live.claimable(&any, &BTreeSet::new(), 999, after(706));
        assert_eq!(claimable.len(), 6, "those whose time has passed, of every queue");
        let rest: Vec<_> = live.jobs().map(|job| job.id()).collect();
        for id in rest {
            live.remove(id);
        }
        assert!(live.later.is_empty() && live.ready.is_empty());
    }

    #[test]
    fn busy_jobs_beyond_the_limit_of_bytes_are_indexed_like_the_others() {
        let (mut all, mut some) = (Live::default(), Live::with_bytes_max(0, 100 * 700));
        for job in three_queues(usize::MAX).jobs() {
            let mut busy = Job::clone(job);
            busy.phase = Phase::Waiting;
            let busy = Arc::new(busy);
            all.put(Arc::clone(&busy));
            some.put(busy);
        }
        assert_eq!(all.jobs().count(), 300);
        assert!((50..150).contains(&some.jobs().count()));
        let ids = |live: &Live| live.waiting(999).into_iter().map(|(id, _)| id).collect::<Vec<_>>();
        assert_eq!(ids(&some), ids(&all));
        assert_eq!(some.counts(), all.counts());
        for id in ids(&all) {
            some.remove(id);
        }
        assert!(some.jobs.is_empty() && some.counts.is_empty() && some.clocks.is_empty());
        assert_eq!(some.busy_bytes, 0);
    }

    #[test]
    fn jobs_beyond_the_limit_of_bytes_are_found_in_the_same_order() {
        let (mut all, mut some) = (three_queues(usize::MAX), three_queues(50 * 600));
        let (any, none, late) = (ClaimFilter::default(), BTreeSet::new(), Timestamp(NOW.at.0 + 900));
        assert!(some.jobs().count() < 50 && all.jobs().count() == 300);
        assert_eq!(some.counts(), all.counts());
        let claimable = all.claimable(&any, &none, 999, late);
        assert_eq!(some.claimable(&any, &none, 999, late), claimable);
        assert_eq!(some.oldest_ready(late), all.oldest_ready(late));
        for id in &claimable {
            some.remove(*id);
            all.remove(*id);
        }
        assert_eq!(some.counts(), all.counts());
        assert_eq!(some.due(Deadline(i64::MAX), 999), all.due(Deadline(i64::MAX), 999));
        let later = Timestamp(NOW.at.0 + 1000);
        for id in some.claimable(&any, &none, 999, later) {
            some.remove(id);
        }
        assert!(some.jobs.is_empty() && some.ready.is_empty() && some.later.is_empty());
        assert!(some.counts.is_empty() && some.clocks.is_empty() && some.ready_bytes == 0);
    }
}
