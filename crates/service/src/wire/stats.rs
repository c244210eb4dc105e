//! Statistics.

use tenure_api::{
    Attention, FailureStats, JobCount, Minutes, Node, Percentiles, StateStats, Stats, TransitionStats,
    TypeStats,
};
use tenure_stats::snapshot::{self, LifecycleNow, Snapshot};

use super::{ToWire as _, text};
use crate::links::page_of;

/// A snapshot of the statistics.
pub fn stats(now: &Snapshot) -> Stats {
    convert!(now => Stats { at, counts, failures, attention, minutes, nodes;
        types: now.recent.to_wire(),
        states: now.lifecycles.iter().flat_map(states).collect(),
        transitions: now.lifecycles.iter().flat_map(transitions).collect(),
    })
}

conversions! {
    snapshot::CountNow as it => JobCount { lifecycle, job_type, queue, state, count }
    snapshot::RecentNow as it => TypeStats { lifecycle, job_type, window, finished, rate, wait_ms, run_ms;
        outcomes: it.outcomes.iter().map(|(outcome, count)| ((*outcome).to_owned(), *count)).collect() }
    snapshot::Percentiles as it => Percentiles { p50, p95, p99 }
    snapshot::Minutes as it => Minutes { created, finished, failed }
    snapshot::FailureNow as it => FailureStats { job_type, code, count, first_at, last_at, job_id, message }
    snapshot::Attention as it => Attention { text, since; what: text(&it.what), link: page_of(&it.subject) }
    snapshot::NodeNow as it => Node { id, address, version, started_at, seen_at, own; life: text(&it.life) }
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
