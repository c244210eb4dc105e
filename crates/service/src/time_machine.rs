//! Unfinished jobs by state at an earlier time: those of now, minus the changes that the journal recorded since.
//!
//! The journal is read backwards from its end, in pages, and what was read is kept as changes per minute, so no event is read twice. One
//! request reads a limited number of events; a background task continues at a third of the time. Writers never wait.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use tenure_core::event::Event;
use tenure_core::id::Position;
use tenure_core::lifecycle::Trigger;
use tenure_core::working_set::Reads;
use tenure_store::{JournalEntry, Store, StoreError};
use tokio::sync::Mutex;

use crate::prelude::*;

/// How far back it looks: 30 days, the retention of finished jobs in most lifecycles.
pub const REACH_MAX: Millis = Millis::seconds(30 * 86_400);
/// Events that one request reads at most.
const REQUEST_EVENTS: u64 = 5_000;
/// Events that the background task reads before it pauses.
const BACKGROUND_EVENTS: u64 = 2_000;
/// The task pauses this many times as long as it read.
const PAUSE_COSTS: u32 = 2;
/// Events of a page.
const PAGE_EVENTS: u64 = 500;
/// More new events than this are not followed: the reading starts again from the end.
const NEW_EVENTS_MAX: u64 = 100_000;
/// Attempts to read the counts while no commit is made.
const EXACT_TRIES: usize = 5;

/// The unfinished jobs of a lifecycle at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Past {
    /// The full minute that was asked for.
    pub at: Timestamp,
    /// Jobs by state then; `None` while the journal is not read back to that time.
    pub then: Option<BTreeMap<StateName, u64>>,
    pub now: BTreeMap<StateName, u64>,
    /// The earliest minute that is known; `None` if it is all since the beginning of the journal.
    pub known_from: Option<Timestamp>,
    /// Events that were read so far.
    pub events: u64,
    /// Transitions that happened while the present jobs were counted: each count may differ by this many.
    pub uncertain: u64,
}

/// What was read of the journal. Shared by all pages of a node.
#[derive(Debug, Default)]
pub struct TimeMachine {
    scan: Mutex<Option<JournalScan>>,
    /// Held by the background task.
    background: std::sync::Arc<Mutex<()>>,
}

#[derive(Debug)]
struct JournalScan {
    /// The states, which `now` and `changes` refer to by index.
    states: Vec<(LifecycleName, StateName)>,
    /// Unfinished jobs at `end`.
    now: Vec<i64>,
    end: Position,
    uncertain: u64,
    /// Every event after this position was read.
    low: Position,
    /// Every event later than this was read.
    reach: Timestamp,
    /// By minute: states, each with the jobs that entered minus those that left.
    changes: BTreeMap<i64, Vec<(u16, i32)>>,
    events: u64,
}

impl Service {
    /// The unfinished jobs of a lifecycle at the beginning of a minute, and now. A part of the journal that is not read yet is read in the
    /// background.
    pub async fn past(&self, lifecycle: &LifecycleName, at: Timestamp) -> Result<Past> {
        let machine = self.time_machine();
        let at = Timestamp(at.minute() * 60_000);
        let mut scan = machine.scan.lock().await;
        let store = self.store();
        let current = match scan.take() {
            Some(known) => known.follow(store).await?,
            None => None,
        };
        let mut current = match current {
            Some(current) => current,
            None => JournalScan::begin(store).await?,
        };
        current.read_back(store, at, REQUEST_EVENTS).await?;
        let past = current.past(lifecycle, at);
        *scan = Some(current);
        drop(scan);
        if past.then.is_none() {
            self.read_back_in_background(at);
        }
        Ok(past)
    }

    fn read_back_in_background(&self, at: Timestamp) {
        let background = std::sync::Arc::clone(&self.time_machine().background);
        let Ok(running) = background.try_lock_owned() else { return };
        let service = self.clone();
        tokio::spawn(async move {
            let _running = running;
            while !service.is_draining() {
                let began = Instant::now();
                let mut scan = service.time_machine().scan.lock().await;
                let Some(current) = scan.as_mut() else { return };
                match current.read_back(service.store(), at, BACKGROUND_EVENTS).await {
                    Ok(()) if current.knows(at) => return,
                    Ok(()) => drop(scan),
                    Err(error) => {
                        tracing::warn!(%error, "journal read for the time machine failed");
                        return;
                    }
                }
                tokio::time::sleep((began.elapsed() * PAUSE_COSTS).max(Duration::from_millis(1))).await;
            }
        });
    }
}

/// Positions before and after a count of the unfinished jobs: equal, unless every try met a commit.
async fn count(store: &Store) -> Result<(Position, Position, Vec<tenure_store::Count>), StoreError> {
    let mut best: Option<(Position, Position, Vec<tenure_store::Count>)> = None;
    for _ in 0..EXACT_TRIES {
        let before = store.journal_end().await?;
        // After a batch without changes, the counts include every batch before it.
        store.transact(Reads::default(), |_, _| ()).await?;
        let counts = store.gauges().await?.jobs;
        let after = store.journal_end().await?;
        let is_better = best.as_ref().is_none_or(|(from, to, _)| after.0 - before.0 < to.0 - from.0);
        if is_better {
            best = Some((before, after, counts));
        }
        if before == after {
            break;
        }
    }
    Ok(best.expect("there is at least one try"))
}

impl JournalScan {
    async fn begin(store: &Store) -> Result<Self, StoreError> {
        let (before, end, counts) = count(store).await?;
        let mut scan = Self {
            states: Vec::new(),
            now: Vec::new(),
            end,
            uncertain: end.0 - before.0,
            low: end,
            reach: store.now().await?.at,
            changes: BTreeMap::new(),
            events: 0,
        };
        scan.set_now(&counts);
        Ok(scan)
    }

    fn set_now(&mut self, counts: &[tenure_store::Count]) {
        self.now.fill(0);
        for count in counts {
            let state = self.index(&count.lifecycle, &count.state);
            self.now[usize::from(state)] += i64::try_from(count.count).unwrap_or(i64::MAX);
        }
    }

    /// Reads the events since the last request. `None` if there are too many.
    async fn follow(mut self, store: &Store) -> Result<Option<Self>, StoreError> {
        let mut end = store.journal_end().await?;
        if end.0.saturating_sub(self.end.0) > NEW_EVENTS_MAX {
            return Ok(None);
        }
        while self.end < end {
            let upto = end.min(Position(self.end.0 + PAGE_EVENTS));
            for entry in &store.journal_outline(self.end, upto).await? {
                self.note(entry, true);
            }
            self.end = upto;
            if self.end == end {
                end = store.journal_end().await?;
            }
        }
        if self.uncertain > 0 {
            let (before, after, counts) = count(store).await?;
            if before == after && after == self.end {
                self.set_now(&counts);
                self.uncertain = 0;
            }
        }
        let first = Timestamp(store.now().await?.at.0.saturating_sub_unsigned(REACH_MAX.0)).minute();
        let kept = self.changes.split_off(&first);
        // If nothing is dropped, what was known is still known.
        if !std::mem::replace(&mut self.changes, kept).is_empty() {
            self.reach = self.reach.max(Timestamp(first * 60_000 - 1));
        }
        Ok(Some(self))
    }

    fn knows(&self, at: Timestamp) -> bool {
        self.reach < at
    }

    /// Reads backwards until the changes since a time are known, or this many events were read.
    async fn read_back(&mut self, store: &Store, at: Timestamp, most: u64) -> Result<(), StoreError> {
        let mut positions = 0;
        while !self.knows(at) && positions < most {
            if self.low.0 == 0 {
                self.reach = Timestamp(i64::MIN);
                break;
            }
            let after = Position(self.low.0.saturating_sub(PAGE_EVENTS));
            let page = store.journal_outline(after, self.low).await?;
            for entry in &page {
                self.note(entry, false);
            }
            // The earliest event of the page that is dated by its commit: everything before it is not later.
            let dated = page.iter().find(|entry| is_dated_by_commit(&entry.event));
            self.reach = dated.map_or(self.reach, |entry| self.reach.min(entry.event.ts));
            self.low = after;
            self.events += page.len() as u64;
            positions += PAGE_EVENTS;
        }
        Ok(())
    }

    /// Adds an event to the changes of its minute, and to the present if it is new.
    fn note(&mut self, JournalEntry { event, lifecycle, .. }: &JournalEntry, is_new: bool) {
        if event.seq.is_none() || event.trigger == Trigger::Amend {
            return;
        }
        let entered = Some(&event.to).filter(|_| !event.facts.phase().is_final());
        let moved = [(event.from.as_ref(), -1), (entered, 1)];
        for (state, change) in moved.into_iter().filter_map(|(state, change)| Some((state?, change))) {
            let state = self.index(lifecycle, state);
            if is_new {
                self.now[usize::from(state)] += i64::from(change);
            }
            let changes = self.changes.entry(event.ts.minute()).or_default();
            match changes.iter_mut().find(|(known, _)| *known == state) {
                Some((_, sum)) => *sum += change,
                None => changes.push((state, change)),
            }
        }
    }

    fn index(&mut self, lifecycle: &LifecycleName, state: &StateName) -> u16 {
        let known = self.states.iter().position(|known| known.0 == *lifecycle && known.1 == *state);
        let index = known.unwrap_or_else(|| {
            self.states.push((lifecycle.clone(), state.clone()));
            self.now.push(0);
            self.states.len() - 1
        });
        u16::try_from(index).unwrap_or(u16::MAX)
    }

    fn past(&self, lifecycle: &LifecycleName, at: Timestamp) -> Past {
        let mut then = self.now.clone();
        for (state, change) in self.changes.range(at.minute()..).flat_map(|(_, changes)| changes) {
            then[usize::from(*state)] -= i64::from(*change);
        }
        let of_lifecycle = |counts: &[i64]| -> BTreeMap<StateName, u64> {
            let all = self.states.iter().zip(counts).filter(|((name, _), _)| name == lifecycle);
            all.map(|((_, state), count)| (state.clone(), u64::try_from(*count).unwrap_or(0))).collect()
        };
        let is_all = self.reach == Timestamp(i64::MIN);
        Past {
            at,
            then: self.knows(at).then(|| of_lifecycle(&then)),
            now: of_lifecycle(&self.now),
            known_from: (!is_all).then(|| Timestamp((self.reach.minute() + 1) * 60_000)),
            events: self.events,
            uncertain: self.uncertain,
        }
    }
}

/// Events of clocks are dated by their deadline, and so are their consequences. What a worker does is dated by its commit.
fn is_dated_by_commit(event: &Event) -> bool {
    matches!(event.trigger, Trigger::Claim | Trigger::Start | Trigger::Succeed)
}
