//! Which live jobs could follow another version of their lifecycle, and how finished ones would have ended under it. Only reads.

use std::collections::BTreeMap;

use serde_json::json;
use tenure_core::job::LifecycleRef;
use tenure_core::job_type::Catalog;
use tenure_core::lifecycle::{Diff, Flaw, Lifecycle, Outcome, Phase, diff};
use tenure_core::what_if::{Obstacle, ReplayEnd, Replayed, Versions};

use crate::finished_jobs::finished_jobs;
use crate::prelude::*;

/// Finished jobs that one call replays.
pub const HISTORIES_MAX: usize = 5_000;
/// Live jobs that one call examines.
pub const LIVE_JOBS_MAX: usize = 10_000;
/// Unless the caller gives another period.
pub const PERIOD_DEFAULT: Millis = Millis::seconds(86_400);
/// Histories with more events are not replayed.
const HISTORY_EVENTS_MAX: usize = 1_000;
/// Jobs that are named for each result.
const EXAMPLES_MAX: usize = 5;
const PAGE_JOBS: usize = 500;

/// Live jobs and histories of a lifecycle, judged under another version.
#[derive(Debug)]
pub struct WhatIf {
    pub lifecycle: Arc<Lifecycle>,
    /// The version that new jobs follow.
    pub in_force: u32,
    /// Jobs that finished from here until `to` were replayed.
    pub from: Timestamp,
    pub to: Timestamp,
    pub live: LiveJobs,
    pub histories: Histories,
}

/// Live jobs, by version and state.
#[derive(Debug, Default)]
pub struct LiveJobs {
    pub jobs: u64,
    /// At most [`LIVE_JOBS_MAX`], newest first of each phase.
    pub examined: u64,
    pub states: Vec<LiveState>,
}

/// The live jobs of a version in one of its states.
#[derive(Debug)]
pub struct LiveState {
    pub version: u32,
    pub state: StateName,
    pub phase: Phase,
    /// The state of that name under the other version.
    pub counterpart: Option<Phase>,
    pub jobs: u64,
    pub examples: Vec<JobId>,
    /// Why they could not continue; empty if they could.
    pub reasons: Vec<String>,
}

/// Finished jobs whose histories were replayed.
#[derive(Debug, Default)]
pub struct Histories {
    pub examined: u64,
    /// Whether these are all jobs that finished in the period. Otherwise they are some from each part of it.
    pub is_complete: bool,
    /// Those with too many events, of an unknown version, or deleted meanwhile.
    pub skipped: u64,
    /// The most frequent first.
    pub results: Vec<HistoryResult>,
    /// The most frequent first.
    pub obstacles: Vec<ObstacleCount>,
}

/// Histories with the same end and the same end under the other version.
#[derive(Debug)]
pub struct HistoryResult {
    pub state: StateName,
    pub outcome: Outcome,
    pub becomes: NewEnd,
    pub jobs: u64,
    /// Those that would have ended before their last events.
    pub early: u64,
    pub examples: Vec<JobId>,
}

/// The end under the other version.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NewEnd {
    Finished {
        state: StateName,
        outcome: Outcome,
    },
    Unfinished {
        state: StateName,
    },
    /// No rule allows an event: see [`Histories::obstacles`].
    Stopped,
}

/// Histories that could not follow an event for the same reason.
#[derive(Debug)]
pub struct ObstacleCount {
    pub obstacle: Obstacle,
    pub jobs: u64,
    /// Each with the number of the event.
    pub examples: Vec<(JobId, u32)>,
}

impl LiveJobs {
    pub fn could_continue(&self) -> u64 {
        self.states.iter().filter(|state| state.reasons.is_empty()).map(|state| state.jobs).sum()
    }
}

impl HistoryResult {
    /// Whether the end is another one.
    pub fn differs(&self) -> bool {
        let Self { state, outcome, .. } = self;
        self.becomes != NewEnd::Finished { state: state.clone(), outcome: *outcome }
    }
}

/// The problem of a file that fails its check.
pub fn flawed(pointer: &str, flaws: &[Flaw]) -> Problem {
    let lines: Vec<String> = flaws.iter().map(ToString::to_string).collect();
    let errors: Vec<_> = lines.iter().map(|line| json!({ "pointer": pointer, "detail": line })).collect();
    let count = if lines.len() == 1 { "1 flaw".to_owned() } else { format!("{} flaws", lines.len()) };
    let first = lines.first().map(String::as_str).unwrap_or_default();
    Problem::new(ProblemCode::ValidationFailed, format!("the lifecycle has {count}: {first}"))
        .with("errors", json!(errors))
}

/// Judges the live jobs of a lifecycle, and those that finished in the last `period`, under another version. One call at a time
/// replays histories.
pub async fn what_if(service: &Service, lifecycle: Lifecycle, period: Millis) -> Result<WhatIf> {
    let in_force = crate::lifecycles::newest(service, lifecycle.name.as_str())?.version;
    let _turn = service.replay_turn().await;
    let to = service.store().now().await?.at;
    let from = Timestamp(to.0.saturating_sub_unsigned(period.0).max(0));
    let live = live_jobs(service, &lifecycle).await?;
    let histories = histories(service, &lifecycle, (from, to)).await?;
    Ok(WhatIf { lifecycle: Arc::new(lifecycle), in_force, from, to, live, histories })
}

async fn live_jobs(service: &Service, new: &Lifecycle) -> Result<LiveJobs> {
    let store = service.store();
    let counts = store.gauges().await?.jobs;
    let jobs = counts.iter().filter(|count| count.lifecycle == new.name).map(|count| count.count).sum();
    let mut found: BTreeMap<(u32, StateName), (Phase, u64, Vec<JobId>)> = BTreeMap::new();
    let mut examined = 0;
    for phase in [Phase::Ready, Phase::Held, Phase::Active, Phase::Waiting] {
        let filter = JobFilter {
            lifecycle: Some(new.name.clone()),
            phase: Some(phase.as_str().into()),
            ..JobFilter::default()
        };
        let mut before = None;
        while examined < LIVE_JOBS_MAX {
            let limit = PAGE_JOBS.min(LIVE_JOBS_MAX - examined);
            let page = store.list_page(filter.clone(), Page { before, limit }).await?;
            let Some(last) = page.rows.last() else { break };
            before = Some(last.id());
            for job in &page.rows {
                let key = (job.spec.lifecycle.version, job.state.clone());
                let (_, jobs, examples) = found.entry(key).or_insert((phase, 0, Vec::new()));
                *jobs += 1;
                if examples.len() < EXAMPLES_MAX {
                    examples.push(job.id());
                }
            }
            examined += page.rows.len();
            if !page.has_more {
                break;
            }
        }
    }
    let mut diffs: BTreeMap<u32, Diff> = BTreeMap::new();
    let mut states = Vec::new();
    for ((version, state), (phase, jobs, examples)) in found {
        if let std::collections::btree_map::Entry::Vacant(entry) = diffs.entry(version) {
            let key = LifecycleRef { name: new.name.clone(), version };
            if let Some(old) = service.runtime().lifecycle(&key).await {
                entry.insert(diff(&old, new));
            }
        }
        let blocks = |diff: &Diff| -> Vec<String> {
            let reasons = diff.changes.iter().filter_map(|change| change.blocks_job_in(state.as_str()));
            reasons.map(ToOwned::to_owned).collect()
        };
        let unknown = || vec![format!("version {version} is not loaded on this node")];
        let reasons = diffs.get(&version).map_or_else(unknown, blocks);
        let counterpart = new.state(state.as_str()).map(|state| state.phase);
        states.push(LiveState { version, state, phase, counterpart, jobs, examples, reasons });
    }
    Ok(LiveJobs { jobs, examined: examined as u64, states })
}

/// An end, and the end under the other version.
type Ends = (StateName, Outcome, NewEnd);

#[derive(Default)]
struct Counted {
    jobs: u64,
    early: u64,
    examples: Vec<JobId>,
}

/// Replays, counted one after another.
#[derive(Default)]
struct Tally {
    results: BTreeMap<Ends, Counted>,
    obstacles: BTreeMap<Obstacle, (u64, Vec<(JobId, u32)>)>,
}

async fn histories(service: &Service, new: &Lifecycle, period: (Timestamp, Timestamp)) -> Result<Histories> {
    let finished = finished_jobs(service.store(), &new.name, period, HISTORIES_MAX).await?;
    let catalog = service.runtime().catalog();
    let (mut tally, mut skipped) = (Tally::default(), 0);
    for id in &finished.ids {
        match replay(service, &catalog, new, *id).await? {
            Some((job, outcome, replayed)) => tally.add(&job, outcome, replayed),
            None => skipped += 1,
        }
    }
    let (examined, is_complete) = (finished.ids.len() as u64, finished.is_complete);
    let (results, obstacles) = tally.sorted();
    Ok(Histories { examined, is_complete, skipped, results, obstacles })
}

async fn replay(
    service: &Service,
    catalog: &Catalog,
    new: &Lifecycle,
    id: JobId,
) -> Result<Option<(Arc<Job>, Outcome, Replayed)>> {
    let Some(job) = service.store().job(id).await? else { return Ok(None) };
    let (Some(outcome), Some(old)) = (job.phase.outcome(), catalog.lifecycle(&job.spec.lifecycle)) else {
        return Ok(None);
    };
    let history = service.store().history_page(id, 0, HISTORY_EVENTS_MAX).await?;
    if (history.rows.len() as u32) < job.seq {
        return Ok(None);
    }
    let replayed = Versions { catalog, old, new }.replay(&job.spec, &history.rows);
    Ok(Some((job, outcome, replayed)))
}

impl Tally {
    fn add(&mut self, job: &Job, outcome: Outcome, replayed: Replayed) {
        let becomes = match replayed.end {
            ReplayEnd::Finished { state, outcome } => NewEnd::Finished { state, outcome },
            ReplayEnd::Unfinished { state } => NewEnd::Unfinished { state },
            ReplayEnd::Stopped(obstacle) => {
                let (jobs, examples) = self.obstacles.entry(obstacle).or_default();
                *jobs += 1;
                if examples.len() < EXAMPLES_MAX {
                    examples.push((job.id(), replayed.seq));
                }
                NewEnd::Stopped
            }
        };
        let counted = self.results.entry((job.state.clone(), outcome, becomes)).or_default();
        counted.jobs += 1;
        counted.early += u64::from(replayed.is_early);
        if counted.examples.len() < EXAMPLES_MAX {
            counted.examples.push(job.id());
        }
    }

    /// The most frequent first.
    fn sorted(self) -> (Vec<HistoryResult>, Vec<ObstacleCount>) {
        let result = |((state, outcome, becomes), counted): (Ends, Counted)| {
            let Counted { jobs, early, examples } = counted;
            HistoryResult { state, outcome, becomes, jobs, early, examples }
        };
        let mut results: Vec<HistoryResult> = self.results.into_iter().map(result).collect();
        results.sort_by_key(|result| std::cmp::Reverse(result.jobs));
        let obstacle = |(obstacle, (jobs, examples))| ObstacleCount { obstacle, jobs, examples };
        let mut obstacles: Vec<ObstacleCount> = self.obstacles.into_iter().map(obstacle).collect();
        obstacles.sort_by_key(|it| std::cmp::Reverse(it.jobs));
        (results, obstacles)
    }
}
