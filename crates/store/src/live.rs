//! Live jobs in memory, indexed for claims and sweeps: ready jobs in claim order, clocks by deadline. Counts are maintained
//! with each change. Finished jobs are not here, so they cannot slow claims.
//!
//! Only jobs that fit into a limit of bytes are kept completely, with one limit for ready jobs and one for the others. Of jobs
//! beyond it the indexes have what claims, sweeps and listings need, and the store reads them when they are used. Jobs
//! become ready at the end of their queue, so the complete ones are mostly those that are claimed next.

mod flow;
mod jobs;
mod report;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Bound;
use std::sync::Arc;

use tenure_core::flow::Candidate;

use crate::claim_index::{ClaimIndex, FlowUse, Place, Places, Wanted};
use crate::prelude::*;
use crate::sequence_lines::SequenceLines;
use crate::sorted::SortedVecs;
use crate::{AwaitedJobs, Count, DueJobs, OldestReady, ReadyJobs};
use flow::Tracked;
pub(crate) use jobs::ReadyJob;
use jobs::{BusyJob, LiveJob, LiveJobs};

/// Bytes of ready jobs that are complete, if the memory of the process suffices. The others are read when they are claimed.
const READY_BYTES_MAX: usize = 64 << 20;
/// The same for jobs that are neither ready nor finished. The others are read when they are reported.
const BUSY_BYTES_MAX: usize = 32 << 20;
/// The parts of the memory of the process that they may have.
const READY_SHARE: usize = 8;
const BUSY_SHARE: usize = 16;

/// Live jobs and their indexes.
#[derive(Debug)]
pub(crate) struct Live {
    jobs: LiveJobs,
    /// Bytes of the ready jobs that are complete, about.
    ready_bytes: usize,
    ready_bytes_max: usize,
    /// Bytes of the other jobs that are complete, about.
    busy_bytes: usize,
    busy_bytes_max: usize,
    claims: ClaimIndex,
    sequences: SequenceLines,
    clocks: SortedVecs<(Deadline, JobId)>,
    leased: BTreeSet<JobId>,
    leased_by: HashMap<WorkerId, BTreeSet<JobId>>,
    waiting: SortedVecs<JobId>,
    counts: BTreeMap<Arc<CountKey>, u64>,
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
    /// Keeps as many jobs completely as usual machines have memory for.
    pub(crate) fn bounded() -> Self {
        Self::with_bytes_max(READY_BYTES_MAX, BUSY_BYTES_MAX)
    }

    /// Keeps fewer jobs completely from now on, if the process may have little memory.
    pub(crate) fn limit_memory(&mut self, process_bytes: usize) {
        self.ready_bytes_max = READY_BYTES_MAX.min(process_bytes / READY_SHARE);
        self.busy_bytes_max = BUSY_BYTES_MAX.min(process_bytes / BUSY_SHARE);
    }

    pub(crate) fn with_bytes_max(ready_bytes_max: usize, busy_bytes_max: usize) -> Self {
        Self {
            jobs: LiveJobs::default(),
            ready_bytes: 0,
            ready_bytes_max,
            busy_bytes: 0,
            busy_bytes_max,
            claims: ClaimIndex::default(),
            sequences: SequenceLines::default(),
            clocks: SortedVecs::default(),
            leased: BTreeSet::new(),
            leased_by: HashMap::new(),
            waiting: SortedVecs::default(),
            counts: BTreeMap::new(),
        }
    }

    /// A job that is here completely.
    pub(crate) fn get(&self, id: JobId) -> Option<&Arc<Job>> {
        self.jobs.complete.get(&id)
    }

    pub(crate) fn contains(&self, id: JobId) -> bool {
        self.jobs.find(id).is_some()
    }

    /// The jobs that are here completely.
    pub(crate) fn jobs(&self) -> impl Iterator<Item = &Arc<Job>> {
        self.jobs.complete.values()
    }

    /// Inserts or replaces a job; a finished job is removed.
    pub(crate) fn put(&mut self, job: Arc<Job>) {
        let before = self.detach(job.id());
        let after = self.attach(job);
        self.moved(before, after);
    }

    /// Inserts a ready job that is not here yet, without its other fields.
    pub(crate) fn put_ready(&mut self, ready: ReadyJob) {
        let after = self.attach_ready(ready);
        self.moved(None, after);
    }

    pub(crate) fn remove(&mut self, id: JobId) {
        let before = self.detach(id);
        self.moved(before, None);
    }

    /// Adds a job to the indexes, and returns what it uses.
    fn attach(&mut self, job: Arc<Job>) -> Option<Tracked> {
        if job.phase.is_final() {
            return None;
        }
        let bytes = job.bytes();
        let tracked = if job.phase == Phase::Ready {
            let ready = ReadyJob::of(&job);
            if self.ready_bytes_max.saturating_sub(self.ready_bytes) < bytes {
                return self.attach_ready(ready);
            }
            self.ready_bytes += bytes;
            self.index(&ready);
            self.tracked_ready(&ready)
        } else {
            let mut busy = BusyJob::of(&job);
            busy.key = self.shared(busy.key);
            self.index_busy(&busy);
            let tracked = self.tracked_busy(&busy);
            if self.busy_bytes_max.saturating_sub(self.busy_bytes) < bytes {
                self.jobs.busy.insert(busy);
                return tracked;
            }
            self.busy_bytes += bytes;
            tracked
        };
        self.jobs.complete.insert(job.id(), job);
        tracked
    }

    fn attach_ready(&mut self, mut ready: ReadyJob) -> Option<Tracked> {
        ready.key = self.shared(ready.key);
        self.index(&ready);
        let tracked = self.tracked_ready(&ready);
        self.jobs.ready.insert(ready);
        tracked
    }

    /// The equal key that other jobs have, if there is one.
    fn shared(&self, key: Arc<CountKey>) -> Arc<CountKey> {
        self.counts.get_key_value(&key).map_or(key, |(known, _)| Arc::clone(known))
    }

    fn index(&mut self, ready: &ReadyJob) {
        // A job of a sequence is offered to claims when it is the first.
        if ready.flow.sequence.is_none() {
            self.claims.insert(&LiveJob::Ready(ready).entry());
        }
        self.index_clock(ready.id, ready.clock);
        *self.counts.entry(Arc::clone(&ready.key)).or_default() += 1;
    }

    fn index_busy(&mut self, busy: &BusyJob) {
        self.index_clock(busy.id, busy.clock);
        if let Some(worker) = &busy.worker {
            self.leased.insert(busy.id);
            self.leased_by.entry(worker.clone()).or_default().insert(busy.id);
        }
        if busy.is_waiting {
            self.waiting.insert(busy.id);
        }
        *self.counts.entry(Arc::clone(&busy.key)).or_default() += 1;
    }

    fn index_clock(&mut self, id: JobId, clock: Option<Deadline>) {
        if let Some(deadline) = clock {
            self.clocks.insert((deadline, id));
        }
    }

    /// Removes a job from the indexes, and returns what it used.
    fn detach(&mut self, id: JobId) -> Option<Tracked> {
        if let Some(job) = self.jobs.complete.remove(&id) {
            if job.phase == Phase::Ready {
                self.ready_bytes -= job.bytes();
                return self.detach_ready(&ReadyJob::of(&job));
            }
            self.busy_bytes -= job.bytes();
            return self.detach_busy(&BusyJob::of(&job));
        }
        if let Some(ready) = self.jobs.ready.remove(&id) {
            return self.detach_ready(&ready);
        }
        let busy = self.jobs.busy.remove(&id)?;
        self.detach_busy(&busy)
    }

    fn detach_ready(&mut self, ready: &ReadyJob) -> Option<Tracked> {
        let tracked = self.tracked_ready(ready);
        if ready.flow.sequence.is_none()
            || self.sequences.withdraw(&ready.key.job_type, &ready.flow, ready.id)
        {
            self.claims.remove(&LiveJob::Ready(ready).entry());
        }
        self.remove_clock_and_count(ready.id, ready.clock, &ready.key);
        tracked
    }

    fn detach_busy(&mut self, busy: &BusyJob) -> Option<Tracked> {
        let tracked = self.tracked_busy(busy);
        if let Some(worker) = &busy.worker {
            self.leased.remove(&busy.id);
            self.remove_from_worker(worker, busy.id);
        }
        if busy.is_waiting {
            self.waiting.remove(&busy.id);
        }
        self.remove_clock_and_count(busy.id, busy.clock, &busy.key);
        tracked
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

    /// Ready jobs that `filter` and flow control admit, in claim order, from queues that are not paused. `claims` is how many jobs
    /// each claim may take.
    pub(crate) fn claimable(
        &mut self,
        filter: &ClaimFilter,
        paused: &BTreeSet<QueueName>,
        claims: &[u32],
        now: Timestamp,
    ) -> Vec<Candidate> {
        self.promote_delayed(now);
        let admits = |(queue, job_type): &Place| filter.admits(queue, job_type) && !paused.contains(queue);
        self.claims.search(&Wanted { places: Places::Admitted(&admits), claims, now })
    }

    /// Makes jobs whose `run_at` has passed claimable.
    fn promote_delayed(&mut self, now: Timestamp) {
        let jobs = &self.jobs;
        self.claims.promote(now, |id| jobs.find(id).map(LiveJob::entry));
    }

    /// Ready jobs that one of the waiting claims may take, from queues that are not paused; of the others only the next.
    pub(crate) fn ready_jobs(
        &mut self,
        awaited: &[AwaitedJobs],
        paused: &BTreeSet<QueueName>,
        limit: usize,
        now: Timestamp,
    ) -> Vec<ReadyJobs> {
        self.promote_delayed(now);
        let claims_of = |(queue, job_type): &Place| {
            let admitting = awaited.iter().filter(|awaited| awaited.filter.admits(queue, job_type));
            admitting.map(|awaited| awaited.max).min().filter(|_| !paused.contains(queue))
        };
        let places = self.claims.claimable(claims_of, limit, now);
        let of_place = |((queue, job_type), claimable): (Place, usize), next_run| ReadyJobs {
            queue,
            job_type,
            claimable,
            next_run,
        };
        let next = self
            .claims
            .next_run(|place| claims_of(place).is_some(), now)
            .map(|(at, place)| of_place((place, 0), Some(at)));
        places.into_iter().map(|place| of_place(place, None)).chain(next).collect()
    }

    /// The jobs in a waiting state after an id, each with the job if it is here completely.
    pub(crate) fn waiting(&self, after: Option<JobId>, limit: usize) -> Vec<(JobId, Option<Arc<Job>>)> {
        let after = after.unwrap_or(JobId(uuid::Uuid::nil()));
        self.waiting.after(&after).take(limit).map(|id| (*id, self.get(*id).cloned())).collect()
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

    /// For each queue and type, the earliest past `run_at`.
    pub(crate) fn oldest_ready(&mut self, now: Timestamp) -> Vec<OldestReady> {
        self.promote_delayed(now);
        let oldest = self.claims.oldest().into_iter();
        oldest.map(|((queue, job_type), since)| OldestReady { queue, job_type, since }).collect()
    }

    /// Jobs with an overdue clock, most overdue first.
    pub(crate) fn due(&self, running: Deadline, limit: usize) -> DueJobs {
        let overdue = self.clocks.iter().take_while(|(deadline, _)| *deadline <= running);
        let jobs = overdue.map(|(_, id)| *id).take(limit).collect();
        let next = self.clocks.after(&(running, JobId(uuid::Uuid::max()))).next();
        DueJobs { jobs, next_in: next.map(|(deadline, _)| *deadline - running) }
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
            is_limited: true,
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
        assert_eq!(live.claims.delayed_places(), 3, "one index for each queue and type");
        let mut next_run = |filter: ClaimFilter, now| {
            let found = live.ready_jobs(&[AwaitedJobs { filter, max: 1 }], &BTreeSet::new(), 9, now);
            found.iter().find_map(|place| place.next_run)
        };
        assert_eq!(next_run(any.clone(), NOW.at), Some(after(701)));
        assert_eq!(next_run(of("a"), NOW.at), Some(after(703)));
        assert_eq!(next_run(of("a"), after(703)), Some(after(706)), "later than now");
        assert_eq!(next_run(of("d"), NOW.at), None);
        let claimable = live.claimable(&any, &BTreeSet::new(), &[999], after(706));
        assert_eq!(claimable.len(), 6, "those whose time has passed, of every queue");
        let rest: Vec<_> = live.jobs().map(|job| job.id()).collect();
        for id in rest {
            live.remove(id);
        }
        assert!(live.claims.is_empty());
    }

    #[test]
    fn a_process_with_little_memory_keeps_fewer_jobs_completely() {
        let mut live = Live::bounded();
        for job in three_queues(usize::MAX).jobs() {
            live.put(Arc::clone(job));
        }
        assert_eq!(live.jobs().count(), 300);
        live.limit_memory(100 * 600 * READY_SHARE);
        let again: Vec<_> = live.jobs().cloned().collect();
        for job in again {
            live.put(job);
        }
        assert!((50..=100).contains(&live.jobs().count()), "{}", live.jobs().count());
        assert_eq!(live.counts().iter().map(|count| count.count).sum::<u64>(), 300);
        live.limit_memory(usize::MAX);
        assert_eq!((live.ready_bytes_max, live.busy_bytes_max), (READY_BYTES_MAX, BUSY_BYTES_MAX));
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
        let ids = |live: &Live| live.waiting(None, 999).into_iter().map(|(id, _)| id).collect::<Vec<_>>();
        assert_eq!(ids(&some), ids(&all));
        assert_eq!(some.counts(), all.counts());
        for id in ids(&all) {
            some.remove(id);
        }
        assert!(
            some.jobs().next().is_none()
                && some.jobs.busy.is_empty()
                && some.counts.is_empty()
                && some.clocks.is_empty()
        );
        assert_eq!(some.busy_bytes, 0);
    }

    #[test]
    fn jobs_beyond_the_limit_of_bytes_are_found_in_the_same_order() {
        let (mut all, mut some) = (three_queues(usize::MAX), three_queues(50 * 600));
        let (any, none, late) = (ClaimFilter::default(), BTreeSet::new(), Timestamp(NOW.at.0 + 900));
        assert!(some.jobs().count() < 50 && all.jobs().count() == 300);
        assert_eq!(some.counts(), all.counts());
        let claimable = all.claimable(&any, &none, &[999], late);
        assert_eq!(some.claimable(&any, &none, &[999], late), claimable);
        assert_eq!(some.oldest_ready(late), all.oldest_ready(late));
        for candidate in &claimable {
            some.remove(candidate.id);
            all.remove(candidate.id);
        }
        assert_eq!(some.counts(), all.counts());
        assert_eq!(some.due(Deadline(i64::MAX), 999), all.due(Deadline(i64::MAX), 999));
        let later = Timestamp(NOW.at.0 + 1000);
        for candidate in some.claimable(&any, &none, &[999], later) {
            some.remove(candidate.id);
        }
        assert!(some.jobs().next().is_none() && some.jobs.ready.is_empty() && some.claims.is_empty());
        assert!(some.counts.is_empty() && some.clocks.is_empty() && some.ready_bytes == 0);
    }
}
