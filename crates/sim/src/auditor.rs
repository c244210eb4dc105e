//! The auditor: an independent model that knows the ten laws. It follows the journal, hears every answer that a node
//! gives, and compares both with the rows. It shares no rule with those who must keep the laws: it neither folds nor
//! decides with the core's code, and works out ranks, leases, delays and conditions anew from the lifecycles' data.

mod answers;
mod end;
mod laws;
mod money;
mod refusals;
mod rules;
mod track;

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::Duration;

use tenure_core::command::ClaimFilter;
use tenure_core::event::Event;
use tenure_core::id::{JobId, Name, Position};
use tenure_core::lifecycle::Phase;
use tenure_core::time::{Millis, Timestamp};
use tenure_store::{Journaled, MemoryStore, Store};

use crate::cast::Kind;
use crate::ready;
use crate::story::Story;
use money::Money;
use track::Track;

/// Sweeping is promptness: within this when idle.
const PROMPT_MS: i64 = 1000;
/// After this long without a fault, promptness is expected again.
const STEADY: Duration = Duration::from_millis(1500);

/// A law that was broken.
#[derive(Clone, Debug)]
pub(crate) struct Violation {
    pub(crate) law: u8,
    pub(crate) job: Option<JobId>,
    pub(crate) what: String,
    pub(crate) expected: Option<String>,
}

impl Violation {
    pub(crate) fn new(law: u8, job: Option<JobId>, what: String) -> Self {
        Self { law, job, what, expected: None }
    }
}

/// What the auditor knows.
#[derive(Debug)]
pub(crate) struct Auditor {
    store: MemoryStore,
    story: Rc<Story>,
    position: Position,
    /// The hash of every event that was read, and whose it is.
    written: Vec<(JobId, u64)>,
    tracks: BTreeMap<JobId, Track>,
    keys: Keys,
    money: Money,
    /// Claims that a node has not answered, and since when.
    waiting: BTreeMap<u64, (ClaimFilter, Timestamp)>,
    requests: u64,
    /// All outages so far.
    stopped: i64,
    /// The store's time.
    now: Timestamp,
    /// When the faults ended.
    healed_at: Option<Timestamp>,
    looks: u32,
    found: Vec<Violation>,
}

/// What each idempotency key led to.
#[derive(Debug, Default)]
struct Keys {
    /// User, type and key of a creation.
    creations: BTreeMap<(Option<Name>, Name, Name), JobId>,
    /// User, type and parts of a derived key; and when.
    derived: BTreeMap<(Option<Name>, Name, String), (JobId, Timestamp)>,
    /// Verb, job and key of everything else that was done.
    verbs: BTreeSet<(&'static str, JobId, Name)>,
    /// Worker and request of each claim, and what it got.
    claims: BTreeMap<(Name, Name), BTreeSet<(JobId, u64)>>,
}

impl Auditor {
    pub(crate) fn new(store: MemoryStore, story: Rc<Story>) -> Self {
        Self {
            store,
            story,
            position: Position(0),
            written: Vec::new(),
            tracks: BTreeMap::new(),
            keys: Keys::default(),
            money: Money::default(),
            waiting: BTreeMap::new(),
            requests: 0,
            stopped: 0,
            now: Timestamp(0),
            healed_at: None,
            looks: 0,
            found: Vec::new(),
        }
    }

    pub(crate) fn say(&mut self, violation: Violation) {
        self.found.push(violation);
    }

    pub(crate) fn has_found(&self) -> bool {
        !self.found.is_empty()
    }

    pub(crate) fn take_found(&mut self) -> Vec<Violation> {
        std::mem::take(&mut self.found)
    }

    pub(crate) fn jobs_seen(&self) -> u64 {
        self.tracks.len() as u64
    }

    pub(crate) fn events_seen(&self) -> u64 {
        self.written.len() as u64
    }

    pub(crate) fn journal_hash(&self) -> u64 {
        self.written.iter().fold(0, |so_far, (_, one)| so_far.rotate_left(5) ^ one)
    }

    /// The store's time, before each look.
    pub(crate) fn set_now(&mut self, now: Timestamp) {
        self.now = now;
    }

    /// The faults have ended.
    pub(crate) fn note_healed(&mut self) {
        self.healed_at = Some(self.now);
    }

    /// Nobody reached the store for a while: all clocks stood still.
    pub(crate) fn note_outage(&mut self, span: Millis) {
        self.stopped += span.0 as i64;
    }

    /// Whether every job is final.
    pub(crate) fn is_everything_over(&self) -> bool {
        self.tracks.values().all(|track| track.phase.is_final())
    }

    /// Reads on in the journal, and compares the rows of the jobs that moved.
    pub(crate) fn read(&mut self) {
        let mut moved = BTreeSet::new();
        loop {
            let page = ready(self.store.events(self.position, 500)).unwrap_or_default();
            let Some(last) = page.last() else { break };
            self.position = last.position;
            for Journaled { event, .. } in &page {
                self.take(event);
                moved.insert(event.job_id);
            }
        }
        let (found, paid) = self.money.read(&self.store, &self.tracks);
        for id in moved.union(&paid) {
            self.compare(*id);
        }
        self.found.extend(found);
    }

    fn take(&mut self, event: &Event) {
        self.written.push((event.job_id, hash(event)));
        self.story.tell(Some(event.job_id), tale(event));
        let id = event.job_id;
        if !self.tracks.contains_key(&id) && !self.meet(event) {
            return;
        }
        let Some(track) = self.tracks.get_mut(&id) else { return };
        if event.seq.is_none() {
            track.notes += 1;
            return;
        }
        if let Some(violation) = track.judge(event, self.stopped) {
            self.found.push(violation);
            return;
        }
        track.take(event, self.stopped);
    }

    /// A job's first event: what was asked for is read from its row once, and never again.
    fn meet(&mut self, event: &Event) -> bool {
        let id = event.job_id;
        self.story.label(id);
        let row = ready(self.store.job(id)).ok().flatten();
        let kind = row.as_ref().and_then(|row| Kind::of(&row.spec));
        let (Some(row), Some(kind)) = (row, kind) else {
            self.say(Violation::new(6, Some(id), "an event of a job that is not there".to_owned()));
            return false;
        };
        let track = Track::new(kind, row.spec.clone());
        let is_there = |id: &JobId| ready(self.store.job(*id)).is_ok_and(|row| row.is_some());
        let first = |id: &JobId| self.tracks.get(id).filter(|_| is_there(id));
        let found = self.keys.note_creation(&track, event.ts, first);
        self.found.extend(found);
        self.tracks.insert(id, track);
        true
    }

    fn compare(&mut self, id: JobId) {
        let now_ms = self.story.elapsed_ms();
        let Some(track) = self.tracks.get_mut(&id) else { return };
        match ready(self.store.job(id)).ok().flatten() {
            Some(row) if !track.purged => self.found.extend(track.compare(&row, now_ms)),
            Some(_) => self.found.push(track.breaks(2, "it is back after its retention", "nothing")),
            None if track.kept_until().is_some_and(|until| until <= self.now) => track.purged = true,
            None => {
                let expected = format!("a row, kept until {:?}", track.kept_until());
                self.found.push(track.breaks(8, "its row is gone", expected));
            }
        }
    }

    /// Law 9: with nothing in the way, what is due happens within a second.
    pub(crate) fn check_clocks(&mut self, steady: Duration) {
        self.looks += 1;
        if self.looks.is_multiple_of(10) {
            let due = |track: &&Track| track.kept_until().is_none_or(|until| until <= self.now);
            for id in self.tracks.values().filter(due).map(Track::id).collect::<Vec<_>>() {
                self.compare(id);
            }
        }
        if steady < STEADY {
            return;
        }
        self.check_waiting();
        let running = self.now.0 - self.stopped;
        for track in self.tracks.values().filter(|track| !track.phase.is_final()) {
            let late =
                track.deadlines().into_iter().find(|one| one.latest.saturating_add(PROMPT_MS) < running);
            if let Some(late) = late {
                let what = format!("at {running} {} of {} has not fired", late.what, late.latest);
                self.found.push(track.breaks(9, what, "within a second"));
                return;
            }
        }
    }
}

impl Auditor {
    /// Law 10: once all is well, no job is ready for someone who waits for it.
    fn check_waiting(&mut self) {
        let long_ago = |at: Timestamp| at.0 + STEADY.as_millis() as i64 <= self.now.0;
        if !self.healed_at.is_some_and(long_ago) {
            return;
        }
        let ready = |track: &&Track| {
            track.phase == Phase::Ready && long_ago(track.run_at) && long_ago(track.updated_at)
        };
        for track in self.tracks.values().filter(ready) {
            let spec = &track.spec;
            let wants = |(filter, since): &&(ClaimFilter, Timestamp)| {
                long_ago(*since) && filter.admits(&spec.queue, &spec.job_type)
            };
            if let Some((_, since)) = self.waiting.values().find(wants) {
                let what = format!("ready since {}, and a claim waits since {since}", track.run_at);
                self.found.push(track.breaks(10, what, "that claim gets it"));
                return;
            }
        }
    }
}

impl Keys {
    /// Law 7: a key that stands has one job.
    fn note_creation<'a>(
        &mut self,
        track: &Track,
        ts: Timestamp,
        find: impl Fn(&JobId) -> Option<&'a Track>,
    ) -> Option<Violation> {
        let spec = &track.spec;
        let key = spec.links.idempotency_key.clone()?;
        let stands = |id: &JobId| {
            let first = find(id)?;
            (!first.kind.lifecycle.idempotency.reusable.contains(&first.state)).then_some(*id)
        };
        let scope = (spec.user_id.clone(), spec.job_type.clone(), key.clone());
        let given = self.creations.insert(scope, track.id()).as_ref().and_then(stands);
        let is_derived = key.as_str().len() == 32;
        let payload = spec.payload.to_value();
        let names = track.kind.lifecycle.idempotency.derive.iter();
        let parts = names.filter_map(|name| Some(payload.get(name.strip_prefix("payload.")?)?.to_string()));
        let parts: String = parts.collect::<Vec<_>>().join("|");
        let derived = is_derived.then(|| {
            let scope = (spec.user_id.clone(), spec.job_type.clone(), parts);
            self.derived.insert(scope, (track.id(), ts)).filter(|(_, at)| ts.0 - at.0 < 60_000)
        });
        let derived = derived.flatten().and_then(|(first, _)| stands(&first));
        let first = given.or(derived)?;
        let what = format!("key {key} made this job although job {first} has it");
        Some(track.breaks(7, what, "the job that is there"))
    }
}

fn tale(event: &Event) -> String {
    let from = event.from.as_ref().map_or("nothing", Name::as_str);
    let seq = event.seq.map_or_else(|| "note".to_owned(), |seq| format!("event {seq}"));
    let Event { name, to, attempt, actor, ts, .. } = event;
    let cause = event.cause.as_ref().map(|cause| format!(" [{cause}]")).unwrap_or_default();
    format!(
        "    {seq}: {name}, {from} → {to}, attempt {attempt}, by {actor}{cause}, at {}",
        ts.0 % 1_000_000_000
    )
}

/// FNV-1a over the event as it is written down.
fn hash(event: &Event) -> u64 {
    let facts = serde_json::to_string(&event.facts).unwrap_or_default();
    let written =
        format!("{} {:?} {} {} {} {facts}", event.job_id, event.seq, event.name, event.ts.0, event.actor);
    written
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
