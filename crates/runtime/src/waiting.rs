//! Waiting claims: each job that becomes claimable wakes the oldest matching claim.
//!
//! Commits of this node say exactly which jobs became ready, and notifications of other nodes do so, too. For delayed jobs
//! and lost notifications, one task reads for all waiting claims together which jobs they may take: after each poll
//! interval, when the next delayed job is due, and when a claim waits with a new filter.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Mutex;
use std::time::Duration;

use tokio::sync::{Notify, oneshot};
use tokio::time::Instant;

use crate::failure::Failure;
use crate::prelude::*;
use crate::{Answer, Inner};

/// Waiters by filter, then in order of arrival: a thousand waiters with the same filter cost no more than one.
#[derive(Debug, Default)]
pub(crate) struct WaitingClaims {
    waiters: Mutex<Waiters>,
    /// Set when the next poll is earlier than planned.
    replanned: Notify,
}

/// Queue and type of the job that became claimable.
type WakeUp = (QueueName, TypeName);

#[derive(Debug, Default)]
struct Waiters {
    by_filter: HashMap<ClaimFilter, BTreeMap<u64, oneshot::Sender<WakeUp>>>,
    /// The last arrival number.
    arrivals: u64,
    /// The filters of the last poll. The next poll is not later than the next delayed job that one of them admits.
    polled: HashSet<ClaimFilter>,
    /// `None` if no claim waits.
    next_poll: Option<Instant>,
}

/// A registered waiter, removed when dropped.
struct WaiterGuard<'a> {
    waiting: &'a WaitingClaims,
    filter: &'a ClaimFilter,
    arrival: u64,
    wake_up: oneshot::Receiver<WakeUp>,
}

impl WaitingClaims {
    fn register<'a>(&'a self, filter: &'a ClaimFilter) -> WaiterGuard<'a> {
        let (sender, wake_up) = oneshot::channel();
        let mut waiters = self.waiters();
        waiters.arrivals += 1;
        let arrival = waiters.arrivals;
        waiters.by_filter.entry(filter.clone()).or_default().insert(arrival, sender);
        WaiterGuard { waiting: self, filter, arrival, wake_up }
    }

    /// Wakes the oldest matching waiter for each claimable job, and plans a poll for the next delayed one.
    pub(crate) fn became_ready(&self, ready: &[ReadyJobs], now: Timestamp) {
        let mut waiters = self.waiters();
        let mut next_run: Option<Timestamp> = None;
        for jobs in ready {
            let wake = |_: &usize| waiters.wake_first(&jobs.queue, &jobs.job_type);
            (0..jobs.claimable).take_while(wake).for_each(drop);
            if waiters.polled.iter().any(|filter| filter.admits(&jobs.queue, &jobs.job_type)) {
                next_run = [next_run, jobs.next_run].into_iter().flatten().min();
            }
        }
        drop(waiters);
        if let Some(run_at) = next_run {
            self.poll_by(Instant::now() + Duration::from_millis((run_at - now).0.max(1)));
        }
    }

    /// Plans a poll not later than `at`, if a claim waits.
    pub(crate) fn poll_by(&self, at: Instant) {
        let mut waiters = self.waiters();
        let is_earlier = waiters.next_poll.is_none_or(|planned| at < planned);
        if is_earlier && !waiters.by_filter.is_empty() {
            waiters.next_poll = Some(at);
            self.replanned.notify_one();
        }
    }

    /// Plans a poll for a claim that waits, unless the last one covered its filter.
    fn await_poll(&self, filter: &ClaimFilter) {
        if !self.waiters().polled.contains(filter) {
            self.poll_by(Instant::now());
        }
    }

    /// Resolves when it is time for a poll.
    pub(crate) async fn poll_due(&self) {
        loop {
            let next_poll = self.waiters().next_poll;
            let due = async {
                match next_poll {
                    Some(at) => tokio::time::sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                () = self.replanned.notified() => {}
                () = due => return,
            }
        }
    }

    /// The filters to poll for, and the number of waiters. The next poll is at `next`, if not before.
    fn begin_poll(&self, next: Instant) -> (Vec<ClaimFilter>, usize) {
        let mut waiters = self.waiters();
        let filters: Vec<ClaimFilter> = waiters.by_filter.keys().cloned().collect();
        waiters.polled = filters.iter().cloned().collect();
        waiters.next_poll = (!filters.is_empty()).then_some(next);
        (filters, waiters.by_filter.values().map(BTreeMap::len).sum())
    }

    pub(crate) fn admits(&self, queue: &QueueName, job_type: &TypeName) -> bool {
        self.waiters().by_filter.keys().any(|filter| filter.admits(queue, job_type))
    }

    pub(crate) fn awaited(&self) -> Vec<(ClaimFilter, usize)> {
        self.waiters().by_filter.iter().map(|(filter, waiting)| (filter.clone(), waiting.len())).collect()
    }

    fn waiters(&self) -> std::sync::MutexGuard<'_, Waiters> {
        self.waiters.lock().expect("no thread panics while holding the lock")
    }
}

impl Waiters {
    /// Wakes the oldest waiter that accepts such a job; `false` if there is none.
    fn wake_first(&mut self, queue: &QueueName, job_type: &TypeName) -> bool {
        while let Some(waiter) = self.take_first(queue, job_type) {
            // A waiter that is gone does not consume the wake-up.
            if waiter.send((queue.clone(), job_type.clone())).is_ok() {
                return true;
            }
        }
        false
    }

    /// Removes and returns the oldest waiter that accepts such a job.
    fn take_first(&mut self, queue: &QueueName, job_type: &TypeName) -> Option<oneshot::Sender<WakeUp>> {
        let admitted = self.by_filter.iter().filter(|(filter, _)| filter.admits(queue, job_type));
        let first = admitted
            .filter_map(|(filter, waiting)| Some((*waiting.first_key_value()?.0, filter)))
            .min_by_key(|it| it.0);
        let (arrival, filter) = first.map(|(arrival, filter)| (arrival, filter.clone()))?;
        self.take(&filter, arrival)
    }

    fn take(&mut self, filter: &ClaimFilter, arrival: u64) -> Option<oneshot::Sender<WakeUp>> {
        let waiting = self.by_filter.get_mut(filter)?;
        let waiter = waiting.remove(&arrival);
        if waiting.is_empty() {
            self.by_filter.remove(filter);
        }
        waiter
    }
}

impl Drop for WaiterGuard<'_> {
    /// Forwards an unused wake-up to the next waiter, even if the caller disconnected.
    fn drop(&mut self) {
        let mut waiters = self.waiting.waiters();
        waiters.take(self.filter, self.arrival);
        if let Ok((queue, job_type)) = self.wake_up.try_recv() {
            waiters.wake_first(&queue, &job_type);
        }
    }
}

/// Claims, waiting up to `wait` for a job, but not beyond `stop`.
pub(crate) async fn claim(
    inner: &Inner,
    by: &CommandOrigin,
    claim: Claim,
    wait: Duration,
    stop: impl Future<Output = ()>,
) -> Answer {
    let mut try_again = !wait.is_zero();
    let deadline = async {
        if !wait.is_zero() {
            tokio::select! {
                biased;
                () = stop => try_again = false,
                () = tokio::time::sleep(wait) => {}
            }
        }
    };
    let answer = claim_until(inner, by, &claim, deadline).await?;
    // Jobs of other nodes may have become ready without a wake-up: try once more at the end of the wait.
    if try_again && is_empty(&answer) { inner.submit(envelope(by, &claim)).await } else { Ok(answer) }
}

/// Claims, waiting for a job until `deadline` resolves. A submitted claim is always awaited, so that no job is claimed
/// without its worker learning of it.
pub(crate) async fn claim_until(
    inner: &Inner,
    by: &CommandOrigin,
    claim: &Claim,
    deadline: impl Future<Output = ()>,
) -> Answer {
    tokio::pin!(deadline);
    let mut stopping = inner.stopping.subscribe();
    loop {
        // Registered before the claim is decided, so that a job that becomes ready in between wakes it.
        let mut waiter = inner.waiting.register(&claim.filter);
        let answer = inner.submit(envelope(by, claim)).await?;
        if !is_empty(&answer) {
            return Ok(answer);
        }
        inner.waiting.await_poll(&claim.filter);
        tokio::select! {
            biased;
            () = &mut deadline => return Ok(answer),
            _ = stopping.wait_for(|stopping| *stopping) => return Err(Failure::Stopped),
            _ = &mut waiter.wake_up => {}
        }
    }
}

fn envelope(by: &CommandOrigin, claim: &Claim) -> CommandEnvelope {
    CommandEnvelope { by: by.as_worker(&claim.worker), key: None, command: Command::Claim(claim.clone()) }
}

fn is_empty(answer: &CommandResult) -> bool {
    matches!(answer, Ok(CommandOutput::Claimed { jobs, replayed: false }) if jobs.is_empty())
}

impl Inner {
    /// Wakes the claims whose jobs are claimable without a wake-up, and plans the next poll.
    pub(crate) async fn poll_ready_jobs(&self) {
        let (filters, waiting) = self.waiting.begin_poll(Instant::now() + self.poll_every());
        if filters.is_empty() {
            return;
        }
        match self.store.ready_jobs(filters, waiting).await {
            Ok(ready) => self.waiting.became_ready(&ready, self.clock.now()),
            Err(error) => tracing::warn!(%error, "read of ready jobs failed"),
        }
    }
}
