//! The loop of the worker's thread: claims jobs, starts them on the handlers' runtime, and drains. It has a separate
//! thread, so that a blocked handler cannot delay heartbeats and reports.

use std::cell::Cell;
use std::collections::HashMap;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::join_all;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::Instant;

use super::fail::{Fail, Stage};
use super::held_job::{HeldJob, OpenJob, WorkerHandles};
use super::job::Handler;
use super::lease_keeper::{LeaseKeeper, LeaseKey, LocalLease, send_heartbeats, sleep_until};
use super::reporter::{Outgoing, Reporter};
use super::stop::Stop;
use super::trace;
use crate::client::transport::backoff;
use crate::client::{Client, UnreadableJob, fresh_id};
use crate::error::Result;
use crate::request::{Claim, Report, Verb};
use tenure_api::JobRecord;
use tracing::Instrument as _;

const CLAIM_MAX: usize = 1000;
const CONFIRM_TRIES: u32 = 3;
/// How long a handler may run after it got `Stop::Shutdown`.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(1);
/// How long a draining worker waits for the answers to its last reports.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

pub(super) struct Settings {
    pub(super) name: String,
    pub(super) queues: Vec<String>,
    pub(super) slots: usize,
    pub(super) wait: Duration,
    pub(super) drain: Option<Duration>,
    pub(super) handlers: HashMap<String, Handler>,
}

struct ClaimLoop {
    settings: Settings,
    handles: WorkerHandles,
    slots: Arc<Semaphore>,
    open_jobs: watch::Sender<usize>,
    wait_max: Cell<Duration>,
    handler_runtime: tokio::runtime::Handle,
    /// What the worker says about itself with each claim.
    about: String,
}

/// `slots=8; host="gpu-1"; version="tenure-client/0.1.0"`.
fn about(slots: usize) -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let host = host.or_else(|| std::env::var("HOSTNAME").ok()).unwrap_or_default();
    let is_plain = |letter: &char| letter.is_ascii_graphic() && !"\";=".contains(*letter);
    let host: String = host.chars().filter(is_plain).take(100).collect();
    format!("slots={slots}; host=\"{host}\"; version=\"tenure-client/{}\"", env!("CARGO_PKG_VERSION"))
}

/// Claims and runs jobs until it is to drain or the sender of that signal is dropped, then drains.
pub(super) async fn run(
    settings: Settings,
    client: Client,
    handler_runtime: tokio::runtime::Handle,
    mut draining: watch::Receiver<bool>,
) -> Result<()> {
    let (lease_keeper, keep_leases) = LeaseKeeper::new(client.clone(), settings.name.clone());
    let (reporter, send_reports) = Reporter::new(client.clone(), settings.name.clone());
    tokio::spawn(keep_leases);
    tokio::spawn(send_reports);
    let runtime = tokio::runtime::Handle::current();
    let handles = WorkerHandles { worker: settings.name.clone(), client, runtime, lease_keeper, reporter };
    let slots = Arc::new(Semaphore::new(settings.slots));
    let (open_jobs, wait_max) = (watch::Sender::new(0), Cell::new(Duration::MAX));
    let about = about(settings.slots);
    let claim_loop = ClaimLoop { settings, handles, slots, open_jobs, wait_max, handler_runtime, about };
    let ended = claim_loop.claim_until_drained(&mut draining).await;
    if let Err(error) = &ended {
        tracing::error!(%error, "claims refused; worker stops");
    }
    claim_loop.drain(&mut draining).await;
    ended
}

impl ClaimLoop {
    async fn claim_until_drained(&self, draining: &mut watch::Receiver<bool>) -> Result<()> {
        loop {
            let mut permits = tokio::select! {
                biased;
                () = drain_requested(draining) => return Ok(()),
                permits = self.free_slots() => permits,
            };
            let claim = self.new_claim(permits.len());
            let claimed = tokio::select! {
                biased;
                () = drain_requested(draining) => {
                    self.release_unanswered(claim).await;
                    return Ok(());
                }
                claimed = self.send_claim(&claim) => claimed?,
            };
            for group in self.groups(claimed) {
                self.start_jobs(group, &mut permits);
            }
        }
    }

    fn new_claim(&self, count: usize) -> Claim {
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

    /// Waits for a free slot, and takes all free slots.
    async fn free_slots(&self) -> Vec<OwnedSemaphorePermit> {
        let first = self.slots.clone().acquire_owned().await.expect("the semaphore is never closed");
        let more = std::iter::from_fn(|| self.slots.clone().try_acquire_owned().ok());
        std::iter::once(first).chain(more).take(CLAIM_MAX).collect()
    }

    /// Sends a claim until it is answered, always with the same request id, so that the server repeats a lost answer.
    async fn send_claim(&self, claim: &Claim) -> Result<Vec<(JobRecord, LocalLease)>> {
        let mut tries = 0;
        loop {
            let sent_at = Instant::now();
            match self.handles.client.claim_each(claim, Some(self.about.clone())).await {
                Ok(jobs) => {
                    let claimed = with_leases(self.fail_unreadable(jobs), sent_at);
                    let spans = claimed.iter().map(|(_, lease)| lease.span());
                    let shortest = spans.min().unwrap_or(Duration::MAX);
                    self.limit_wait(shortest);
                    let fresh = tries == 0 && sent_at.elapsed() <= shortest / 2;
                    return Ok(if fresh { claimed } else { self.confirm_leases(claimed).await });
                }
                Err(error) if error.is_retryable() => {
                    tries += 1;
                    tracing::warn!(%error, tries, "claim not answered");
                    tokio::time::sleep(error.retry_after().unwrap_or_else(|| backoff(tries))).await;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// The jobs that can be read. For each of the others a permanent failure is reported.
    fn fail_unreadable(&self, jobs: Vec<Result<JobRecord, UnreadableJob>>) -> Vec<JobRecord> {
        let readable = |job: Result<JobRecord, UnreadableJob>| {
            let UnreadableJob { id, fence, why } = match job {
                Ok(job) => return Some(job),
                Err(unreadable) => unreadable,
            };
            tracing::warn!(job = %id, fence, %why, "claimed job cannot be read");
            let fail = Fail::permanent("BAD_PAYLOAD", why).stage(Stage::Input);
            let report = fail.into_report(&id, fence);
            self.handles.reporter.send(Outgoing::final_report(report, OpenJob::new(&self.open_jobs)));
            None
        };
        jobs.into_iter().filter_map(readable).collect()
    }

    /// After a long or repeated claim it is unknown when the leases began: a heartbeat confirms which of them are live.
    async fn confirm_leases(&self, claimed: Vec<(JobRecord, LocalLease)>) -> Vec<(JobRecord, LocalLease)> {
        let keys: Vec<LeaseKey> = claimed.iter().map(|(job, _)| LeaseKey::of(job)).collect();
        for tries in 1..=CONFIRM_TRIES {
            if keys.is_empty() {
                break;
            }
            let sent_at = Instant::now();
            match send_heartbeats(&self.handles.client, &self.settings.name, &keys, ANSWER_TIMEOUT).await {
                Ok(results) => {
                    let live = claimed.into_iter().zip(results).filter(|(_, result)| result.is_ok());
                    let confirmed = live.filter_map(|((job, _), _)| {
                        let lease = LocalLease::confirmed(job.lease.as_ref()?, sent_at);
                        Some((job, lease))
                    });
                    return confirmed.collect();
                }
                Err(error) => {
                    tracing::warn!(%error, jobs = keys.len(), "leases not confirmed");
                    tokio::time::sleep(backoff(tries)).await;
                }
            }
        }
        // Not started: their leases expire.
        Vec::new()
    }

    /// Limits the wait of claims to half of the shortest lease, so that leases are still fresh when the answer arrives.
    fn limit_wait(&self, span: Duration) {
        self.wait_max.set(self.wait_max.get().min(span / 2));
    }

    /// The jobs that one call of a handler gets: for a batch handler those of one group, else one.
    fn groups(&self, claimed: Vec<(JobRecord, LocalLease)>) -> Vec<Vec<(JobRecord, LocalLease)>> {
        let (mut groups, mut places) = (Vec::<Vec<_>>::new(), HashMap::new());
        for (job, lease) in claimed {
            let is_batch = self.settings.handlers.get(&job.job_type).is_some_and(|handler| handler.is_batch);
            let group = job.group.clone().filter(|_| is_batch).map(|group| (job.job_type.clone(), group));
            let next = groups.len();
            let place = group.map_or(next, |group| *places.entry(group).or_insert(next));
            if place == next {
                groups.push(Vec::new());
            }
            groups[place].push((job, lease));
        }
        groups
    }

    /// Starts the handler of these jobs. A job without a handler or a slot is released, one without time left is not started.
    fn start_jobs(&self, jobs: Vec<(JobRecord, LocalLease)>, permits: &mut Vec<OwnedSemaphorePermit>) {
        let handler = jobs.first().and_then(|(job, _)| self.settings.handlers.get(&job.job_type));
        let (mut group, mut slots) = (Vec::new(), None::<OwnedSemaphorePermit>);
        for (record, lease) in jobs {
            let fence = LeaseKey::of(&record).fence;
            let open = OpenJob::new(&self.open_jobs);
            let (Some(_), Some(permit)) = (handler, permits.pop()) else {
                tracing::warn!(job = %record.id, job_type = %record.job_type, "job released: no handler or no slot");
                let report = Report::new(record.id, fence, Verb::Release);
                self.handles.reporter.send(Outgoing::final_report(report, open));
                continue;
            };
            if lease.is_expired() {
                tracing::warn!(job = %record.id, fence, "lease expired before the job started");
                continue;
            }
            let held = HeldJob::new(record, fence, self.handles.clone());
            self.handles.lease_keeper.add(held.clone(), lease);
            group.push((held, open));
            match &mut slots {
                Some(slots) => slots.merge(permit),
                None => slots = Some(permit),
            }
        }
        if let (Some(handler), Some(slots)) = (handler, slots) {
            self.handler_runtime.spawn(run_attempts(handler.clone(), group, slots));
        }
    }

    /// Repeats an unanswered claim, and releases the jobs that it got.
    async fn release_unanswered(&self, claim: Claim) {
        let again = Claim { wait: None, max: 1, ..claim };
        let sent = self.handles.client.claim_each(&again, Some(self.about.clone()));
        let answer = tokio::time::timeout(Duration::from_secs(5), sent).await;
        let jobs = answer.ok().and_then(Result::ok).unwrap_or_default();
        for job in jobs {
            let LeaseKey { job, fence } = match job {
                Ok(job) => LeaseKey::of(&job),
                Err(UnreadableJob { id, fence, .. }) => LeaseKey { job: id, fence },
            };
            let report = Report::new(job, fence, Verb::Release);
            self.handles.reporter.send(Outgoing::final_report(report, OpenJob::new(&self.open_jobs)));
        }
    }

    /// Waits for handlers up to the drain limit, then for the answers to their reports.
    async fn drain(&self, draining: &mut watch::Receiver<bool>) {
        let finished = self.slots.acquire_many(self.settings.slots as u32);
        let limit = sleep_until(self.settings.drain.and_then(|limit| Instant::now().checked_add(limit)));
        tokio::select! {
            biased;
            _ = finished => {}
            () = limit => self.handles.lease_keeper.stop_all(),
            () = handle_dropped(draining) => self.handles.lease_keeper.stop_all(),
        }
        let mut open_jobs = self.open_jobs.subscribe();
        let answered = open_jobs.wait_for(|count| *count == 0);
        if tokio::time::timeout(SHUTDOWN_GRACE + ANSWER_TIMEOUT, answered).await.is_err() {
            tracing::warn!("worker stopped with unanswered reports; their leases expire");
        }
    }
}

fn with_leases(jobs: Vec<JobRecord>, sent_at: Instant) -> Vec<(JobRecord, LocalLease)> {
    let with_lease = |job: JobRecord| {
        let lease = job.lease.as_ref().map(|lease| LocalLease::granted(lease, sent_at));
        if lease.is_none() {
            tracing::error!(job = %job.id, "claimed job has no lease");
        }
        Some((job, lease?))
    };
    jobs.into_iter().filter_map(with_lease).collect()
}

async fn drain_requested(draining: &mut watch::Receiver<bool>) {
    // An error means that the sender was dropped, which counts as a request.
    let _ = draining.wait_for(|draining| *draining).await;
}

async fn handle_dropped(draining: &mut watch::Receiver<bool>) {
    while draining.changed().await.is_ok() {}
}

/// Ends a held job, even if the runtime drops the handler.
struct HoldGuard(Option<(Arc<HeldJob>, OpenJob)>);

impl HoldGuard {
    fn end(mut self, report: Report) {
        if let Some((held, open)) = self.0.take() {
            held.end(report, open);
        }
    }
}

impl Drop for HoldGuard {
    fn drop(&mut self) {
        if let Some((held, _open)) = self.0.take() {
            held.abandon();
        }
    }
}

/// Runs an attempt of each job in one call of the handler, on the handlers' runtime.
async fn run_attempts(handler: Handler, group: Vec<(Arc<HeldJob>, OpenJob)>, slots: OwnedSemaphorePermit) {
    let jobs: Vec<Arc<HeldJob>> = group.iter().map(|(held, _)| held.clone()).collect();
    let guards: Vec<HoldGuard> = group.into_iter().map(|held| HoldGuard(Some(held))).collect();
    let spans: Vec<tracing::Span> = jobs.iter().map(|held| trace::span_of(&held.record)).collect();
    // The handler runs in the span of the first job.
    let mut work = pin!(handler.run(jobs.clone()).instrument(spans[0].clone()));
    let reports = tokio::select! {
        biased;
        reports = &mut work => Some(reports),
        // Polled once more, so that a handler that waits for the signal sees it before it is dropped.
        _ = join_all(jobs.iter().map(|held| must_stop(held))) => work.as_mut().now_or_never(),
    };
    let mut reports = reports.unwrap_or_default().into_iter();
    for ((held, guard), span) in jobs.iter().zip(guards).zip(spans) {
        let report = reports.next();
        // Without a lease there is nothing to report.
        if held.is_lost() {
            continue;
        }
        let report = report.unwrap_or_else(|| Report::new(&*held.record.id, held.fence, Verb::Release));
        trace::end(&span, &report);
        // The report is queued before the slot is free: a draining worker waits for both, in this order.
        guard.end(report);
    }
    // At once, so that the next claim can get a whole group.
    drop(slots);
}

/// Waits until the handler must be dropped.
async fn must_stop(held: &HeldJob) -> Stop {
    let stop = held.stop_signal.wait_for(Stop::Shutdown).await;
    if stop.is_over() {
        return stop;
    }
    let stronger = held.stop_signal.wait_for(Stop::HardCancel);
    tokio::time::timeout(SHUTDOWN_GRACE, stronger).await.unwrap_or(stop)
}
