//! The simulator: the real runtime and the real core on a virtual clock, with callers, workers and faults drawn from a
//! seed, and an auditor who knows the ten laws and shares no code with those who must keep them. The same seed is the
//! same run.
//!
//! In reading order: [`run`] (one seed), `world` (nodes, faults, the clock), `network` (between callers and nodes),
//! `workload` (who asks), `auditor` (what must hold), `report` (a failing seed as a story), `sabotage` (five planted
//! bugs, by which it shows that it bites).

mod auditor;
mod cast;
mod chance;
mod climate;
mod link;
mod network;
mod report;
mod sabotage;
mod story;
mod workload;
mod world;

use std::collections::VecDeque;
use std::fmt;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::rc::Rc;
use std::sync::Mutex;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tenure_core::id::Position;
use tenure_store::Store;
use tokio::task::{JoinSet, LocalSet};
use tokio::time::sleep;

pub use sabotage::Bug;

use auditor::Violation;
use chance::Chance;
use world::World;

/// How long everyone goes on after the faults have ended, at most: longer than the longest life of any job of the cast.
const HEALING: Duration = Duration::from_mins(30);

/// One seed.
#[derive(Debug)]
pub struct Run {
    /// The seed.
    pub seed: u64,
    /// What there was.
    pub tally: Tally,
    /// Of everything that happened and of the whole journal: two runs of one seed have the same.
    pub trace: (u64, u64),
    /// The story of what went wrong, if something did.
    pub failure: Option<String>,
    /// The story of everything, if it was wanted.
    pub story: Option<String>,
}

/// What there was in a run, or in many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say all there is")]
pub struct Tally {
    pub seeds: u64,
    pub failures: u64,
    pub jobs: u64,
    pub commands: u64,
    pub events: u64,
    pub crashes: u64,
    pub faults: u64,
}

impl Tally {
    /// Adds another to it.
    pub fn add(&mut self, other: &Self) {
        self.seeds += other.seeds;
        self.failures += other.failures;
        self.jobs += other.jobs;
        self.commands += other.commands;
        self.events += other.events;
        self.crashes += other.crashes;
        self.faults += other.faults;
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seeds, failures, jobs, commands, events, crashes, faults } = self;
        write!(
            f,
            "{seeds} seeds, {failures} failures, {jobs} jobs, {commands} commands, {events} events, \
             {crashes} crashes, {faults} faults"
        )
    }
}

/// Runs one seed, with a planted bug or without.
pub fn run(seed: u64, bug: Option<Bug>) -> Run {
    play_seed(seed, bug, false)
}

/// Runs one seed, and tells everything that happened.
pub fn run_and_tell(seed: u64, bug: Option<Bug>) -> Run {
    play_seed(seed, bug, true)
}

/// Runs seeds on as many threads as there are cores, up to the first that fails. Each has its own world.
pub fn run_many(seeds: impl IntoIterator<Item = u64>, bug: Option<Bug>) -> (Tally, Option<Run>) {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let left = Mutex::new(seeds.into_iter().collect::<VecDeque<u64>>());
    let results = Mutex::new((Tally::default(), None::<Run>));
    let take = || left.lock().expect("nobody panics while taking a seed").pop_front();
    let work = || {
        while let Some(seed) = take() {
            let run = run(seed, bug);
            let mut results = results.lock().expect("nobody panics while adding up");
            results.0.add(&run.tally);
            if run.failure.is_some() {
                left.lock().expect("nobody panics while taking a seed").clear();
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
    results.into_inner().expect("nobody panics while adding up")
}

/// Seeds that once found a bug: a number and a sentence on each line of `seeds/found.txt`.
pub fn kept_seeds() -> impl Iterator<Item = u64> {
    let lines = include_str!("../seeds/found.txt").lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| line.split_whitespace().next()?.parse().ok())
}

fn play_seed(seed: u64, bug: Option<Bug>, tell: bool) -> Run {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    let runtime = runtime.expect("a runtime without input and output needs nothing that could be missing");
    let mut chance = Chance::new(seed);
    let world = Rc::new(runtime.block_on(async { World::new(&mut chance, bug) }));
    let played = catch_unwind(AssertUnwindSafe(|| {
        LocalSet::new().block_on(&runtime, play(Rc::clone(&world), chance));
    }));
    let mut found = world.auditor.borrow_mut().take_found();
    if let Err(panic) = played {
        let said = panic.downcast_ref::<String>().map(String::as_str);
        let said = said.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("without a word");
        found.push(Violation::new(10, None, format!("something panicked: {said}")));
    }
    let auditor = world.auditor.borrow();
    let tally = Tally {
        seeds: 1,
        failures: u64::from(!found.is_empty()),
        jobs: auditor.jobs_seen(),
        events: auditor.events_seen(),
        ..*world.tally.borrow()
    };
    let failure = found.first().map(|first| report::failure(seed, bug, &world.story, first));
    let trace = (world.story.hash(), auditor.journal_hash());
    Run { seed, tally, trace, failure, story: tell.then(|| report::everything(&world.story)) }
}

async fn play(world: Rc<World>, mut chance: Chance) {
    let mut everyone = JoinSet::new();
    for index in 0..world.nodes.len() {
        everyone.spawn_local(Rc::clone(&world).keep_running(index));
    }
    while world.nodes.iter().any(|node| node.running().is_none()) {
        sleep(Duration::from_millis(1)).await;
    }
    workload::begin(&world, &mut chance, &mut everyone);
    everyone.spawn_local(Rc::clone(&world).keep_auditing());
    everyone.spawn_local(Rc::clone(&world).keep_failing(chance.fork()));
    let course = async {
        sleep(Duration::from_millis(world.climate.storm_ms)).await;
        world.heal();
        let healed = tokio::time::Instant::now();
        // What was late or doubled arrives first; now and then it goes on until the retention is over, too.
        sleep(Duration::from_secs(if chance.percent(25) { 100 } else { 20 })).await;
        while healed.elapsed() < HEALING && !world.auditor.borrow().is_everything_over() {
            sleep(Duration::from_secs(1)).await;
        }
    };
    tokio::select! {
        biased;
        () = world.failed.notified() => {}
        () = course => last_look(&world).await,
    }
    everyone.shutdown().await;
}

/// What must hold in the end; and `verify`, as a second opinion.
async fn last_look(world: &Rc<World>) {
    world.audit(|auditor| {
        auditor.read();
        auditor.check_the_end();
    });
    let mut differences = Vec::new();
    let verified =
        tenure_runtime::verify(&world.store, |difference| differences.push(difference.clone())).await;
    world.audit(|auditor| {
        for difference in differences {
            let what = format!("verify says: {}", difference.what);
            auditor.say(Violation::new(difference.law, difference.job, what));
        }
        if let Err(error) = verified {
            auditor.say(Violation::new(8, None, format!("verify cannot read the store: {error}")));
        }
    });
    let journal = world.store.events(Position(0), usize::MAX).await;
    world.audit(|auditor| auditor.check_journal_again(&journal.unwrap_or_default()));
}

/// What a store in memory answers at once.
fn ready<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => unreachable!("a store in memory never waits"),
    }
}
