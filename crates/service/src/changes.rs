//! What changed: configuration, lifecycle versions, nodes, pauses and actions of operators on one time line, and the rates of each type
//! before and after a change.

mod counted;

use std::collections::BTreeMap;

use serde_json::Value;
use tenure_core::event::AuditLine;
use tenure_core::id::TypeName;
use tenure_stats::snapshot::{NodeLife, NodeNow};

use counted::counted;

use crate::finished_jobs::finished_jobs;
use crate::prelude::*;

/// The action of an audit line that records a lifecycle version.
const REGISTER: &str = "lifecycle_register";
/// Lines of the audit log that are read for a time line, and as many earlier ones that are not about jobs: a bulk action hides neither a
/// pause nor a configuration.
pub const LINES_MAX: usize = 1_000;
/// Lines about single jobs with the same action and actor are one change if each follows within this time.
const SAME_CHANGE: Millis = Millis::seconds(60);
/// Up to this many finished jobs of a comparison are read; more are compared by the statistics.
pub const COMPARED_JOBS_MAX: usize = 500;
/// A rate moves if as large a difference is expected by chance in less than 5 % of comparisons, and is at least this large.
const FAILURE_DIFFERENCE_MIN: f64 = 0.05;
const CHANCE: f64 = 1.96;
/// A time moves if it grows or shrinks by this factor and this time, and there are enough jobs for a percentile.
const TIME_FACTOR: f64 = 1.5;
const TIME_DIFFERENCE_MIN: u64 = 50;
const PERCENTILE_JOBS_MIN: u64 = 10;

/// Something that may have changed how jobs run.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// Stable: the row of the audit log, or the node.
    pub id: String,
    pub at: Timestamp,
    pub kind: ChangeKind,
    pub what: String,
    pub by: String,
    /// Settings with their values before and after.
    pub values: Vec<ChangedValue>,
    /// The jobs of an action, if it was about jobs.
    pub jobs: u64,
    pub job: Option<JobId>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedValue {
    pub name: String,
    /// `None`: not set.
    pub before: Option<String>,
    pub after: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    Configuration,
    Lifecycle,
    Node,
    Pause,
    Action,
}

impl ChangeKind {
    /// Its label.
    pub fn name(self) -> &'static str {
        match self {
            Self::Configuration => "Configuration",
            Self::Lifecycle => "Lifecycle",
            Self::Node => "Node",
            Self::Pause => "Pause",
            Self::Action => "Action",
        }
    }

    /// Whether it is a part of a deploy.
    pub fn is_deploy(self) -> bool {
        matches!(self, Self::Configuration | Self::Lifecycle | Self::Node)
    }
}

/// The changes that are known, newest first.
pub async fn changes(service: &Service) -> Result<Vec<Change>> {
    let mut changes: Vec<Change> = Vec::new();
    let mut lines = service.store().audit_before(u64::MAX, LINES_MAX).await?;
    if let Some((oldest, _)) = lines.last().filter(|_| lines.len() == LINES_MAX) {
        lines.extend(service.store().audit_without_job(*oldest, LINES_MAX).await?);
    }
    for (row, line) in lines {
        let Some(change) = of_line(row, &line) else { continue };
        let is_same = |last: &&mut Change| {
            last.job.is_some()
                && change.job.is_some()
                && (&last.what, &last.by) == (&change.what, &change.by)
                && last.at - change.at <= SAME_CHANGE
        };
        match changes.last_mut().filter(is_same) {
            Some(last) => (last.jobs, last.at) = (last.jobs + 1, change.at),
            None => changes.push(change),
        }
    }
    let snapshot = service.stats().snapshot().await?;
    changes.extend(snapshot.nodes.iter().flat_map(of_node));
    changes.sort_by_key(|change| std::cmp::Reverse(change.at));
    Ok(changes)
}

/// A line of the audit log, unless it is a worker's or Tenure's part in the life of a job.
fn of_line(row: u64, line: &AuditLine) -> Option<Change> {
    let action = line.action.as_str();
    let kind = match action {
        AuditLine::CONFIGURE => ChangeKind::Configuration,
        REGISTER => ChangeKind::Lifecycle,
        _ if !line.actor.oversees() => return None,
        _ if ["pause", "resume"].iter().any(|verb| action.contains(verb)) => ChangeKind::Pause,
        _ => ChangeKind::Action,
    };
    let reason = line.reason.as_deref().filter(|_| line.job_id.is_none()).unwrap_or_default();
    let what = match kind {
        ChangeKind::Configuration | ChangeKind::Lifecycle => reason.to_owned(),
        ChangeKind::Node | ChangeKind::Pause | ChangeKind::Action => format!("{action} {reason}"),
    };
    Some(Change {
        id: format!("audit-{row}"),
        at: line.ts,
        kind,
        what: what.trim().to_owned(),
        by: line.actor.to_string(),
        values: if kind == ChangeKind::Configuration { values(line) } else { Vec::new() },
        jobs: u64::from(line.job_id.is_some()),
        job: line.job_id,
    })
}

/// The changed settings of a configuration.
fn values(line: &AuditLine) -> Vec<ChangedValue> {
    let details = line.details.as_ref().and_then(|details| details.to_value().ok()).unwrap_or_default();
    let text = |value: &Value| value.as_str().map(ToOwned::to_owned);
    let value = |(name, before): (&String, &Value)| ChangedValue {
        name: name.clone(),
        before: text(before),
        after: text(&details["after"][name]),
    };
    details["before"].as_object().map_or_else(Vec::new, |before| before.iter().map(value).collect())
}

/// The start of a node, and its end.
fn of_node(node: &NodeNow) -> Vec<Change> {
    let change = |which: &str, at: Timestamp, what: String| Change {
        id: format!("node-{which}-{}", node.id),
        at,
        kind: ChangeKind::Node,
        what,
        by: String::new(),
        values: Vec::new(),
        jobs: 0,
        job: None,
    };
    let started = format!("{} started, Tenure {}", node.address, node.version);
    let mut found = vec![change("start", node.started_at, started)];
    match node.life {
        NodeLife::Live => {}
        NodeLife::Stopped => found.push(change("stop", node.seen_at, format!("{} stopped", node.address))),
        NodeLife::Gone => {
            found.push(change("stop", node.seen_at, format!("{} no longer reports", node.address)));
        }
    }
    found
}

/// The jobs of each type that finished before and after a time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Comparison {
    /// From here until the change.
    pub from: Timestamp,
    /// From the change until here.
    pub to: Timestamp,
    /// The periods of statistics that were compared, without the one in which the change was. `None` if each job was read.
    pub period: Option<Millis>,
    /// Those that moved first, then by number of jobs.
    pub types: Vec<TypeComparison>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct TypeComparison {
    pub name: TypeName,
    pub before: TypeRates,
    pub after: TypeRates,
    pub failure: Moved,
    pub wait: Moved,
    pub run: Moved,
}

/// The finished jobs of a type on one side.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TypeRates {
    pub jobs: u64,
    /// Ended as failed or dead.
    pub failed: u64,
    /// Ended as succeeded, partial, failed or dead.
    pub judged: u64,
    /// How long a job was claimable before its last claim.
    pub wait_p95: Option<Millis>,
    /// From start to end.
    pub run_p95: Option<Millis>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Moved {
    #[default]
    No,
    Up,
    Down,
}

impl TypeRates {
    pub fn failure_rate(&self) -> Option<f64> {
        (self.judged > 0).then(|| self.failed as f64 / self.judged as f64)
    }
}

impl TypeComparison {
    pub fn has_moved(&self) -> bool {
        [self.failure, self.wait, self.run].iter().any(|moved| *moved != Moved::No)
    }
}

/// Compares the jobs that finished in a time before a change with those that finished in as long a time after it, or until now.
pub async fn compare(service: &Service, at: Timestamp, window: Millis) -> Result<Comparison> {
    let _turn = service.replay_turn().await;
    let now = service.store().now().await?.at;
    let from = Timestamp(at.0.saturating_sub_unsigned(window.0).max(0));
    let to = (at + window).min(now);
    let counted = counted(service, at, (from, to), now).await?;
    // Few jobs are read one by one: to the millisecond, and also those of a minute that is not over.
    if let Some([before, after]) = read_jobs(service, at, (from, to), counted.inside).await? {
        return Ok(Comparison { from, to, period: None, types: compared(&before, &after) });
    }
    let [before, after] = &counted.sides;
    Ok(Comparison { from, to, period: Some(counted.period), types: compared(before, after) })
}

type Rates = BTreeMap<TypeName, TypeRates>;

/// The rates of all jobs that finished on each side; `None` if there are too many, or fewer than were counted, because finished jobs
/// were deleted since.
async fn read_jobs(
    service: &Service,
    at: Timestamp,
    (from, to): (Timestamp, Timestamp),
    counted: u64,
) -> Result<Option<[Rates; 2]>> {
    if counted > COMPARED_JOBS_MAX as u64 {
        return Ok(None);
    }
    let catalog = service.runtime().catalog();
    let mut names: Vec<LifecycleName> = catalog.lifecycles().map(|it| it.name.clone()).collect();
    names.dedup();
    let mut ids: [Vec<JobId>; 2] = Default::default();
    for name in &names {
        for (side, period) in ids.iter_mut().zip([(from, at), (at, to)]) {
            let found = finished_jobs(service.store(), name, period, COMPARED_JOBS_MAX).await?;
            if !found.is_complete {
                return Ok(None);
            }
            side.extend(found.ids);
        }
    }
    let found = ids[0].len() + ids[1].len();
    if found > COMPARED_JOBS_MAX || (found as u64) < counted {
        return Ok(None);
    }
    let mut sides: [BTreeMap<TypeName, Sample>; 2] = Default::default();
    for (side, ids) in sides.iter_mut().zip(ids) {
        for id in ids {
            if let Some(job) = service.store().job(id).await? {
                side.entry(job.spec.job_type.clone()).or_default().add(&job);
            }
        }
    }
    Ok(Some(sides.map(|side| side.into_iter().map(|(name, sample)| (name, sample.rates())).collect())))
}

fn compared(
    before: &BTreeMap<TypeName, TypeRates>,
    after: &BTreeMap<TypeName, TypeRates>,
) -> Vec<TypeComparison> {
    let mut names: Vec<&TypeName> = before.keys().chain(after.keys()).collect();
    names.sort();
    names.dedup();
    let side =
        |rates: &BTreeMap<TypeName, TypeRates>, name: &TypeName| rates.get(name).cloned().unwrap_or_default();
    let compare = |name: &TypeName| {
        let (before, after) = (side(before, name), side(after, name));
        let enough = before.jobs.min(after.jobs) >= PERCENTILE_JOBS_MIN;
        let time = |before: Option<Millis>, after: Option<Millis>| match before.zip(after).filter(|_| enough)
        {
            Some((before, after)) => moved_time(before, after),
            None => Moved::No,
        };
        let (wait, run) = (time(before.wait_p95, after.wait_p95), time(before.run_p95, after.run_p95));
        let failure = moved_failures(&before, &after);
        TypeComparison { name: name.clone(), before, after, failure, wait, run }
    };
    let mut types: Vec<TypeComparison> = names.into_iter().map(compare).collect();
    let jobs = |it: &TypeComparison| it.before.jobs + it.after.jobs;
    types.sort_by_key(|it| (std::cmp::Reverse(it.has_moved()), std::cmp::Reverse(jobs(it))));
    types
}

/// Compares two shares by a test of proportions.
fn moved_failures(before: &TypeRates, after: &TypeRates) -> Moved {
    let (Some(was), Some(is)) = (before.failure_rate(), after.failure_rate()) else { return Moved::No };
    let (n, m) = (before.judged as f64, after.judged as f64);
    let pooled = (before.failed + after.failed) as f64 / (n + m);
    let deviation = (pooled * (1.0 - pooled) * (1.0 / n + 1.0 / m)).sqrt();
    let difference = is - was;
    if difference.abs() < FAILURE_DIFFERENCE_MIN || difference.abs() < CHANCE * deviation {
        return Moved::No;
    }
    if difference > 0.0 { Moved::Up } else { Moved::Down }
}

fn moved_time(before: Millis, after: Millis) -> Moved {
    let (low, high) = (before.0.min(after.0), before.0.max(after.0));
    if high - low < TIME_DIFFERENCE_MIN || (high as f64) < low as f64 * TIME_FACTOR {
        return Moved::No;
    }
    if after > before { Moved::Up } else { Moved::Down }
}

#[derive(Default)]
struct Sample {
    rates: TypeRates,
    waits: Vec<u64>,
    runs: Vec<u64>,
}

impl Sample {
    fn add(&mut self, job: &Job) {
        self.rates.jobs += 1;
        if let Some(outcome) = job.phase.outcome() {
            self.rates.failed += u64::from(outcome.is_failure());
            self.rates.judged += u64::from(outcome.is_failure() || outcome.is_success());
        }
        // `run_at` is the earliest time of the last claim.
        self.waits.extend(job.times.claimed_at.map(|claimed| (claimed - job.run_at).0));
        self.runs.extend(job.run_time().map(|span| span.0));
    }

    fn rates(mut self) -> TypeRates {
        let p95 = |values: &mut Vec<u64>| {
            values.sort_unstable();
            values.get((values.len() * 95 / 100).min(values.len().saturating_sub(1))).copied().map(Millis)
        };
        TypeRates { wait_p95: p95(&mut self.waits), run_p95: p95(&mut self.runs), ..self.rates }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rates(jobs: u64, failed: u64, wait: u64) -> TypeRates {
        TypeRates { jobs, failed, judged: jobs, wait_p95: Some(Millis(wait)), run_p95: None }
    }

    fn one(before: TypeRates, after: TypeRates) -> TypeComparison {
        let side = |rates| BTreeMap::from([(TypeName::from("a"), rates)]);
        compared(&side(before), &side(after)).remove(0)
    }

    #[test]
    fn a_rate_moves_if_the_difference_is_large_and_not_by_chance() {
        assert_eq!(one(rates(100, 0, 0), rates(100, 20, 0)).failure, Moved::Up);
        assert_eq!(one(rates(100, 20, 0), rates(100, 0, 0)).failure, Moved::Down);
        assert_eq!(one(rates(100, 10, 0), rates(100, 14, 0)).failure, Moved::No, "too small");
        assert_eq!(one(rates(3, 0, 0), rates(3, 1, 0)).failure, Moved::No, "too few jobs");
        assert_eq!(one(rates(100, 1, 0), TypeRates::default()).failure, Moved::No, "no jobs after it");
    }

    #[test]
    fn a_time_moves_by_a_factor_and_an_amount() {
        assert_eq!(one(rates(10, 0, 100), rates(10, 0, 400)).wait, Moved::Up);
        assert_eq!(one(rates(10, 0, 400), rates(10, 0, 100)).wait, Moved::Down);
        assert_eq!(one(rates(10, 0, 1), rates(10, 0, 20)).wait, Moved::No, "it is short");
        assert_eq!(one(rates(10, 0, 1000), rates(10, 0, 1200)).wait, Moved::No, "a fifth");
        assert_eq!(one(rates(9, 0, 100), rates(10, 0, 400)).wait, Moved::No, "too few jobs");
    }

    #[test]
    fn types_that_moved_come_first() {
        let before = BTreeMap::from([("a".into(), rates(500, 0, 0)), ("b".into(), rates(50, 0, 0))]);
        let after = BTreeMap::from([("a".into(), rates(500, 0, 0)), ("b".into(), rates(50, 25, 0))]);
        let names: Vec<String> = compared(&before, &after).iter().map(|it| it.name.to_string()).collect();
        assert_eq!(names, ["b", "a"]);
    }
}
