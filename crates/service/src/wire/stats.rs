//! Statistics.

use tenure_api::{
    Attention, ErrorStats, FailureStats, JobCount, Minutes, Node, Percentiles, QueueStats, StateStats, Stats,
    StatsHistory, StatsPeriod, StatsStep, TransitionStats, TypeHour, TypeStats,
};
use tenure_core::statistics::{PeriodCounts, Series};
use tenure_core::time::{Millis, Timestamp};
use tenure_stats::snapshot::{self, LifecycleNow, QueueNow, QueueTrend, Snapshot};
use tenure_stats::{History, HistoryPeriod, span_percentiles};

use super::{ToWire as _, text};
use crate::links::page_of;

/// A snapshot of the statistics.
pub fn stats(now: &Snapshot) -> Stats {
    convert!(now => Stats { at, counts, failures, errors, attention, minutes, nodes;
        by_type: now.types.to_wire(),
        queues: now.queues.iter().zip(&now.queue_trends).map(queue).collect(),
        types: now.recent.to_wire(),
        states: now.lifecycles.iter().flat_map(states).collect(),
        transitions: now.lifecycles.iter().flat_map(transitions).collect(),
        history: None,
    })
}

/// Statistics over time.
pub fn stats_history(history: &History) -> StatsHistory {
    let name = |is: bool| is.then(|| history.series.name().to_owned());
    StatsHistory {
        job_type: name(matches!(history.series, Series::Type(_))),
        queue: name(matches!(history.series, Series::Queue(_))),
        step_ms: history.step.0,
        current: period(&history.current, history.step),
        previous: history.previous.as_ref().map(|previous| period(previous, history.step)),
    }
}

fn period(it: &HistoryPeriod, length: Millis) -> StatsPeriod {
    let mut at = it.from;
    let mut steps = Vec::with_capacity(it.steps.len());
    for counts in &it.steps {
        steps.push(step(counts, at));
        at = at + length;
    }
    let (from, until) = (it.from.to_string(), it.until.to_string());
    StatsPeriod { from, until, totals: step(&it.totals, it.from), steps }
}

fn step(it: &PeriodCounts, at: Timestamp) -> StatsStep {
    convert!(it => StatsStep { created, finished, succeeded, failed_jobs, failed_attempts, became_ready, left_ready, backlog;
        at: at.to_string(),
        failure_rate: it.failure_rate(),
        wait_ms: span_percentiles(&it.wait).to_wire(),
        run_ms: span_percentiles(&it.run).to_wire() })
}

conversions! {
    snapshot::CountNow as it => JobCount { lifecycle, job_type, queue, state, count }
    snapshot::RecentNow as it => TypeStats { lifecycle, job_type, window, finished, rate, wait_ms, run_ms;
        outcomes: it.outcomes.iter().map(|(outcome, count)| ((*outcome).to_owned(), *count)).collect() }
    snapshot::Percentiles as it => Percentiles { p50, p95, p99 }
    snapshot::Minutes as it => Minutes { created, finished, succeeded, failed_jobs, failed }
    snapshot::FailureNow as it => FailureStats { job_type, code, count, first_at, last_at, job_id, message }
    snapshot::ErrorNow as it => ErrorStats { code, signature, types, count, retried, minutes, first_at, last_at, job_id, message, users }
    snapshot::TypeNow as it => TypeHour { lifecycle, ready, unfinished, oldest_ready, wait_ms, run_ms;
        job_type: it.name.to_string(),
        created: it.totals.created,
        finished: it.totals.finished,
        succeeded: it.totals.succeeded,
        failed_jobs: it.totals.failed_jobs,
        failed_attempts: it.totals.failed,
        failure_rate: it.totals.failure_rate(),
        idle: it.idle as u64,
        busy: it.busy as u64 }
    snapshot::Attention as it => Attention { text, since; what: text(&it.what), link: page_of(&it.subject),
        severity: text(&it.severity), action: it.action.to_owned() }
    snapshot::NodeNow as it => Node { id, address, version, started_at, seen_at, own; life: text(&it.life) }
}

fn queue((it, trend): (&QueueNow, &QueueTrend)) -> QueueStats {
    let pause = trend.pause.as_ref();
    QueueStats {
        name: it.name.to_string(),
        paused: it.paused,
        paused_by: pause.map(|pause| pause.by.clone()),
        paused_since: pause.map(|pause| pause.since.to_string()),
        ready: it.ready,
        running: it.running,
        waiting: it.waiting,
        oldest_ready: trend.oldest.map(|at| at.to_string()),
        depth: trend.depth.clone(),
        in_per_minute: trend.in_per_minute,
        out_per_minute: trend.out_per_minute,
        drains_in_ms: trend.drains_in.map(|time| time.0),
    }
}

fn states(lifecycle: &LifecycleNow) -> impl Iterator<Item = StateStats> {
    let (lifecycle, states) = (&lifecycle.name, &lifecycle.states);
    states.iter().map(|it| {
        convert!(it => StateStats { count, oldest_since, p95_ms;
        lifecycle: lifecycle.to_string(), state: it.name.to_string() })
    })
}

fn transitions(lifecycle: &LifecycleNow) -> impl Iterator<Item = TransitionStats> {
    let (lifecycle, transitions) = (&lifecycle.name, &lifecycle.transitions);
    transitions.iter().map(|it| {
        convert!(it => TransitionStats { from, to, per_minute;
        lifecycle: lifecycle.to_string(), trigger: text(&it.trigger) })
    })
}
