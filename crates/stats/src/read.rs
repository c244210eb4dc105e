//! The reads behind a snapshot. Each is cached separately.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use tenure_core::automation::AutomationKind;
use tenure_core::id::WorkerId;
use tenure_core::job::Job;
use tenure_store::{Count, Gauges, LeasePages};

use crate::cached_read::ReadResult;
use crate::counters::{Counters, FinishedDelta};
use crate::node_reports::{NodeReports, Others};
use crate::prelude::*;
use crate::queues::phase_of;
use crate::snapshot::{Percentiles, RecentNow};

/// Finished jobs older than this are not sampled.
const SAMPLE_BACK: Millis = Millis::seconds(3600);
const SAMPLE_JOBS_MAX: usize = 1000;
/// Waiting jobs that are read to find the oldest; the first created come first.
const WAITING_MAX: usize = 1000;
const RECENT: Millis = Millis::seconds(300);

/// Numbers that change with every commit.
pub(super) struct Live {
    pub(super) now: Timestamp,
    pub(super) gauges: Gauges,
    pub(super) paused: Vec<QueueName>,
}

pub(super) async fn live(runtime: Runtime) -> ReadResult<Live> {
    let store = runtime.store();
    let (now, gauges, paused) = (store.now().await?.at, store.gauges().await?, store.paused().await?);
    Ok(Live { now, gauges, paused })
}

/// Leased and waiting jobs.
#[derive(Default)]
pub(super) struct Held {
    /// When the oldest job entered its state, by lifecycle and state.
    pub(super) oldest: BTreeMap<(LifecycleName, StateName), Timestamp>,
    /// The workers that hold jobs, by type.
    pub(super) workers: BTreeMap<TypeName, BTreeSet<WorkerId>>,
}

impl Held {
    fn note(&mut self, job: &Job) {
        let entered = job.times.entered.iter().find(|(state, _)| *state == job.state);
        let since = entered.map_or(job.times.updated_at, |(_, at)| *at);
        let oldest = self.oldest.entry((job.spec.lifecycle.name.clone(), job.state.clone())).or_insert(since);
        *oldest = since.min(*oldest);
    }
}

pub(super) async fn held(runtime: Runtime) -> ReadResult<Held> {
    let mut held = Held::default();
    for job in runtime.store().waiting(WAITING_MAX).await? {
        held.note(&job);
    }
    let mut leases = LeasePages::all(runtime.store());
    while let Some(page) = leases.next().await? {
        for job in page {
            held.note(&job);
            held.workers.entry(job.spec.job_type.clone()).or_default().extend(job.worker().cloned());
        }
    }
    Ok(held)
}

pub(super) struct FinishedCounts {
    pub(super) counts: Vec<Count>,
    /// What this node's counters said just before the read.
    pub(super) mark: FinishedDelta,
    /// False until the first count has ended.
    pub(super) known: bool,
}

impl FinishedCounts {
    pub(super) fn unknown(mark: FinishedDelta) -> Self {
        Self { counts: Vec::new(), mark, known: false }
    }
}

/// Counts finished jobs. With the deltas of this node's counters since then the result is exact on a single node, except
/// for commits that were in flight when the read began: they count twice until the next read. Jobs finished by other nodes
/// appear with the next read.
pub(super) async fn finished(runtime: Runtime, counters: Arc<Counters>) -> ReadResult<FinishedCounts> {
    let mark = counters.finished();
    let catalog = runtime.catalog();
    let mut counts = runtime.store().counts().await?;
    // A state that no loaded lifecycle has counts as final: live jobs are counted separately.
    counts.retain(|count| phase_of(&catalog, &count.lifecycle, &count.state).is_none_or(Phase::is_final));
    Ok(FinishedCounts { counts, mark, known: true })
}

/// Durations of the last finished jobs.
pub(super) struct Sample {
    /// By lifecycle and state.
    pub(super) states: BTreeMap<(LifecycleName, StateName), Percentiles>,
    /// By lifecycle and type, as the counters label it.
    pub(super) types: BTreeMap<(LifecycleName, TypeName), TypeTimes>,
    pub(super) recent: Vec<RecentNow>,
}

/// How long jobs of a type waited and ran.
#[derive(Clone, Copy, Default)]
pub(super) struct TypeTimes {
    pub(super) wait_ms: Percentiles,
    pub(super) run_ms: Percentiles,
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

    fn times(&mut self) -> TypeTimes {
        TypeTimes { wait_ms: Percentiles::of(&mut self.waits), run_ms: Percentiles::of(&mut self.runs) }
    }

    fn recent(mut self, lifecycle: LifecycleName, job_type: TypeName, window: Millis) -> RecentNow {
        let finished: u64 = self.outcomes.values().sum();
        let TypeTimes { wait_ms, run_ms } = self.times();
        RecentNow {
            lifecycle,
            job_type,
            window,
            finished,
            rate: finished as f64 * 1000.0 / window.0.max(1) as f64,
            outcomes: self.outcomes,
            wait_ms,
            run_ms,
        }
    }
}

pub(super) async fn sample(runtime: Runtime, counters: Arc<Counters>) -> ReadResult<Sample> {
    let now = runtime.store().now().await?.at;
    let jobs = runtime.store().finished(Timestamp(now.0 - SAMPLE_BACK.0 as i64), SAMPLE_JOBS_MAX).await?;
    let mut states: BTreeMap<(LifecycleName, StateName), Vec<u64>> = BTreeMap::new();
    let mut types: BTreeMap<(LifecycleName, TypeName), Group> = BTreeMap::new();
    for job in &jobs {
        let lifecycle = &job.spec.lifecycle.name;
        let label = counters.label(&job.spec.job_type);
        types.entry((lifecycle.clone(), label)).or_default().add(job);
        for (state, span) in stays(job) {
            states.entry((lifecycle.clone(), state)).or_default().push(span);
        }
    }
    let states = states.into_iter().map(|(key, mut spans)| (key, Percentiles::of(&mut spans))).collect();
    let types = types.into_iter().map(|(key, mut group)| (key, group.times())).collect();
    Ok(Sample { states, types, recent: recent(&jobs, now) })
}

/// How long a finished job stayed in each state, counting its last visit.
fn stays(job: &Job) -> Vec<(StateName, u64)> {
    let mut entered: Vec<_> = job.times.entered.iter().collect();
    entered.sort_by_key(|(_, at)| *at);
    entered.windows(2).map(|pair| (pair[0].0.clone(), (pair[1].1 - pair[0].1).0)).collect()
}

/// Jobs that finished in the last five minutes. If the sample is full, the window is the time that it covers.
fn recent(jobs: &[Arc<Job>], now: Timestamp) -> Vec<RecentNow> {
    let completed = |job: &Arc<Job>| job.times.completed_at.unwrap_or(now);
    let oldest = jobs.last().map(completed).filter(|_| jobs.len() == SAMPLE_JOBS_MAX);
    let window = oldest.map_or(RECENT, |oldest| RECENT.min(now - oldest));
    let mut groups: BTreeMap<(LifecycleName, TypeName), Group> = BTreeMap::new();
    for job in jobs.iter().take_while(|job| now - completed(job) <= RECENT) {
        let key = (job.spec.lifecycle.name.clone(), job.spec.job_type.clone());
        groups.entry(key).or_default().add(job);
    }
    let shown = |((lifecycle, job_type), group): (_, Group)| group.recent(lifecycle, job_type, window);
    groups.into_iter().map(shown).collect()
}

/// Schedules, webhooks and the reports of other nodes.
pub(super) struct Peers {
    pub(super) now: Timestamp,
    pub(super) automations: Vec<Automation>,
    pub(super) others: Others,
}

pub(super) async fn peers(
    runtime: Runtime,
    this_node: Name,
    reports: Arc<Mutex<NodeReports>>,
) -> ReadResult<Peers> {
    let store = runtime.store();
    let mut automations = store.automations(AutomationKind::Schedule).await?;
    automations.extend(store.automations(AutomationKind::Webhook).await?);
    let (nodes, now) = (store.nodes().await?, store.now().await?.at);
    let others = reports.lock().expect("no panic while reports are read").read(&this_node, &nodes, now);
    Ok(Peers { now, automations, others })
}
