//! The parts of a snapshot as they are read from the store, each at its own pace.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tenure_core::id::Name;
use tenure_core::job::Job;
use tenure_core::lifecycle::Phase;
use tenure_core::order::{Order, OrderKind};
use tenure_core::time::{Millis, Timestamp};
use tenure_store::{Count, Gauges, Store as _};

use super::queues::phase;
use super::snapshot::{LatelyNow, Percentiles};
use super::tally::Ended;
use super::telling::Others;
use crate::app::{App, LEASES_MAX};
use crate::problem::Problem;

/// How far back the last finished jobs are looked for.
const SAMPLE_BACK: Millis = Millis::seconds(3600);
/// How many of them are looked at.
const SAMPLE_JOBS_MAX: usize = 1000;
/// How many waiting jobs are looked at for the oldest: those that were created first.
const WAITING_MAX: usize = 1000;
/// How far back "lately" reaches.
const LATELY: Millis = Millis::seconds(300);

/// What changes all the time.
pub(super) struct Live {
    pub(super) now: Timestamp,
    pub(super) gauges: Gauges,
    pub(super) paused: Vec<Name>,
}

pub(super) async fn live(app: App) -> Result<Live, Problem> {
    let store = app.store();
    let (now, gauges, paused) = (store.now().await?.at, store.gauges().await?, store.paused().await?);
    Ok(Live { now, gauges, paused })
}

/// Jobs that workers have, and that wait.
#[derive(Default)]
pub(super) struct Held {
    /// By lifecycle and state: since when the oldest is there.
    pub(super) oldest: BTreeMap<(Name, Name), Timestamp>,
    pub(super) types: BTreeSet<Name>,
}

impl Held {
    fn note(&mut self, job: &Job) {
        let entered = job.times.entered.iter().find(|(state, _)| *state == job.state);
        let since = entered.map_or(job.times.updated_at, |(_, at)| *at);
        let oldest = self.oldest.entry((job.spec.lifecycle.name.clone(), job.state.clone())).or_insert(since);
        *oldest = since.min(*oldest);
    }
}

pub(super) async fn held(app: App) -> Result<Held, Problem> {
    let mut held = Held::default();
    for job in app.store().waiting(WAITING_MAX).await? {
        held.note(&job);
    }
    for job in app.store().leased(LEASES_MAX).await? {
        held.note(&job);
        held.types.insert(job.spec.job_type.clone());
    }
    Ok(held)
}

/// Finished jobs, counted.
pub(super) struct Finals {
    pub(super) counts: Vec<Count>,
    /// What the tally had counted just before.
    pub(super) mark: Ended,
    /// Whether they were counted at all.
    pub(super) known: bool,
}

impl Finals {
    /// They are being counted for the first time.
    pub(super) fn unknown(mark: Ended) -> Self {
        Self { counts: Vec::new(), mark, known: false }
    }
}

/// Counts every finished job. Together with what the tally counts from here on this is exact where only this node
/// commits, but for what was committed and not yet counted at the very moment in which the store began to read: that
/// counts twice until the next reading. What other nodes end is seen at the next reading.
pub(super) async fn finals(app: App) -> Result<Finals, Problem> {
    let mark = app.pulse().tally.ended();
    let catalog = app.runtime().catalog();
    let mut counts = app.store().counts().await?;
    // A state that nobody knows is an end: live jobs are counted on their own.
    let is_final =
        |count: &Count| phase(&catalog, &count.lifecycle, &count.state).is_none_or(Phase::is_final);
    counts.retain(is_final);
    Ok(Finals { counts, mark, known: true })
}

/// What the last finished jobs took.
pub(super) struct Sample {
    /// By lifecycle and state.
    pub(super) states: BTreeMap<(Name, Name), Percentiles>,
    /// By lifecycle and type, as the tally names it: how long jobs waited, and ran.
    pub(super) types: BTreeMap<(Name, Name), (Percentiles, Percentiles)>,
    pub(super) lately: Vec<LatelyNow>,
}

#[derive(Default)]
struct Group {
    outcomes: BTreeMap<&'static str, u64>,
    waits: Vec<u64>,
    runs: Vec<u64>,
}

impl Group {
    fn add(&mut self, job: &Job) {
        if let Some(outcome) = job.phase.outcome() {
            *self.outcomes.entry(outcome.as_str()).or_default() += 1;
        }
        self.waits.extend(job.times.claimed_at.map(|at| (at - job.spec.created_at).0));
        self.runs.extend(job.run_time().map(|span| span.0));
    }

    fn shown(mut self, (lifecycle, job_type): (Name, Name), window: Millis) -> LatelyNow {
        let finished: u64 = self.outcomes.values().sum();
        LatelyNow {
            lifecycle,
            job_type,
            window,
            finished,
            rate: finished as f64 * 1000.0 / window.0.max(1) as f64,
            outcomes: self.outcomes,
            wait_ms: Percentiles::of(&mut self.waits),
            run_ms: Percentiles::of(&mut self.runs),
        }
    }
}

pub(super) async fn sample(app: App) -> Result<Sample, Problem> {
    let now = app.store().now().await?.at;
    let jobs = app.store().finished(Timestamp(now.0 - SAMPLE_BACK.0 as i64), SAMPLE_JOBS_MAX).await?;
    let mut states: BTreeMap<(Name, Name), Vec<u64>> = BTreeMap::new();
    let mut types: BTreeMap<(Name, Name), Group> = BTreeMap::new();
    for job in &jobs {
        let lifecycle = &job.spec.lifecycle.name;
        let label = app.pulse().tally.label(&job.spec.job_type);
        types.entry((lifecycle.clone(), label.clone())).or_default().add(job);
        for (state, span) in stays(job) {
            states.entry((lifecycle.clone(), state)).or_default().push(span);
        }
    }
    let states = states.into_iter().map(|(key, mut spans)| (key, Percentiles::of(&mut spans))).collect();
    let spans = |mut group: Group| (Percentiles::of(&mut group.waits), Percentiles::of(&mut group.runs));
    let types = types.into_iter().map(|(key, group)| (key, spans(group))).collect();
    Ok(Sample { states, types, lately: lately(&jobs, now) })
}

/// How long a finished job was in each state, the last time it was there.
fn stays(job: &Job) -> Vec<(Name, u64)> {
    let mut entered: Vec<_> = job.times.entered.iter().collect();
    entered.sort_by_key(|(_, at)| *at);
    entered.windows(2).map(|pair| (pair[0].0.clone(), (pair[1].1 - pair[0].1).0)).collect()
}

/// What finished in the last minutes; if that were more jobs than are looked at, the window is as long as these took.
fn lately(jobs: &[Arc<Job>], now: Timestamp) -> Vec<LatelyNow> {
    let completed = |job: &Arc<Job>| job.times.completed_at.unwrap_or(now);
    let oldest = jobs.last().map(completed).filter(|_| jobs.len() == SAMPLE_JOBS_MAX);
    let window = oldest.map_or(LATELY, |oldest| LATELY.min(now - oldest));
    let mut groups: BTreeMap<(Name, Name), Group> = BTreeMap::new();
    for job in jobs.iter().take_while(|job| now - completed(job) <= LATELY) {
        let key = (job.spec.lifecycle.name.clone(), job.spec.job_type.clone());
        groups.entry(key).or_default().add(job);
    }
    groups.into_iter().map(|(key, group)| group.shown(key, window)).collect()
}

/// What the other nodes say, and what was set up.
pub(super) struct Roster {
    pub(super) now: Timestamp,
    pub(super) orders: Vec<Order>,
    pub(super) others: Others,
}

pub(super) async fn roster(app: App) -> Result<Roster, Problem> {
    let mut orders = app.store().orders(OrderKind::Schedule).await?;
    orders.extend(app.store().orders(OrderKind::Webhook).await?);
    let (nodes, now) = (app.store().nodes().await?, app.store().now().await?.at);
    let pulse = app.pulse();
    let mut words = pulse.words.lock().expect("nobody panics while reading what nodes say");
    let others = words.read(&pulse.own.id, &nodes, now);
    drop(words);
    Ok(Roster { now, orders, others })
}
