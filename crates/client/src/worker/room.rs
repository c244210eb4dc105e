//! The worker's own thread: it claims, hands jobs to the handlers' runtime, keeps leases, sends reports, and drains.
//! Nothing that a handler does to its runtime can hold it up.

use std::cell::Cell;
use std::collections::HashMap;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::Instant;

use super::held::{Held, Links, Live};
use super::job::Handler;
use super::keeper::{Keeper, Term, heartbeats};
use super::reporter::{Outgoing, Reporter};
use super::stop::Stop;
use crate::client::transport::backoff;
use crate::client::{Client, fresh_id};
use crate::error::Result;
use crate::request::{Claim, Report, Verb};
use crate::wire::JobRecord;

const CLAIM_MAX: usize = 1000;
const CONFIRM_TRIES: u32 = 3;
/// How long a handler may still take to return after it was told of the shutdown.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(1);
/// How long a worker that leaves waits for the server to answer its last reports.
const PATIENCE: Duration = Duration::from_secs(30);

/// What the worker was told to be.
pub(super) struct Settings {
    pub(super) name: String,
    pub(super) queues: Vec<String>,
    pub(super) slots: usize,
    pub(super) wait: Duration,
    pub(super) drain: Option<Duration>,
    pub(super) handlers: HashMap<String, Handler>,
}

/// What `run` tells its thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Work,
    Drain,
}

struct Room {
    settings: Settings,
    links: Links,
    slots: Arc<Semaphore>,
    live: watch::Sender<usize>,
    wait_max: Cell<Duration>,
    /// Where handlers run.
    outside: tokio::runtime::Handle,
}

/// Works until it is told to drain (or whoever could tell is gone), and then until all is done.
pub(super) async fn work(
    settings: Settings,
    client: Client,
    outside: tokio::runtime::Handle,
    mut order: watch::Receiver<Order>,
) -> Result<()> {
    let (keeper, keeping) = Keeper::new(client.clone(), settings.name.clone());
    let (reporter, reporting) = Reporter::new(client.clone(), settings.name.clone());
    tokio::spawn(keeping);
    tokio::spawn(reporting);
    let runtime = tokio::runtime::Handle::current();
    let links = Links { worker: settings.name.clone(), client, runtime, keeper, reporter };
    let slots = Arc::new(Semaphore::new(settings.slots));
    let (live, wait_max) = (watch::Sender::new(0), Cell::new(Duration::MAX));
    let room = Room { settings, links, slots, live, wait_max, outside };
    let ended = room.claim_until(&mut order).await;
    if let Err(error) = &ended {
        tracing::error!(%error, "the server refuses to give work");
    }
    room.drain(&mut order).await;
    ended
}

impl Room {
    async fn claim_until(&self, order: &mut watch::Receiver<Order>) -> Result<()> {
        loop {
            let mut permits = tokio::select! {
                biased;
                () = told_to_drain(order) => return Ok(()),
                permits = self.free_slots() => permits,
            };
            let claim = self.claim(permits.len());
            let terms = tokio::select! {
                biased;
                () = told_to_drain(order) => {
                    self.give_back(claim).await;
                    return Ok(());
                }
                granted = self.granted(&claim) => granted?,
            };
            for (record, term) in terms {
                self.begin(record, term, permits.pop());
            }
        }
    }

    fn claim(&self, count: usize) -> Claim {
        Claim {
            worker: self.settings.name.clone(),
            types: self.settings.handlers.keys().cloned().collect(),
            queues: self.settings.queues.clone(),
            max: count as u32,
            wait: Some(self.settings.wait.min(self.wait_max.get())),
            request_id: Some(fresh_id()),
            start: true,
        }
    }

    /// At least one free slot, and all that are free.
    async fn free_slots(&self) -> Vec<OwnedSemaphorePermit> {
        let first = self.slots.clone().acquire_owned().await.expect("the semaphore is never closed");
        let more = std::iter::from_fn(|| self.slots.clone().try_acquire_owned().ok());
        std::iter::once(first).chain(more).take(CLAIM_MAX).collect()
    }

    /// Asks until there is an answer, always with the same request id, so that a grant whose answer was lost is told
    /// again.
    async fn granted(&self, claim: &Claim) -> Result<Vec<(JobRecord, Term)>> {
        let mut tries = 0;
        loop {
            let asked = Instant::now();
            match self.links.client.claim(claim).await {
                Ok(jobs) => {
                    let terms = with_terms(jobs, asked);
                    let spans = terms.iter().map(|(_, term)| term.span());
                    let shortest = spans.min().unwrap_or(Duration::MAX);
                    self.note_span(shortest);
                    let fresh = tries == 0 && asked.elapsed() <= shortest / 2;
                    return Ok(if fresh { terms } else { self.confirmed(terms).await });
                }
                Err(error) if error.is_passing() => {
                    tries += 1;
                    tracing::warn!(%error, tries, "a claim had no answer");
                    tokio::time::sleep(error.retry_after().unwrap_or_else(|| backoff(tries))).await;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// A claim that waited long, or was repeated, does not tell when its leases began: a heartbeat tells which of them
    /// live, and from when on they surely do.
    async fn confirmed(&self, granted: Vec<(JobRecord, Term)>) -> Vec<(JobRecord, Term)> {
        let names: Vec<_> = granted.iter().map(|(job, _)| (job.id.clone(), fence_of(job))).collect();
        for tries in 1..=CONFIRM_TRIES {
            if names.is_empty() {
                break;
            }
            let asked = Instant::now();
            match heartbeats(&self.links.client, &self.settings.name, &names, PATIENCE).await {
                Ok(results) => {
                    let alive = granted.into_iter().zip(results).filter(|(_, result)| result.is_ok());
                    let confirmed = alive.filter_map(|((job, _), _)| {
                        let term = Term::confirmed(job.lease.as_ref()?, asked);
                        Some((job, term))
                    });
                    return confirmed.collect();
                }
                Err(error) => {
                    tracing::warn!(%error, jobs = names.len(), "claimed jobs wait for the server");
                    tokio::time::sleep(backoff(tries)).await;
                }
            }
        }
        // Their leases run out by themselves.
        Vec::new()
    }

    /// Remembers how short leases can be: a claim waits half as long at most, so that what it gets is still fresh.
    fn note_span(&self, span: Duration) {
        self.wait_max.set(self.wait_max.get().min(span / 2));
    }

    /// Gives a job to its handler; back to the server if there is none, or no time to begin.
    fn begin(&self, record: JobRecord, term: Term, permit: Option<OwnedSemaphorePermit>) {
        let fence = fence_of(&record);
        let live = Live::new(&self.live);
        let handler = self.settings.handlers.get(&record.job_type);
        let (Some(handler), Some(permit)) = (handler, permit) else {
            tracing::warn!(job = %record.id, job_type = %record.job_type, "no handler or no slot: released");
            let report = Report::new(record.id, fence, Verb::Release);
            return self.links.reporter.send(Outgoing::last(report, live));
        };
        if term.is_over() {
            tracing::warn!(job = %record.id, fence, "the lease ran out before the job began");
            return;
        }
        let held = Held::new(record, fence, self.links.clone());
        self.links.keeper.hold(held.clone(), term);
        self.outside.spawn(attempt(handler.clone(), held, live, permit));
    }

    /// Asks what an unanswered claim has been granted and releases it.
    async fn give_back(&self, claim: Claim) {
        let again = Claim { wait: None, max: 1, ..claim };
        let answer = tokio::time::timeout(Duration::from_secs(5), self.links.client.claim(&again)).await;
        let jobs = answer.ok().and_then(Result::ok).unwrap_or_default();
        for job in jobs {
            let fence = fence_of(&job);
            let report = Report::new(job.id, fence, Verb::Release);
            self.links.reporter.send(Outgoing::last(report, Live::new(&self.live)));
        }
    }

    /// Lets handlers finish, as long as they may; then waits for the answers to their reports.
    async fn drain(&self, order: &mut watch::Receiver<Order>) {
        let finished = self.slots.acquire_many(self.settings.slots as u32);
        let limit = async {
            match self.settings.drain {
                Some(limit) => tokio::time::sleep(limit).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            _ = finished => {}
            () = limit => self.links.keeper.stop_all(),
            () = told_by_no_one(order) => self.links.keeper.stop_all(),
        }
        let mut live = self.live.subscribe();
        let answered = live.wait_for(|count| *count == 0);
        if tokio::time::timeout(SHUTDOWN_GRACE + PATIENCE, answered).await.is_err() {
            tracing::warn!("left before every report was answered; the leases run out");
        }
    }
}

fn fence_of(job: &JobRecord) -> u64 {
    job.lease.as_ref().map_or(0, |lease| lease.fence)
}

fn with_terms(jobs: Vec<JobRecord>, asked: Instant) -> Vec<(JobRecord, Term)> {
    let term = |job: JobRecord| {
        let term = job.lease.as_ref().map(|lease| Term::granted(lease, asked));
        if term.is_none() {
            tracing::error!(job = %job.id, "a job was claimed without a lease");
        }
        Some((job, term?))
    };
    jobs.into_iter().filter_map(term).collect()
}

async fn told_to_drain(order: &mut watch::Receiver<Order>) {
    // An error means that whoever could tell is gone, which is telling enough.
    let _ = order.wait_for(|order| *order == Order::Drain).await;
}

async fn told_by_no_one(order: &mut watch::Receiver<Order>) {
    while order.changed().await.is_ok() {}
}

/// Ends the holding of a job, also when the runtime drops the handler.
struct Hold(Option<(Arc<Held>, Live)>);

impl Hold {
    fn end(mut self, report: Report) {
        if let Some((held, live)) = self.0.take() {
            held.end(report, live);
        }
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        if let Some((held, _live)) = self.0.take() {
            held.abandon();
        }
    }
}

/// One attempt, on the handlers' runtime.
async fn attempt(handler: Handler, held: Arc<Held>, live: Live, permit: OwnedSemaphorePermit) {
    let hold = Hold(Some((held.clone(), live)));
    let mut work = pin!(handler(held.clone()));
    let report = tokio::select! {
        biased;
        report = &mut work => Some(report),
        // Once more, so that a handler that waits for the signal has seen it before it is dropped.
        _ = must_leave(&held) => work.as_mut().now_or_never(),
    };
    // Who has lost the lease has nothing more to say.
    if held.alarm.now().is_some_and(Stop::is_over) {
        return;
    }
    let report = report.unwrap_or_else(|| Report::new(&*held.record.id, held.fence, Verb::Release));
    // The report is handed in before the slot is free: a worker that drains waits for both, in this order.
    hold.end(report);
    drop(permit);
}

/// Waits until the handler has to be dropped.
async fn must_leave(held: &Held) -> Stop {
    let stop = held.alarm.raised(Stop::Shutdown).await;
    if stop.is_over() {
        return stop;
    }
    let graver = held.alarm.raised(Stop::HardCancel);
    tokio::time::timeout(SHUTDOWN_GRACE, graver).await.unwrap_or(stop)
}
