//! Waiting claims: each job that becomes claimable wakes the oldest matching claim.
//!
//! A claim that waits when a job is created on this node joins the batch of the creation: one commit creates and leases the job.
//! Otherwise commits of this node say exactly which jobs became ready, and notifications of other nodes do so, too. For delayed
//! jobs and lost notifications, one task reads for all waiting claims together which jobs they may take: after each poll
//! interval, when the next delayed job is due, and when a claim waits with a new filter or, with flow
//! control, has found nothing.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Mutex;
use std::time::Duration;

use tokio::sync::{Notify, oneshot};
use tokio::time::Instant;

use crate::batcher::QueuedCommand;
use crate::failure::Failure;
use crate::prelude::*;
use crate::{Answer, Inner};

/// The delay of the poll after a claim under flow control that found nothing; each further one doubles it, up to this many times.
const EMPTY_DELAY: Duration = Duration::from_millis(1);
const EMPTY_DOUBLINGS_MAX: u32 = 7;

/// Waiters by filter, then in order of arrival: a thousand waiters with the same filter cost no more than one.
#[derive(Debug, Default)]
pub(crate) struct WaitingClaims {
    waiters: Mutex<Waiters>,
    /// Set when the next poll is earlier than planned.
    replanned: Notify,
}

/// Why a waiter is woken.
#[derive(Debug)]
enum WakeUp {
    /// A job of this queue and type became claimable.
    Ready(QueueName, TypeName),
    /// Its claim has joined a batch, and gets this answer. The waiter is registered again, with this receiver, so that a job that becomes
    /// ready after the decision wakes it.
    Joined(oneshot::Receiver<Answer>, oneshot::Receiver<WakeUp>),
}

#[derive(Debug)]
struct Waiter {
    /// How many jobs it takes.
    max: u32,
    /// The claim, if it may join a batch: it is not queued already.
    claim: Option<CommandEnvelope>,
    wake_up: oneshot::Sender<WakeUp>,
}

#[derive(Debug, Default)]
struct Waiters {
    by_filter: HashMap<ClaimFilter, BTreeMap<u64, Waiter>>,
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
    fn register<'a>(&'a self, claim: &'a Claim) -> WaiterGuard<'a> {
        let (filter, (sender, wake_up)) = (&claim.filter, oneshot::channel());
        let mut waiters = self.waiters();
        waiters.arrivals += 1;
        let arrival = waiters.arrivals;
        let waiter = Waiter { max: claim.max, claim: None, wake_up: sender };
        waiters.by_filter.entry(filter.clone()).or_default().insert(arrival, waiter);
        WaiterGuard { waiting: self, filter, arrival, wake_up }
    }

    /// The claim of the oldest waiter that accepts such a job and is not queued already. The waiter gets its answer.
    pub(crate) fn join(&self, queue: &QueueName, job_type: &TypeName) -> Option<QueuedCommand> {
        let mut waiters = self.waiters();
        loop {
            let (filter, arrival) = waiters.first(queue, job_type, |waiter| waiter.claim.is_some())?;
            let Waiter { max, claim, wake_up } = waiters.take(&filter, arrival)?;
            let (reply, answer) = oneshot::channel();
            let (sender, again) = oneshot::channel();
            if wake_up.send(WakeUp::Joined(answer, again)).is_ok() {
                let waiter = Waiter { max, claim: None, wake_up: sender };
                waiters.by_filter.entry(filter).or_default().insert(arrival, waiter);
                return claim.map(|envelope| QueuedCommand { envelope, reply });
            }
        }
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

    /// Plans a poll for a claim that waits, unless the last one covered its filter. With flow control each claim that found nothing needs
    /// one: what it waits for, such as tokens or the end of a pause, may be known only since its search. The poll comes later the more often
    /// the claim has found nothing, in case the store offers a job that a decision refuses.
    fn await_poll(&self, filter: &ClaimFilter, has_flow: bool, found_nothing: u32) {
        if !self.waiters().polled.contains(filter) {
            self.poll_by(Instant::now());
        } else if has_flow {
            self.poll_by(Instant::now() + EMPTY_DELAY * (1 << found_nothing.min(EMPTY_DOUBLINGS_MAX)));
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

    /// The claims to poll for, and the number of waiters. The next poll is at `next`, if not before.
    fn begin_poll(&self, next: Instant) -> (Vec<AwaitedJobs>, usize) {
        let mut waiters = self.waiters();
        let smallest = |waiting: &BTreeMap<u64, Waiter>| waiting.values().map(|waiter| waiter.max).min();
        let awaited = waiters.by_filter.iter().filter_map(|(filter, waiting)| {
            Some(AwaitedJobs { filter: filter.clone(), max: smallest(waiting)? })
        });
        let awaited: Vec<AwaitedJobs> = awaited.collect();
        waiters.polled = awaited.iter().map(|awaited| awaited.filter.clone()).collect();
        waiters.next_poll = (!awaited.is_empty()).then_some(next);
        (awaited, waiters.by_filter.values().map(BTreeMap::len).sum())
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
        while let Some((filter, arrival)) = self.first(queue, job_type, |_| true) {
            let Some(waiter) = self.take(&filter, arrival) else { continue };
            // A waiter that is gone does not consume the wake-up.
            if waiter.wake_up.send(WakeUp::Ready(queue.clone(), job_type.clone())).is_ok() {
                return true;
            }
        }
        false
    }

    /// The oldest of some waiters that accepts such a job.
    fn first(
        &self,
        queue: &QueueName,
        job_type: &TypeName,
        is_wanted: impl Fn(&Waiter) -> bool,
    ) -> Option<(ClaimFilter, u64)> {
        let admitted = self.by_filter.iter().filter(|(filter, _)| filter.admits(queue, job_type));
        let oldest = |waiting: &BTreeMap<u64, Waiter>| {
            waiting.iter().find(|(_, waiter)| is_wanted(waiter)).map(|(arrival, _)| *arrival)
        };
        let first = admitted.filter_map(|(filter, waiting)| Some((oldest(waiting)?, filter)));
        first.min_by_key(|it| it.0).map(|(arrival, filter)| (filter.clone(), arrival))
    }

    fn take(&mut self, filter: &ClaimFilter, arrival: u64) -> Option<Waiter> {
        let waiting = self.by_filter.get_mut(filter)?;
        let waiter = waiting.remove(&arrival);
        if waiting.is_empty() {
            self.by_filter.remove(filter);
        }
        waiter
    }
}

impl WaiterGuard<'_> {
    /// Lets the claim join a batch.
    fn may_join(&self, envelope: CommandEnvelope) {
        let mut waiters = self.waiting.waiters();
        let waiting = waiters.by_filter.get_mut(self.filter);
        if let Some(waiter) = waiting.and_then(|waiting| waiting.get_mut(&self.arrival)) {
            waiter.claim = Some(envelope);
        }
    }

    /// Ends the wait. If the claim has joined a batch meanwhile, its answer follows. An unused wake-up is forwarded to the next waiter.
    fn end(&mut self) -> Option<oneshot::Receiver<Answer>> {
        let mut waiters = self.waiting.waiters();
        waiters.take(self.filter, self.arrival);
        let mut joined = None;
        while let Ok(wake_up) = self.wake_up.try_recv() {
            match wake_up {
                WakeUp::Joined(answer, again) => {
                    joined = Some(answer);
                    self.wake_up = again;
                }
                WakeUp::Ready(queue, job_type) => {
                    waiters.wake_first(&queue, &job_type);
                }
            }
        }
        joined
    }
}

impl Drop for WaiterGuard<'_> {
    /// Also if the caller disconnected.
    fn drop(&mut self) {
        drop(self.end());
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
    // Registered before the claim is decided, so that a job that becomes ready in between wakes it.
    let mut waiter = inner.waiting.register(claim);
    let mut answer = inner.submit(envelope(by, claim)).await?;
    let mut found_nothing = 0;
    loop {
        if !is_empty(&answer) {
            return Ok(answer);
        }
        inner.waiting.await_poll(&claim.filter, !inner.flow().is_empty(), found_nothing);
        found_nothing += 1;
        waiter.may_join(envelope(by, claim));
        let woken = tokio::select! {
            biased;
            () = &mut deadline => None,
            _ = stopping.wait_for(|stopping| *stopping) => None,
            woken = &mut waiter.wake_up => woken.ok(),
        };
        let Some(woken) = woken else {
            return match waiter.end() {
                Some(joined) => joined.await.map_err(|_| Failure::Stopped)?,
                None if *inner.stopping.borrow() => Err(Failure::Stopped),
                None => Ok(answer),
            };
        };
        answer = match woken {
            WakeUp::Joined(joined, again) => {
                waiter.wake_up = again;
                joined.await.map_err(|_| Failure::Stopped)??
            }
            WakeUp::Ready(..) => {
                waiter = inner.waiting.register(claim);
                inner.submit(envelope(by, claim)).await?
            }
        };
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
        let (awaited, waiting) = self.waiting.begin_poll(Instant::now() + self.poll_every());
        if awaited.is_empty() {
            return;
        }
        match self.store.ready_jobs(awaited, waiting).await {
            Ok(ready) => self.waiting.became_ready(&ready, self.clock.now()),
            Err(error) => tracing::warn!(%error, "read of ready jobs failed"),
        }
    }
}
