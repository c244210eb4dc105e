//! The pulse: numbers for people, cheap whatever is in the store. What was committed is counted as it happens (`tally`),
//! what must be read is read as seldom as it is dear (`part`, `read`), and everyone who asks within half a second gets
//! the same snapshot. Nothing runs while nobody asks.

mod assemble;
mod attention;
mod part;
mod queues;
mod read;
mod ring;
pub(crate) mod snapshot;
mod tally;
mod telling;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tenure_core::id::Name;
use tenure_store::{AnyStore, Count};
use tokio::time::Instant;

pub(crate) use queues::queues;
pub(crate) use tally::Tally;
pub(crate) use telling::Own;

use crate::app::App;
use crate::problem::Problem;
use assemble::{Made, counts};
use part::Part;
use read::{Finals, Held, Live, Roster, Sample};
use snapshot::{Attention, CountNow, Matter, Snapshot, StoreNow};
use telling::{Awaited, Words};

/// Rates are not computed more often than this.
const AGE_MAX: Duration = Duration::from_millis(500);

/// What snapshots are made of, and the last one.
pub(crate) struct Pulse {
    tally: Arc<Tally>,
    own: Own,
    live: Part<Live>,
    held: Part<Held>,
    finals: Part<Finals>,
    sample: Part<Sample>,
    roster: Part<Roster>,
    words: Arc<Mutex<Words>>,
    last: Mutex<Option<Last>>,
}

/// The last snapshot, and what it was made of.
struct Last {
    parts: Parts,
    at: Instant,
    snapshot: Arc<Snapshot>,
}

#[derive(Clone)]
struct Parts {
    live: Arc<Live>,
    held: Arc<Held>,
    finals: Arc<Finals>,
    sample: Arc<Sample>,
    roster: Arc<Roster>,
}

impl Parts {
    fn are(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.live, &other.live)
            && Arc::ptr_eq(&self.held, &other.held)
            && Arc::ptr_eq(&self.finals, &other.finals)
            && Arc::ptr_eq(&self.sample, &other.sample)
            && Arc::ptr_eq(&self.roster, &other.roster)
    }
}

impl Pulse {
    pub(crate) fn new(tally: Arc<Tally>, own: Own) -> Self {
        Self {
            tally,
            own,
            live: Part::default(),
            held: Part::default(),
            finals: Part::default(),
            sample: Part::default(),
            roster: Part::default(),
            words: Arc::default(),
            last: Mutex::new(None),
        }
    }

    /// How the whole is doing: not older than half a second, or, where reading is dear, than a hundred times what that
    /// costs. Waits for nothing that took longer than ten milliseconds the last time.
    pub(crate) async fn now(&self, app: &App) -> Result<Arc<Snapshot>, Problem> {
        let (live, held, finals, sample, roster) = tokio::try_join!(
            self.live.get(|| read::live(app.clone())),
            self.held.get(|| read::held(app.clone())),
            self.finals.get_or(|| read::finals(app.clone()), || Finals::unknown(self.tally.ended())),
            self.sample.get(|| read::sample(app.clone())),
            self.roster.get(|| read::roster(app.clone())),
        )?;
        Ok(self.show(app, Parts { live, held, finals, sample, roster }))
    }

    /// How many jobs are where, given the live ones: finished ones are counted anew if that is quick.
    pub(crate) async fn counts(&self, app: &App, live: &[Count]) -> Result<Vec<CountNow>, Problem> {
        if self.finals.is_quick() {
            self.finals.expire();
        }
        let finals = self.finals.get(|| read::finals(app.clone())).await?;
        Ok(counts(live, &finals, &self.tally.ended()))
    }

    /// Resolves when nothing is being read.
    pub(crate) async fn rest(&self) {
        self.live.rest().await;
        self.held.rest().await;
        self.finals.rest().await;
        self.sample.rest().await;
        self.roster.rest().await;
    }

    /// The last snapshot, if it was made of these and just now; else a new one.
    fn show(&self, app: &App, parts: Parts) -> Arc<Snapshot> {
        let mut last = self.last.lock().expect("nobody panics while making a snapshot");
        if let Some(last) = last.as_ref().filter(|last| last.parts.are(&parts) && last.at.elapsed() < AGE_MAX)
        {
            return Arc::clone(&last.snapshot);
        }
        let snapshot = Arc::new(self.snapshot(app, &parts));
        *last = Some(Last { parts, at: Instant::now(), snapshot: Arc::clone(&snapshot) });
        snapshot
    }

    fn snapshot(&self, app: &App, parts: &Parts) -> Snapshot {
        let (catalog, ended) = (app.runtime().catalog(), self.tally.ended());
        let Parts { live, held, finals, sample, roster } = parts;
        let mut counted = self.tally.counted();
        counted.merge(&roster.others.counted);
        let now = app.runtime().now().max(live.now);
        let made = Made { catalog: &catalog, now, live, held, sample, counted: &counted };
        let mut awaited = Awaited::here(app);
        awaited.extend(roster.others.awaited.iter().cloned());
        let is_awaited = |queue: &Name, job_type: &Name| Awaited::any(&awaited, queue, job_type);
        let counts = counts(&live.gauges.jobs, finals, &ended);
        let (lifecycles, queues) = (made.lifecycles(&counts), made.queues());
        let mut nodes = vec![self.own_node(live.now)];
        nodes.extend(roster.others.nodes.iter().cloned());
        let mut attention: Vec<_> = attention::of_dead_letters(&live.gauges).into_iter().collect();
        attention.extend(attention::of_queues(&queues));
        attention.extend(attention::of_ready(&made, is_awaited));
        let is_left = |found: &Attention| matches!(found.what, Matter::NobodyWaits | Matter::PausedQueue);
        attention.extend(attention::of_states(&lifecycles, live.now, attention.iter().any(is_left)));
        attention.extend(attention::of_orders(&roster.orders, roster.now));
        attention.extend(attention::of_nodes(&nodes));
        Snapshot {
            at: live.now,
            types: made.types(is_awaited),
            minutes: made.all_minutes(),
            failures: made.failures(),
            store: self.store(app),
            lately: sample.lately.clone(),
            lifecycles,
            queues,
            nodes,
            attention,
            counts,
            counted: finals.known,
        }
    }

    fn store(&self, app: &App) -> StoreNow {
        let commits = self.tally.commits();
        StoreNow {
            kind: match app.store() {
                AnyStore::Memory(_) => "memory",
                AnyStore::Sqlite(_) => "sqlite",
                AnyStore::Postgres(_) => "postgres",
            },
            commands_per_commit: commits.commands.percentiles(),
            commit_us: commits.took_us.percentiles(),
            waiting_commands: app.runtime().waiting_commands(),
        }
    }
}
