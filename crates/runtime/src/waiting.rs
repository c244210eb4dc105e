//! Claims that wait for work: woken by a job that became ready, one claim for each job, in order of arrival; or by the
//! time at which a delayed one may be claimed.

use std::collections::{BTreeMap, HashMap};
use std::sync::Mutex;
use std::time::Duration;

use tenure_core::command::{CommandEnvelope, Claim, ClaimFilter, Command};
use tenure_core::decide::{CommandResult, CommandOutput};
use tenure_core::id::{Actor, QueueName, TypeName};
use tenure_core::time::Timestamp;
use tenure_store::Store;
use tokio::sync::oneshot;

use crate::Inner;
use crate::failure::Failure;

/// Who waits: by what they wait for, and then in order of arrival. A thousand who wait for the same cost what one does.
#[derive(Debug, Default)]
pub(crate) struct WaitingClaims(Mutex<Waiters>);

/// What it rang for: the queue and type of a job; or nothing in particular.
type Ring = Option<(QueueName, TypeName)>;

#[derive(Debug, Default)]
struct Waiters {
    by_filter: HashMap<ClaimFilter, BTreeMap<u64, oneshot::Sender<Ring>>>,
    /// How many have ever come.
    arrivals: u64,
}

/// A place among those who wait, given up when it is dropped.
struct WaiterGuard<'a> {
    waiting: &'a WaitingClaims,
    filter: &'a ClaimFilter,
    arrival: u64,
    bell: oneshot::Receiver<Ring>,
}

impl WaitingClaims {
    fn register<'a>(&'a self, filter: &'a ClaimFilter) -> WaiterGuard<'a> {
        let (ring, bell) = oneshot::channel();
        let mut waiters = self.waiters();
        waiters.arrivals += 1;
        let arrival = waiters.arrivals;
        waiters.by_filter.entry(filter.clone()).or_default().insert(arrival, ring);
        WaiterGuard { waiting: self, filter, arrival, bell }
    }

    /// Rings for each job that became ready the first who waits for such a one.
    pub(crate) fn wake(&self, ready: &[(QueueName, TypeName)]) {
        let mut waiters = self.waiters();
        for (queue, job_type) in ready {
            while let Some(bell) = waiters.first_for(queue, job_type) {
                // One who has given up meanwhile does not use the job up.
                if bell.send(Some((queue.clone(), job_type.clone()))).is_ok() {
                    break;
                }
            }
        }
    }

    pub(crate) fn admits(&self, queue: &QueueName, job_type: &TypeName) -> bool {
        self.waiters().by_filter.keys().any(|filter| filter.admits(queue, job_type))
    }

    pub(crate) fn awaited(&self) -> Vec<ClaimFilter> {
        self.waiters().by_filter.keys().cloned().collect()
    }

    /// Rings for everyone: something happened that may concern any of them.
    pub(crate) fn wake_all(&self) {
        for ring in self.waiters().by_filter.drain().flat_map(|(_, waiting)| waiting.into_values()) {
            let _ = ring.send(None);
        }
    }

    fn waiters(&self) -> std::sync::MutexGuard<'_, Waiters> {
        self.0.lock().expect("nobody panics while waking")
    }
}

impl Waiters {
    /// Takes the bell of the first who waits for such a job.
    fn first_for(&mut self, queue: &QueueName, job_type: &TypeName) -> Option<oneshot::Sender<Ring>> {
        let admitted = self.by_filter.iter().filter(|(filter, _)| filter.admits(queue, job_type));
        let first = admitted
            .filter_map(|(filter, waiting)| Some((*waiting.first_key_value()?.0, filter)))
            .min_by_key(|it| it.0);
        let (arrival, filter) = first.map(|(arrival, filter)| (arrival, filter.clone()))?;
        self.take(&filter, arrival)
    }

    fn take(&mut self, filter: &ClaimFilter, arrival: u64) -> Option<oneshot::Sender<Ring>> {
        let waiting = self.by_filter.get_mut(filter)?;
        let ring = waiting.remove(&arrival);
        if waiting.is_empty() {
            self.by_filter.remove(filter);
        }
        ring
    }
}

impl Drop for WaiterGuard<'_> {
    /// Whoever leaves with a bell that rang for a job which he did not take, and be it that his caller is gone, passes
    /// the ring on.
    fn drop(&mut self) {
        self.waiting.waiters().take(self.filter, self.arrival);
        if let Ok(Some(job)) = self.bell.try_recv() {
            self.waiting.wake(&[job]);
        }
    }
}

/// Claims, waiting up to `wait` for something to claim, and no longer than until `stop`.
pub(crate) async fn claim<S: Store>(
    inner: &Inner<S>,
    claim: Claim,
    wait: Duration,
    stop: impl Future<Output = ()>,
) -> Result<CommandResult, Failure> {
    let mut looks_again = !wait.is_zero();
    let enough = async {
        if !wait.is_zero() {
            tokio::select! {
                biased;
                () = stop => looks_again = false,
                () = tokio::time::sleep(wait) => {}
            }
        }
    };
    let answer = claim_until(inner, &claim, enough).await?;
    // Other nodes' jobs may have come without a ring: whoever has waited looks once more.
    if looks_again && is_empty(&answer) { inner.submit(asked(&claim)).await } else { Ok(answer) }
}

/// Claims, waiting for something to claim until it is enough. A claim that is being judged is waited for in any case, so
/// that no job is claimed for somebody who does not learn of it.
pub(crate) async fn claim_until<S: Store>(
    inner: &Inner<S>,
    claim: &Claim,
    enough: impl Future<Output = ()>,
) -> Result<CommandResult, Failure> {
    tokio::pin!(enough);
    loop {
        // Registered before the claim is judged, so that a job that becomes ready in between rings.
        let mut place = inner.waiting.register(&claim.filter);
        let answer = inner.submit(asked(claim)).await?;
        if !is_empty(&answer) {
            return Ok(answer);
        }
        let rung = async {
            let poll_delay = inner.poll_delay(&claim.filter).await;
            drop(tokio::time::timeout(poll_delay, &mut place.bell).await);
        };
        tokio::select! {
            biased;
            () = &mut enough => return Ok(answer),
            () = rung => {}
        }
    }
}

fn asked(claim: &Claim) -> CommandEnvelope {
    CommandEnvelope { by: Actor::worker(&claim.worker), key: None, command: Command::Claim(claim.clone()) }
}

fn is_empty(answer: &CommandResult) -> bool {
    matches!(answer, Ok(CommandOutput::Claimed { jobs, replayed: false }) if jobs.is_empty())
}

impl<S: Store> Inner<S> {
    /// How long to sleep if nobody rings: until a delayed job may be claimed, or until other nodes are worth a look.
    async fn poll_delay(&self, filter: &ClaimFilter) -> Duration {
        let next: Option<Timestamp> = self.store.next_run(filter.clone()).await.ok().flatten();
        let delayed = next.map(|run_at| Duration::from_millis((run_at - self.clock.now()).0.max(1)));
        delayed.map_or(self.poll_every(), |poll_delay| poll_delay.min(self.poll_every()))
    }
}
