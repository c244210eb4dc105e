//! Renews leases, and stops handlers whose lease is lost. Runs on the worker's thread, so a handler that blocks every thread
//! of its runtime loses nothing.
//!
//! A lease is counted on the monotonic clock from before the request was sent that got or renewed it. The server counts from
//! later, so a lease expires here before it expires at the server.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::held_job::HeldJob;
use super::stop::Stop;
use crate::client::Client;
use crate::client::transport::backoff;
use crate::error::{Problem, Result};
use crate::request::{Report, Verb};
use tenure_api::{CancelMode, HeartbeatAnswer, JobRecord, Lease, instant};

const HEARTBEAT_DEFAULT: Duration = Duration::from_secs(5);
const TTL_DEFAULT: Duration = Duration::from_secs(30);
const BATCH_MAX: usize = 1000;

/// Handle of the task that renews leases.
#[derive(Clone, Debug)]
pub(super) struct LeaseKeeper(mpsc::UnboundedSender<KeeperMessage>);

#[derive(Debug)]
enum KeeperMessage {
    Add(Arc<HeldJob>, LocalLease),
    Remove(LeaseKey),
    StopAll,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct LeaseKey {
    pub(super) job: String,
    pub(super) fence: u64,
}

impl LeaseKey {
    /// The key of a claimed job; without a lease, the fence is 0.
    pub(super) fn of(job: &JobRecord) -> Self {
        Self { job: job.id.clone(), fence: job.lease.as_ref().map_or(0, |lease| lease.fence) }
    }
}

/// A lease by this machine's clock.
#[derive(Clone, Debug)]
pub(super) struct LocalLease {
    heartbeat: Duration,
    ttl: Duration,
    /// When it expires unless it is renewed.
    ends: Instant,
    /// The same time by the server's clock.
    expires_at_ms: Option<i64>,
    heartbeat_at: Instant,
}

impl LocalLease {
    /// A lease that was granted after `sent_at`.
    pub(super) fn granted(lease: &Lease, sent_at: Instant) -> Self {
        let heartbeat = lease.heartbeat.unwrap_or(HEARTBEAT_DEFAULT).max(Duration::from_millis(1));
        let ttl = lease.ttl.unwrap_or(TTL_DEFAULT);
        let expires_at_ms = instant::millis(&lease.expires_at);
        let span = ttl.min(heartbeat * 2);
        Self { heartbeat, ttl, ends: sent_at + span, expires_at_ms, heartbeat_at: sent_at + heartbeat }
    }

    /// A lease of unknown age that was confirmed by a heartbeat sent at `sent_at`. The server renews it if half or less
    /// remains, so at least half remains.
    pub(super) fn confirmed(lease: &Lease, sent_at: Instant) -> Self {
        let local = Self::granted(lease, sent_at);
        Self { ends: sent_at + (local.ttl / 2).min(local.heartbeat * 2), ..local }
    }

    /// A heartbeat sent at `sent_at` was accepted. The end moves by as much as it moved by the server's clock. That keeps the
    /// time that passed between the claim and the grant for good, so it is at least the end of a lease of unknown age.
    fn renew(&mut self, lease: Option<&Lease>, sent_at: Instant) {
        let expires_at_ms = lease.and_then(|lease| instant::millis(&lease.expires_at));
        let least = sent_at + (self.ttl / 2).min(self.heartbeat * 2);
        self.ends = match (self.expires_at_ms, expires_at_ms) {
            (Some(before), Some(now)) if now >= before => {
                let moved = self.ends + Duration::from_millis(now.abs_diff(before));
                moved.max(least).min(sent_at + self.span())
            }
            (Some(_), Some(_)) => self.ends.max(least),
            _ => least,
        };
        self.expires_at_ms = expires_at_ms.or(self.expires_at_ms);
        self.heartbeat_at = sent_at + self.heartbeat;
    }

    /// How long it lasts without a heartbeat.
    pub(super) fn span(&self) -> Duration {
        self.ttl.min(self.heartbeat * 2)
    }

    pub(super) fn is_expired(&self) -> bool {
        self.ends <= Instant::now()
    }
}

impl LeaseKeeper {
    /// The handle and its task, which ends when all handles are dropped.
    pub(super) fn new(client: Client, worker: String) -> (Self, impl Future<Output = ()>) {
        let (sender, receiver) = mpsc::unbounded_channel();
        let (leases, in_flight) = (HashMap::new(), FuturesUnordered::new());
        let task = KeeperTask { client, worker, leases, in_flight, failures: 0 };
        (Self(sender), task.run(receiver))
    }

    pub(super) fn add(&self, held: Arc<HeldJob>, lease: LocalLease) {
        let _ = self.0.send(KeeperMessage::Add(held, lease));
    }

    pub(super) fn remove(&self, job: &str, fence: u64) {
        let _ = self.0.send(KeeperMessage::Remove(LeaseKey { job: job.to_owned(), fence }));
    }

    /// Signals the shutdown to every handler.
    pub(super) fn stop_all(&self) {
        let _ = self.0.send(KeeperMessage::StopAll);
    }
}

struct KeptLease {
    held: Arc<HeldJob>,
    lease: LocalLease,
    /// A heartbeat is in flight.
    in_flight: bool,
}

struct HeartbeatReply {
    sent_at: Instant,
    leases: Vec<LeaseKey>,
    answer: Result<Vec<Result<Value, Problem>>>,
}

struct KeeperTask {
    client: Client,
    worker: String,
    leases: HashMap<LeaseKey, KeptLease>,
    in_flight: FuturesUnordered<BoxFuture<'static, HeartbeatReply>>,
    /// Consecutive heartbeats without an answer.
    failures: u32,
}

impl KeeperTask {
    async fn run(mut self, mut inbox: mpsc::UnboundedReceiver<KeeperMessage>) {
        loop {
            let next = self.next_deadline();
            let deadline = sleep_until(next);
            tokio::select! {
                biased;
                message = inbox.recv() => {
                    let Some(message) = message else { return };
                    self.handle(message);
                    while let Ok(message) = inbox.try_recv() {
                        self.handle(message);
                    }
                }
                Some(reply) = self.in_flight.next() => self.handle_reply(reply),
                () = deadline => {}
            }
            self.drop_expired();
            self.send_due_heartbeats();
        }
    }

    fn handle(&mut self, message: KeeperMessage) {
        match message {
            KeeperMessage::Add(held, lease) => {
                let key = LeaseKey { job: held.record.id.clone(), fence: held.fence };
                self.leases.insert(key, KeptLease { held, lease, in_flight: false });
            }
            KeeperMessage::Remove(key) => drop(self.leases.remove(&key)),
            KeeperMessage::StopAll => {
                self.leases.values().for_each(|kept| kept.held.stop_signal.raise(Stop::Shutdown));
            }
        }
    }

    /// The next expiry or heartbeat.
    fn next_deadline(&self) -> Option<Instant> {
        let deadlines = self.leases.values().map(|KeptLease { lease, in_flight, .. }| {
            if *in_flight { lease.ends } else { lease.ends.min(lease.heartbeat_at) }
        });
        deadlines.min()
    }

    fn drop_expired(&mut self) {
        self.leases.retain(|LeaseKey { job, fence }, kept| {
            let expired = kept.lease.is_expired();
            if expired {
                tracing::warn!(%job, fence, "lease expired: server not reached in time");
                kept.held.stop_signal.raise(Stop::LeaseLost);
            }
            !expired
        });
    }

    /// Sends the heartbeats that are due, together with those that are due soon.
    fn send_due_heartbeats(&mut self) {
        let now = Instant::now();
        let idle = || self.leases.iter().filter(|(_, kept)| !kept.in_flight);
        if !idle().any(|(_, kept)| kept.lease.heartbeat_at <= now) {
            return;
        }
        let soon = idle().filter(|(_, kept)| kept.lease.heartbeat_at <= now + kept.lease.heartbeat / 4);
        let leases: Vec<LeaseKey> = soon.map(|(key, _)| key.clone()).take(BATCH_MAX).collect();
        let mut shortest = Duration::MAX;
        for key in &leases {
            let kept = self.leases.get_mut(key).expect("the key was read from the map");
            kept.in_flight = true;
            shortest = shortest.min(kept.lease.heartbeat);
        }
        let (client, worker) = (self.client.clone(), self.worker.clone());
        self.in_flight.push(Box::pin(async move {
            let answer = send_heartbeats(&client, &worker, &leases, shortest / 2).await;
            HeartbeatReply { sent_at: now, leases, answer }
        }));
    }

    fn handle_reply(&mut self, reply: HeartbeatReply) {
        let HeartbeatReply { sent_at, leases, answer } = reply;
        let results = match answer {
            Ok(results) => results,
            Err(error) => {
                self.failures += 1;
                tracing::warn!(%error, leases = leases.len(), "heartbeats not answered");
                return leases.iter().for_each(|key| self.retry_soon(key));
            }
        };
        self.failures = 0;
        for (key, result) in leases.iter().zip(results) {
            // The job may have ended since.
            let Some(kept) = self.leases.get_mut(key) else { continue };
            let LeaseKey { job, fence } = key;
            match result {
                Ok(answer) => {
                    let answer = HeartbeatAnswer::deserialize(answer).unwrap_or_default();
                    kept.in_flight = false;
                    kept.lease.renew(answer.lease.as_ref(), sent_at);
                    match answer.cancel {
                        Some(CancelMode::Soft) => kept.held.stop_signal.raise(Stop::SoftCancel),
                        Some(CancelMode::Hard) => kept.held.stop_signal.raise(Stop::HardCancel),
                        None => {}
                    }
                }
                Err(problem) if problem.is_lease_conflict() || problem.status == 404 => {
                    tracing::warn!(%job, fence, %problem, "lease lost");
                    // Revoked: the server has ended the attempt (cancelled, dead-lettered or timed out).
                    let is_revoked = problem.extra.get("cause").is_some_and(|cause| cause == "revoked");
                    let stop = if is_revoked { Stop::HardCancel } else { Stop::LeaseLost };
                    kept.held.stop_signal.raise(stop);
                    self.leases.remove(key);
                }
                Err(problem) => {
                    tracing::warn!(%job, fence, %problem, "heartbeat refused");
                    self.retry_soon(key);
                }
            }
        }
    }

    /// Schedules another heartbeat, early enough for several before the lease expires.
    fn retry_soon(&mut self, key: &LeaseKey) {
        let Some(kept) = self.leases.get_mut(key) else { return };
        let pause = backoff(self.failures.max(1)).min(kept.lease.heartbeat / 8);
        kept.in_flight = false;
        kept.lease.heartbeat_at = Instant::now() + pause;
    }
}

/// Without a time, never resolves.
pub(super) async fn sleep_until(time: Option<Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time).await,
        None => std::future::pending().await,
    }
}

/// Sends heartbeats for these leases in one call.
pub(super) async fn send_heartbeats(
    client: &Client,
    worker: &str,
    leases: &[LeaseKey],
    timeout: Duration,
) -> Result<Vec<Result<Value, Problem>>> {
    let heartbeat = |key: &LeaseKey| Report::new(&key.job, key.fence, Verb::Heartbeat);
    let reports: Vec<Report> = leases.iter().map(heartbeat).collect();
    client.reports_within(worker, &reports, timeout).await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lease(expires_at: &str) -> Lease {
        let (heartbeat, ttl) = (Some(Duration::from_secs(20)), Some(Duration::from_mins(1)));
        Lease { fence: 1, expires_at: expires_at.into(), heartbeat, ttl }
    }

    fn at(seconds: u64) -> String {
        format!("2026-01-01T00:{:02}:{:02}.000Z", seconds / 60, seconds % 60)
    }

    /// Claim sent at 0 and granted at 3 by the server's clock.
    #[test]
    fn a_lease_expires_here_before_it_expires_at_the_server() {
        let begin = Instant::now();
        let after = |seconds| begin + Duration::from_secs(seconds);
        let mut local = LocalLease::granted(&lease(&at(43)), begin);
        assert_eq!((local.ends, local.heartbeat_at), (after(40), after(20)));
        // Two heartbeats after the server's 21.
        local.renew(Some(&lease(&at(61))), after(20));
        assert_eq!((local.ends, local.heartbeat_at), (after(58), after(40)));
        // The lease ends at the server's 63: more than half was left, so it was not renewed.
        local.renew(Some(&lease(&at(63))), after(31));
        assert_eq!(local.ends, after(61));
        // Renewed; the server's clock was set forward, which counts for two heartbeats at most.
        local.renew(Some(&lease(&at(900))), after(50));
        assert_eq!(local.ends, after(90));
        // The server's clock was set back: the end stays.
        local.renew(Some(&lease(&at(100))), after(60));
        assert_eq!(local.ends, after(90));
    }

    /// Claim sent at 0 and granted at 20 by the server's clock, as long as a lease is fresh.
    #[test]
    fn a_late_grant_does_not_shorten_the_lease_for_good() {
        let begin = Instant::now();
        let mut local = LocalLease::granted(&lease(&at(60)), begin);
        local.renew(Some(&lease(&at(60))), begin + Duration::from_secs(20));
        assert_eq!(local.ends, begin + Duration::from_secs(50));
    }

    #[test]
    fn a_lease_of_unknown_age_has_half_of_its_time_left() {
        let begin = Instant::now();
        let mut local = LocalLease::confirmed(&lease(""), begin);
        assert_eq!(local.ends, begin + Duration::from_secs(30));
        local.renew(None, begin + Duration::from_secs(10));
        assert_eq!(local.ends, begin + Duration::from_secs(40));
    }
}
