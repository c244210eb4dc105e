//! Claims that wait for work: woken by a job that became ready, one claim for each job, in order of arrival; or by the
//! time at which a delayed one may be claimed.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::Duration;

use tenure_core::command::{Asked, Claim, ClaimFilter, Command};
use tenure_core::decide::{Answer, Done};
use tenure_core::id::{Actor, Name};
use tenure_core::time::Timestamp;
use tenure_store::Store;
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::Inner;
use crate::failure::Failure;

/// Who waits, in order of arrival.
#[derive(Debug, Default)]
pub(crate) struct WaitingClaims(Mutex<VecDeque<Waiter>>);

#[derive(Debug)]
struct Waiter {
    filter: ClaimFilter,
    bell: oneshot::Sender<()>,
}

impl WaitingClaims {
    fn register(&self, filter: ClaimFilter) -> oneshot::Receiver<()> {
        let (bell, rung) = oneshot::channel();
        let mut waiters = self.waiters();
        waiters.retain(|waiter| !waiter.bell.is_closed());
        waiters.push_back(Waiter { filter, bell });
        rung
    }

    /// Rings for each job that became ready the first who waits for such a one.
    pub(crate) fn wake(&self, ready: &[(Name, Name)]) {
        let mut waiters = self.waiters();
        for (queue, job_type) in ready {
            while let Some(first) = waiters.iter().position(|waiter| waiter.filter.admits(queue, job_type)) {
                let waiter = waiters.remove(first).expect("it was just found");
                // One who has given up meanwhile does not use the job up.
                if waiter.bell.send(()).is_ok() {
                    break;
                }
            }
        }
    }

    pub(crate) fn admits(&self, queue: &Name, job_type: &Name) -> bool {
        self.waiters().iter().any(|waiter| !waiter.bell.is_closed() && waiter.filter.admits(queue, job_type))
    }

    /// Rings for everyone: something happened that may concern any of them.
    pub(crate) fn wake_all(&self) {
        for waiter in self.waiters().drain(..) {
            let _ = waiter.bell.send(());
        }
    }

    fn waiters(&self) -> std::sync::MutexGuard<'_, VecDeque<Waiter>> {
        self.0.lock().expect("nobody panics while waking")
    }
}

/// Claims, waiting up to `wait` for something to claim.
pub(crate) async fn claim<S: Store>(
    inner: &Inner<S>,
    claim: Claim,
    wait: Duration,
) -> Result<Answer, Failure> {
    let until = Instant::now() + wait;
    loop {
        // Registered before the claim is judged, so that a job that becomes ready in between rings.
        let bell = inner.waiting.register(claim.filter.clone());
        let by = Actor::worker(&claim.worker);
        let asked = Asked { by, key: None, command: Command::Claim(claim.clone()) };
        let answer = inner.submit(asked).await?;
        let empty = matches!(&answer, Ok(Done::Claimed { jobs, replayed: false }) if jobs.is_empty());
        if !empty || until <= Instant::now() {
            pass_on(inner, bell, &claim);
            return Ok(answer);
        }
        let nap = inner.nap(&claim.filter).await.min(until.saturating_duration_since(Instant::now()));
        drop(tokio::time::timeout(nap, bell).await);
    }
}

/// A claim that leaves with a bell that rang for a job which it did not take passes the ring on.
fn pass_on<S: Store>(inner: &Inner<S>, mut bell: oneshot::Receiver<()>, claim: &Claim) {
    bell.close();
    if bell.try_recv().is_ok() {
        let any = |names: &Option<Vec<Name>>| names.as_ref().and_then(|names| names.first().cloned());
        match (any(&claim.filter.queues), any(&claim.filter.types)) {
            (Some(queue), Some(job_type)) => inner.waiting.wake(&[(queue, job_type)]),
            _ => inner.waiting.wake_all(),
        }
    }
}

impl<S: Store> Inner<S> {
    /// How long to sleep if nobody rings: until a delayed job may be claimed, or until other nodes are worth a look.
    async fn nap(&self, filter: &ClaimFilter) -> Duration {
        let next: Option<Timestamp> = self.store.next_run(filter.clone()).await.ok().flatten();
        let delayed = next.map(|run_at| Duration::from_millis((run_at - self.clock.now()).0.max(1)));
        delayed.map_or(self.poll_every(), |nap| nap.min(self.poll_every()))
    }
}
