//! The reads behind a snapshot. Each is cached separately.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use tenure_core::automation::AutomationKind;
use tenure_core::flow::Pause as FlowPause;
use tenure_core::id::WorkerId;
use tenure_core::job::Job;
use tenure_core::limits::RESOURCES_MAX;
use tenure_store::{Count, Gauges, LeasePages, ResourceFilter, SequenceFilter, SequenceReport};

use crate::cached_read::ReadResult;
use crate::clock_steps::{ClockStep, ClockSteps};
use crate::counters::{Counters, FinishedDelta};
use crate::node_reports::{NodeReports, Others};
use crate::prelude::*;
use crate::queues::phase_of;
use crate::snapshot::{Pause, Percentiles, RecentNow};

/// Finished jobs older than this are not sampled.
const SAMPLE_BACK: Millis = Millis::seconds(3600);
const SAMPLE_JOBS_MAX: usize = 1000;
/// Waiting jobs that are read to find the oldest; the first created come first.
const WAITING_MAX: usize = 1000;
const RECENT: Millis = Millis::seconds(300);
/// Lines of the audit log, without those about jobs, in which pauses of queues are looked for.
const AUDIT_LINES: usize = 1000;
/// Halted sequences that are read.
pub(super) const HALTED_MAX: usize = 100;

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

/// A state of the jobs of one type.
pub(super) type StateKey = (LifecycleName, TypeName, StateName);

fn state_key(job: &Job, state: &StateName) -> StateKey {
    (job.spec.lifecycle.name.clone(), job.spec.job_type.clone(), state.clone())
}

/// Leased and waiting jobs.
#[derive(Default)]
pub(super) struct Held {
    /// When the oldest job entered its state, by lifecycle, type and state.
    pub(super) oldest: BTreeMap<StateKey, Timestamp>,
    /// The workers that hold jobs, by type.
    pub(super) workers: BTreeMap<TypeName, BTreeSet<WorkerId>>,
    pub(super) holders: BTreeMap<WorkerId, Holder>,
}

/// What a worker holds.
#[derive(Default)]
pub(super) struct Holder {
    pub(super) jobs: u64,
    /// Its longest lease.
    pub(super) lease: Millis,
}

impl Held {
    fn note(&mut self, job: &Job) {
        let entered = job.times.entered.iter().find(|(state, _)| *state == job.state);
        let since = entered.map_or(job.times.updated_at, |(_, at)| *at);
        let oldest = self.oldest.entry(state_key(job, &job.state)).or_insert(since);
        *oldest = since.min(*oldest);
    }
}

pub(super) async fn held(runtime: Runtime) -> ReadResult<Held> {
    let mut held = Held::default();
    let (mut after, mut left) = (None, WAITING_MAX);
    while left > 0 {
        let page = runtime.store().waiting(after, left).await?;
        let Some(last) = page.last() else { break };
        (after, left) = (Some(last.id()), left - page.len());
        for job in &page {
            held.note(job);
        }
    }
    let mut leases = LeasePages::all(runtime.store());
    while let Some(page) = leases.next().await? {
        for job in page {
            held.note(&job);
            held.workers.entry(job.spec.job_type.clone()).or_default().extend(job.worker().cloned());
            if let Some(lease) = &job.lease {
                let holder = held.holders.entry(lease.worker.clone()).or_default();
                holder.jobs += 1;
                holder.lease = holder.lease.max(lease.ttl);
            }
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
#[derive(Default)]
pub(super) struct Sample {
    /// By lifecycle and state, over all types.
    pub(super) states: BTreeMap<(LifecycleName, StateName), Percentiles>,
    /// By lifecycle, type and state: what is usual for one type is late for another.
    pub(super) type_states: BTreeMap<StateKey, Percentiles>,
    pub(super) recent: Vec<RecentNow>,
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

    fn recent(mut self, lifecycle: LifecycleName, job_type: TypeName, window: Millis) -> RecentNow {
        let finished: u64 = self.outcomes.values().sum();
        let (wait_ms, run_ms) = (Percentiles::of(&mut self.waits), Percentiles::of(&mut self.runs));
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

pub(super) async fn sample(runtime: Runtime) -> ReadResult<Sample> {
    let now = runtime.store().now().await?.at;
    let jobs = runtime.store().finished(Timestamp(now.0 - SAMPLE_BACK.0 as i64), SAMPLE_JOBS_MAX).await?;
    let mut states: BTreeMap<(LifecycleName, StateName), Vec<u64>> = BTreeMap::new();
    let mut type_states: BTreeMap<StateKey, Vec<u64>> = BTreeMap::new();
    for job in &jobs {
        for (state, span) in stays(job) {
            type_states.entry(state_key(job, &state)).or_default().push(span);
            states.entry((job.spec.lifecycle.name.clone(), state)).or_default().push(span);
        }
    }
    Ok(Sample {
        states: percentiles_of(states),
        type_states: percentiles_of(type_states),
        recent: recent(&jobs, now),
    })
}

fn percentiles_of<K: Ord>(spans: BTreeMap<K, Vec<u64>>) -> BTreeMap<K, Percentiles> {
    spans.into_iter().map(|(key, mut spans)| (key, Percentiles::of(&mut spans))).collect()
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

/// A paused resource or, as `name[key]`, bucket.
pub(super) struct PausedResource {
    pub(super) name: String,
    pub(super) pause: FlowPause,
}

/// Schedules, webhooks, flow control, pauses, workers, the clock, and the reports of other nodes.
#[derive(Default)]
pub(super) struct Peers {
    pub(super) now: Timestamp,
    pub(super) automations: Vec<Automation>,
    pub(super) pauses: BTreeMap<QueueName, Pause>,
    pub(super) others: Others,
    pub(super) halted: Vec<SequenceReport>,
    pub(super) paused_resources: Vec<PausedResource>,
    /// When each worker was last seen, as far as the store knows.
    pub(super) workers: BTreeMap<WorkerId, Timestamp>,
    pub(super) clock_step: Option<ClockStep>,
}

pub(super) async fn peers(
    runtime: Runtime,
    this_node: Name,
    reports: Arc<Mutex<NodeReports>>,
    clock: Arc<Mutex<ClockSteps>>,
) -> ReadResult<Peers> {
    let store = runtime.store();
    let mut automations = store.automations(AutomationKind::Schedule).await?;
    automations.extend(store.automations(AutomationKind::Webhook).await?);
    let pauses = pauses(&runtime).await?;
    let halted = SequenceFilter { halted: true, limit: HALTED_MAX, ..SequenceFilter::default() };
    let halted = store.sequences(halted).await?;
    let paused_resources = paused_resources(&runtime).await?;
    let workers = store.workers().await?.into_iter().map(|worker| (worker.name, worker.seen_at)).collect();
    let (nodes, now) = (store.nodes().await?, store.now().await?);
    let clock_step = clock.lock().expect("no panic while the clock is compared").read(now);
    let now = now.at;
    let others = reports.lock().expect("no panic while reports are read").read(&this_node, &nodes, now);
    Ok(Peers { now, automations, pauses, others, halted, paused_resources, workers, clock_step })
}

/// Paused resources, and paused ones among the busiest buckets of the others.
async fn paused_resources(runtime: &Runtime) -> ReadResult<Vec<PausedResource>> {
    let filter = ResourceFilter { limit: RESOURCES_MAX, ..ResourceFilter::default() };
    let mut paused = Vec::new();
    for resource in runtime.store().resources(filter).await? {
        if let Some(pause) = resource.paused {
            paused.push(PausedResource { name: resource.name.to_string(), pause });
            continue;
        }
        for bucket in resource.buckets {
            let key = bucket.key.as_deref().unwrap_or_default();
            let name = format!("{}[{key}]", resource.name);
            paused.extend(bucket.paused.map(|pause| PausedResource { name, pause }));
        }
    }
    Ok(paused)
}

/// When each paused queue was paused, if that is among the last lines of the audit log that are not about jobs.
async fn pauses(runtime: &Runtime) -> ReadResult<BTreeMap<QueueName, Pause>> {
    let paused = runtime.store().paused().await?;
    let mut pauses = BTreeMap::new();
    if paused.is_empty() {
        return Ok(pauses);
    }
    for (_, line) in runtime.store().audit_without_job(u64::MAX, AUDIT_LINES).await? {
        let queue = paused.iter().find(|queue| line.reason.as_deref() == Some(queue.as_str()));
        if let Some(queue) = queue.filter(|_| line.action == "pause") {
            pauses.entry(queue.clone()).or_insert(Pause { since: line.ts, by: line.actor.to_string() });
        }
    }
    Ok(pauses)
}
