//! Keeps leases alive and tells handlers when one is lost. It runs on the worker's own thread, so a handler that blocks
//! every thread of its runtime loses nothing.
//!
//! A lease is counted from before the request that got or renewed it was sent, on the clock that cannot be set. The
//! server counts from later, so here a lease is always over before it is over there.

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

use super::held::Held;
use super::stop::Stop;
use crate::client::Client;
use crate::client::transport::backoff;
use crate::error::{Problem, Result};
use crate::request::{Report, Verb};
use crate::wire::{Beat, CancelMode, Lease, instant};

const HEARTBEAT_UNTOLD: Duration = Duration::from_secs(5);
const TTL_UNTOLD: Duration = Duration::from_secs(30);
const BATCH_MAX: usize = 1000;

/// Where held jobs are handed in and taken out.
#[derive(Clone, Debug)]
pub(super) struct Keeper(mpsc::UnboundedSender<Word>);

#[derive(Debug)]
enum Word {
    Hold(Arc<Held>, Term),
    Forget((String, u64)),
    StopAll,
}

/// How long a lease lives, by this machine's clock.
#[derive(Clone, Debug)]
pub(super) struct Term {
    heartbeat: Duration,
    ttl: Duration,
    /// When it is over unless the server is heard before.
    ends: Instant,
    /// The same moment as the server told it, on its own calendar.
    told_ms: Option<i64>,
    beat_at: Instant,
}

impl Term {
    /// A lease that was granted no earlier than `asked`.
    pub(super) fn granted(lease: &Lease, asked: Instant) -> Self {
        let heartbeat = lease.heartbeat.unwrap_or(HEARTBEAT_UNTOLD).max(Duration::from_millis(1));
        let ttl = lease.ttl.unwrap_or(TTL_UNTOLD);
        let told_ms = instant::millis(&lease.expires_at);
        let span = ttl.min(heartbeat * 2);
        Self { heartbeat, ttl, ends: asked + span, told_ms, beat_at: asked + heartbeat }
    }

    /// A lease of unknown age that a heartbeat, sent at `asked`, found alive. It renews when half remains or less, so
    /// at least half remains.
    pub(super) fn confirmed(lease: &Lease, asked: Instant) -> Self {
        let term = Self::granted(lease, asked);
        Self { ends: asked + (term.ttl / 2).min(term.heartbeat * 2), ..term }
    }

    /// A heartbeat that was sent at `asked` was accepted. The end moves by as much as it moved on the server's calendar.
    fn renew(&mut self, lease: Option<&Lease>, asked: Instant) {
        let told_ms = lease.and_then(|lease| instant::millis(&lease.expires_at));
        let most = asked + self.span();
        self.ends = match (self.told_ms, told_ms) {
            (Some(before), Some(now)) if now >= before => {
                most.min(self.ends + Duration::from_millis(now.abs_diff(before)))
            }
            (Some(_), Some(_)) => self.ends,
            _ => asked + (self.ttl / 2).min(self.heartbeat * 2),
        };
        self.told_ms = told_ms.or(self.told_ms);
        self.beat_at = asked + self.heartbeat;
    }

    /// How long it lives without being heard of.
    pub(super) fn span(&self) -> Duration {
        self.ttl.min(self.heartbeat * 2)
    }

    pub(super) fn is_over(&self) -> bool {
        self.ends <= Instant::now()
    }
}

impl Keeper {
    /// The keeper and its work, which ends when no one can hand in any more.
    pub(super) fn new(client: Client, worker: String) -> (Self, impl Future<Output = ()>) {
        let (sender, receiver) = mpsc::unbounded_channel();
        let round =
            Round { client, worker, kept: HashMap::new(), under_way: FuturesUnordered::new(), failures: 0 };
        (Self(sender), round.work(receiver))
    }

    pub(super) fn hold(&self, held: Arc<Held>, term: Term) {
        let _ = self.0.send(Word::Hold(held, term));
    }

    pub(super) fn forget(&self, job: &str, fence: u64) {
        let _ = self.0.send(Word::Forget((job.to_owned(), fence)));
    }

    /// Tells every handler that the worker is going away.
    pub(super) fn stop_all(&self) {
        let _ = self.0.send(Word::StopAll);
    }
}

struct Kept {
    held: Arc<Held>,
    term: Term,
    /// Whether a heartbeat is under way.
    beating: bool,
}

/// Heartbeats that came back: when they were sent, for which leases, and what the server said.
type Came = (Instant, Vec<(String, u64)>, Result<Vec<Result<Value, Problem>>>);

struct Round {
    client: Client,
    worker: String,
    kept: HashMap<(String, u64), Kept>,
    under_way: FuturesUnordered<BoxFuture<'static, Came>>,
    /// Heartbeats without an answer, in a row.
    failures: u32,
}

impl Round {
    async fn work(mut self, mut inbox: mpsc::UnboundedReceiver<Word>) {
        loop {
            let next = self.next_moment();
            let moment = async {
                match next {
                    Some(next) => tokio::time::sleep_until(next).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                word = inbox.recv() => {
                    let Some(word) = word else { return };
                    self.hear(word);
                    while let Ok(word) = inbox.try_recv() {
                        self.hear(word);
                    }
                }
                Some(came) = self.under_way.next() => self.settle(came),
                () = moment => {}
            }
            self.give_up_what_is_over();
            self.beat();
        }
    }

    fn hear(&mut self, word: Word) {
        match word {
            Word::Hold(held, term) => {
                let name = (held.record.id.clone(), held.fence);
                self.kept.insert(name, Kept { held, term, beating: false });
            }
            Word::Forget(name) => drop(self.kept.remove(&name)),
            Word::StopAll => self.kept.values().for_each(|kept| kept.held.alarm.raise(Stop::Shutdown)),
        }
    }

    /// When there is something to do though nothing came: an end, or a heartbeat.
    fn next_moment(&self) -> Option<Instant> {
        let moments = self.kept.values().map(
            |Kept { term, beating, .. }| {
                if *beating { term.ends } else { term.ends.min(term.beat_at) }
            },
        );
        moments.min()
    }

    fn give_up_what_is_over(&mut self) {
        self.kept.retain(|(job, fence), kept| {
            let over = kept.term.is_over();
            if over {
                tracing::warn!(%job, fence, "the lease ran out before the server could be reached");
                kept.held.alarm.raise(Stop::LeaseLost);
            }
            !over
        });
    }

    /// Sends the heartbeats that are due, and with them those that soon will be.
    fn beat(&mut self) {
        let now = Instant::now();
        let idle = || self.kept.iter().filter(|(_, kept)| !kept.beating);
        if !idle().any(|(_, kept)| kept.term.beat_at <= now) {
            return;
        }
        let soon = idle().filter(|(_, kept)| kept.term.beat_at <= now + kept.term.heartbeat / 4);
        let names: Vec<_> = soon.map(|(name, _)| name.clone()).take(BATCH_MAX).collect();
        let shortest =
            names.iter().filter_map(|name| self.kept.get(name)).map(|kept| kept.term.heartbeat).min();
        for name in &names {
            self.kept.get_mut(name).expect("it was found above").beating = true;
        }
        let (client, worker) = (self.client.clone(), self.worker.clone());
        let timeout = shortest.unwrap_or(HEARTBEAT_UNTOLD) / 2;
        self.under_way.push(Box::pin(async move {
            let answer = heartbeats(&client, &worker, &names, timeout).await;
            (now, names, answer)
        }));
    }

    fn settle(&mut self, (asked, names, answer): Came) {
        let results = match answer {
            Ok(results) => results,
            Err(error) => {
                self.failures += 1;
                tracing::warn!(%error, leases = names.len(), "heartbeats had no answer");
                for name in &names {
                    self.beat_again(name);
                }
                return;
            }
        };
        self.failures = 0;
        for (name, result) in names.iter().zip(results) {
            // A job that has ended meanwhile has no lease to lose.
            let Some(kept) = self.kept.get_mut(name) else { continue };
            let (job, fence) = name;
            match result {
                Ok(answer) => {
                    let Beat { lease, cancel } = Beat::deserialize(answer).unwrap_or_default();
                    kept.beating = false;
                    kept.term.renew(lease.as_ref(), asked);
                    match cancel {
                        Some(CancelMode::Soft) => kept.held.alarm.raise(Stop::SoftCancel),
                        Some(CancelMode::Hard) => kept.held.alarm.raise(Stop::HardCancel),
                        None => {}
                    }
                }
                Err(problem) if problem.is_lease_conflict() || problem.status == 404 => {
                    tracing::warn!(%job, fence, %problem, "the lease is lost");
                    kept.held.alarm.raise(Stop::LeaseLost);
                    self.kept.remove(name);
                }
                Err(problem) => {
                    tracing::warn!(%job, fence, %problem, "a heartbeat was refused");
                    self.beat_again(name);
                }
            }
        }
    }

    /// Tries again soon, several times before the lease is over.
    fn beat_again(&mut self, name: &(String, u64)) {
        let Some(kept) = self.kept.get_mut(name) else { return };
        let pause = backoff(self.failures.max(1)).min(kept.term.heartbeat / 8);
        kept.beating = false;
        kept.term.beat_at = Instant::now() + pause;
    }
}

/// Beats for these leases in one call.
pub(super) async fn heartbeats(
    client: &Client,
    worker: &str,
    names: &[(String, u64)],
    timeout: Duration,
) -> Result<Vec<Result<Value, Problem>>> {
    let beat = |(job, fence): &(String, u64)| Report::new(job, *fence, Verb::Heartbeat);
    let reports: Vec<Report> = names.iter().map(beat).collect();
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

    /// Asked at 0, granted at 3, heard at 20 and 45: what the server tells, and what is believed here.
    #[test]
    fn a_lease_is_always_over_here_before_it_is_over_there() {
        let begin = Instant::now();
        let after = |seconds| begin + Duration::from_secs(seconds);
        let mut term = Term::granted(&lease(&at(43)), begin);
        assert_eq!((term.ends, term.beat_at), (after(40), after(20)));
        // Two heartbeats from the server's 21, by its clock.
        term.renew(Some(&lease(&at(61))), after(20));
        assert_eq!((term.ends, term.beat_at), (after(58), after(40)));
        // The lease itself ends at the server's 63: it had more than half left and was not renewed.
        term.renew(Some(&lease(&at(63))), after(31));
        assert_eq!(term.ends, after(60));
        // Renewed; the calendar was set forward meanwhile, and is not believed beyond two heartbeats.
        term.renew(Some(&lease(&at(900))), after(50));
        assert_eq!(term.ends, after(90));
        // The calendar was set back: nothing is gained.
        term.renew(Some(&lease(&at(100))), after(60));
        assert_eq!(term.ends, after(90));
    }

    #[test]
    fn a_lease_of_unknown_age_lives_half_its_length_at_least() {
        let begin = Instant::now();
        let mut term = Term::confirmed(&lease(""), begin);
        assert_eq!(term.ends, begin + Duration::from_secs(30));
        term.renew(None, begin + Duration::from_secs(10));
        assert_eq!(term.ends, begin + Duration::from_secs(40));
    }
}
