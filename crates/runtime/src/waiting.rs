//! Waiting claims: each job that becomes ready wakes the oldest matching claim; a delayed job wakes one at its time.

use std::collections::{BTreeMap, HashMap};
use std::sync::Mutex;
use std::time::Duration;

use tokio::sync::oneshot;

use crate::prelude::*;
use crate::{Answer, Inner};

/// Waiters by filter, then in order of arrival: a thousand waiters with the same filter cost no more than one.
#[derive(Debug, Default)]
pub(crate) struct WaitingClaims(Mutex<Waiters>);

/// Queue and type of the job that became ready; `None` for any other reason.
type WakeUp = Option<(QueueName, TypeName)>;

#[derive(Debug, Default)]
struct Waiters {
    by_filter: HashMap<ClaimFilter, BTreeMap<u64, oneshot::Sender<WakeUp>>>,
    /// The last arrival number.
    arrivals: u64,
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

    /// Wakes the oldest matching waiter for each ready job.
    pub(crate) fn wake(&self, ready: &[(QueueName, TypeName)]) {
        let mut waiters = self.waiters();
        for (queue, job_type) in ready {
            while let Some(waiter) = waiters.take_first(queue, job_type) {
                // A waiter that is gone does not consume the wake-up.
                if waiter.send(Some((queue.clone(), job_type.clone()))).is_ok() {
                    break;
                }
            }
        }
    }

    pub(crate) fn admits(&self, queue: &QueueName, job_type: &TypeName) -> bool {
        self.waiters().by_filter.keys().any(|filter| filter.admits(queue, job_type))
    }

    pub(crate) fn awaited(&self) -> Vec<(ClaimFilter, usize)> {
        self.waiters().by_filter.iter().map(|(filter, waiting)| (filter.clone(), waiting.len())).collect()
    }

    /// Wakes all waiters.
    pub(crate) fn wake_all(&self) {
        for waiter in self.waiters().by_filter.drain().flat_map(|(_, waiting)| waiting.into_values()) {
            let _ = waiter.send(None);
        }
    }

    fn waiters(&self) -> std::sync::MutexGuard<'_, Waiters> {
        self.0.lock().expect("no thread panics while holding the lock")
    }
}

impl Waiters {
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
        self.waiting.waiters().take(self.filter, self.arrival);
        if let Ok(Some(job)) = self.wake_up.try_recv() {
            self.waiting.wake(&[job]);
        }
    }
}

/// Claims, waiting up to `wait` for a job, but not beyond `stop`.
pub(crate) async fn claim<S: Store>(
    inner: &Inner<S>,
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
    let answer = claim_until(inner, &claim, deadline).await?;
    // Jobs of other nodes may have become ready without a wake-up: try once more at the end of the wait.
    if try_again && is_empty(&answer) { inner.submit(envelope(&claim)).await } else { Ok(answer) }
}

/// Claims, waiting for a job until `deadline` resolves. A submitted claim is always awaited, so that no job is claimed
/// without its worker learning of it.
pub(crate) async fn claim_until<S: Store>(
    inner: &Inner<S>,
    claim: &Claim,
    deadline: impl Future<Output = ()>,
) -> Answer {
    tokio::pin!(deadline);
    loop {
        // Registered before the claim is decided, so that a job that becomes ready in between wakes it.
        let mut waiter = inner.waiting.register(&claim.filter);
        let answer = inner.submit(envelope(claim)).await?;
        if !is_empty(&answer) {
            return Ok(answer);
        }
        let woken = async {
            let delay = inner.poll_delay(&claim.filter).await;
            drop(tokio::time::timeout(delay, &mut waiter.wake_up).await);
        };
        tokio::select! {
            biased;
            () = &mut deadline => return Ok(answer),
            () = woken => {}
        }
    }
}

fn envelope(claim: &Claim) -> CommandEnvelope {
    CommandEnvelope { by: Actor::worker(&claim.worker), key: None, command: Command::Claim(claim.clone()) }
}

fn is_empty(answer: &CommandResult) -> bool {
    matches!(answer, Ok(CommandOutput::Claimed { jobs, replayed: false }) if jobs.is_empty())
}

impl<S: Store> Inner<S> {
    /// How long to wait without a wake-up: until the next delayed job is due, at most the poll interval.
    async fn poll_delay(&self, filter: &ClaimFilter) -> Duration {
        let next: Option<Timestamp> = self.store.next_run(filter.clone()).await.ok().flatten();
        let delayed = next.map(|run_at| Duration::from_millis((run_at - self.clock.now()).0.max(1)));
        delayed.map_or(self.poll_every(), |delay| delay.min(self.poll_every()))
    }
}
