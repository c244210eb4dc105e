//! The simulator: the real runtime and core on a virtual clock, with users, workers and faults drawn from a seed. An
//! auditor checks the ten laws with independent code. The same seed gives the same run.
//!
//! In reading order: [`run`] (one seed), `cluster` (nodes, faults, the clock), `network` (between clients and nodes),
//! `workload` (users and workers), `auditor` (the laws), `report` (a failing seed), `planted_bugs` (fourteen bugs that
//! the auditor must find).

mod auditor;
mod cluster;
mod fault_plan;
mod faulty_store;
mod fixtures;
mod network;
mod planted_bugs;
mod prelude;
mod report;
mod rng;
mod trace;
mod workload;

use std::collections::VecDeque;
use std::fmt;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::rc::Rc;
use std::sync::Mutex;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tokio::task::{JoinSet, LocalSet};
use tokio::time::sleep;

pub use planted_bugs::Bug;

use auditor::Violation;
use cluster::Cluster;
use rng::Rng;

use crate::prelude::*;

/// How long a run continues without faults, at most: longer than any job of the fixtures can take.
const RECOVERY_MAX: Duration = Duration::from_mins(30);

/// The result of one seed.
#[derive(Debug)]
pub struct Run {
    pub seed: u64,
    pub tally: Tally,
    /// Hashes of the trace and of the journal: equal for two runs of one seed.
    pub hashes: (u64, u64),
    /// The report of the first violation.
    pub failure: Option<String>,
    /// Everything that happened, if requested.
    pub trace: Option<String>,
}

/// Counts of one run or of many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub seeds: u64,
    pub failures: u64,
    pub jobs: u64,
    pub commands: u64,
    pub events: u64,
    pub crashes: u64,
    pub faults: u64,
    /// Times of schedules that created a job.
    pub firings: u64,
    /// Events that webhooks delivered, with repetitions.
    pub deliveries: u64,
    /// Objects that uploads wrote.
    pub uploads: u64,
    /// Claims that used a resource.
    pub limited: u64,
    pub amendments: u64,
    /// Sequences that a failure halted.
    pub halts: u64,
    /// Claims of a shared queue of which another job was ready.
    pub shares: u64,
    /// Groups of several jobs.
    pub groups: u64,
}

impl Tally {
    pub fn add(&mut self, other: &Self) {
        self.seeds += other.seeds;
        self.failures += other.failures;
        self.jobs += other.jobs;
        self.commands += other.commands;
        self.events += other.events;
        self.crashes += other.crashes;
        self.faults += other.faults;
        self.firings += other.firings;
        self.deliveries += other.deliveries;
        self.uploads += other.uploads;
        self.limited += other.limited;
        self.amendments += other.amendments;
        self.halts += other.halts;
        self.shares += other.shares;
        self.groups += other.groups;
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seeds, failures, jobs, commands, events, crashes, faults, .. } = self;
        let Self { firings, deliveries, uploads, limited, amendments, halts, shares, groups, .. } = self;
        write!(
            f,
            "{seeds} seeds, {failures} failures, {jobs} jobs, {commands} commands, {events} events, \
             {crashes} crashes, {faults} faults, {firings} firings, {deliveries} deliveries, {uploads} uploads, \
             {limited} limited claims, {amendments} amendments, {halts} halts, {shares} shares, {groups} groups"
        )
    }
}

/// Runs one seed, with a planted bug or without.
pub fn run(seed: u64, bug: Option<Bug>) -> Run {
    run_seed(seed, bug, false)
}

/// Runs one seed and returns its whole trace.
pub fn run_traced(seed: u64, bug: Option<Bug>) -> Run {
    run_seed(seed, bug, true)
}

/// Runs seeds on all cores, up to the first failure.
pub fn run_many(seeds: impl IntoIterator<Item = u64>, bug: Option<Bug>) -> (Tally, Option<Run>) {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let left = Mutex::new(seeds.into_iter().collect::<VecDeque<u64>>());
    let results = Mutex::new((Tally::default(), None::<Run>));
    let take = || left.lock().expect("no thread panics with this lock").pop_front();
    let work = || {
        while let Some(seed) = take() {
            let run = run(seed, bug);
            let mut results = results.lock().expect("no thread panics with this lock");
            results.0.add(&run.tally);
            if run.failure.is_some() {
                left.lock().expect("no thread panics with this lock").clear();
                if results.1.as_ref().is_none_or(|first| seed < first.seed) {
                    results.1 = Some(run);
                }
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(work);
        }
    });
    results.into_inner().expect("no thread panics with this lock")
}

/// Seeds that once found a bug: a number and a sentence on each line of `seeds/found.txt`.
pub fn kept_seeds() -> impl Iterator<Item = u64> {
    let lines = include_str!("../seeds/found.txt").lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| line.split_whitespace().next()?.parse().ok())
}

fn run_seed(seed: u64, bug: Option<Bug>, traced: bool) -> Run {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    let runtime = runtime.expect("a runtime without input and output can always be built");
    let mut rng = Rng::new(seed);
    let cluster = Rc::new(runtime.block_on(async { Cluster::new(&mut rng, bug) }));
    let finished = catch_unwind(AssertUnwindSafe(|| {
        LocalSet::new().block_on(&runtime, simulate(Rc::clone(&cluster), rng));
    }));
    let mut violations = cluster.auditor.borrow_mut().take_violations();
    if let Err(panic) = finished {
        let message = panic.downcast_ref::<String>().map(String::as_str);
        let message = message.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
        violations.push(Violation::new(10, None, format!("panic: {message}")));
    }
    let auditor = cluster.auditor.borrow();
    let flow = auditor.flow_seen();
    let tally = Tally {
        seeds: 1,
        failures: u64::from(!violations.is_empty()),
        jobs: auditor.jobs_seen(),
        events: auditor.events_seen(),
        firings: auditor.firings_seen(),
        deliveries: auditor.deliveries_seen(),
        uploads: auditor.uploads_seen(),
        limited: flow.limited,
        amendments: flow.amended,
        halts: flow.halted,
        shares: flow.shared,
        groups: flow.grouped,
        ..*cluster.tally.borrow()
    };
    let failure = violations.first().map(|first| report::failure(seed, bug, &cluster.trace, first));
    let hashes = (cluster.trace.hash(), auditor.journal_hash());
    Run { seed, tally, hashes, failure, trace: traced.then(|| report::everything(&cluster.trace)) }
}

async fn simulate(cluster: Rc<Cluster>, mut rng: Rng) {
    let mut tasks = JoinSet::new();
    for index in 0..cluster.nodes.len() {
        tasks.spawn_local(Rc::clone(&cluster).run_node(index));
    }
    while cluster.nodes.iter().any(|node| node.running().is_none()) {
        sleep(Duration::from_millis(1)).await;
    }
    workload::spawn(&cluster, &mut rng, &mut tasks);
    tasks.spawn_local(Rc::clone(&cluster).audit_clocks());
    tasks.spawn_local(Rc::clone(&cluster).inject_faults(rng.fork()));
    let course = async {
        sleep(Duration::from_millis(cluster.plan.duration_ms)).await;
        cluster.end_faults();
        let ended = tokio::time::Instant::now();
        // Late and duplicated requests arrive first; a quarter of the runs also outlasts the retention.
        sleep(Duration::from_secs(if rng.percent(25) { 100 } else { 20 })).await;
        while ended.elapsed() < RECOVERY_MAX && !cluster.auditor.borrow().are_all_jobs_final() {
            sleep(Duration::from_secs(1)).await;
        }
    };
    tokio::select! {
        biased;
        () = cluster.failed.notified() => {}
        () = course => final_checks(&cluster).await,
    }
    tasks.shutdown().await;
}

/// Checks what must hold in the end, and runs `verify` on the store.
async fn final_checks(cluster: &Rc<Cluster>) {
    cluster.audit(|auditor| {
        auditor.read();
        auditor.check_objects(&cluster.objects.borrow());
        auditor.check_end();
    });
    let mut differences = Vec::new();
    let verified =
        tenure_runtime::verify(&cluster.store.handle(), |difference| differences.push(difference.clone()))
            .await;
    cluster.audit(|auditor| {
        for difference in differences {
            let what = format!("verify found: {}", difference.what);
            auditor.report(Violation::new(difference.law, difference.job, what));
        }
        if let Err(error) = verified {
            auditor.report(Violation::new(8, None, format!("verify cannot read the store: {error}")));
        }
    });
    let journal = cluster.store.handle().events(Position(0), usize::MAX).await;
    cluster.audit(|auditor| auditor.check_journal_again(&journal.unwrap_or_default()));
}

/// The result of a future of the memory store, which is always ready.
fn ready<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => unreachable!("the memory store never waits"),
    }
}
