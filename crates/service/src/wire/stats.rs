//! Statistics.

use tenure_api::{
    Attention, FailureStats, JobCount, Minutes, Node, Percentiles, StateStats, Stats, TransitionStats,
    TypeStats,
};
use tenure_stats::snapshot::{self, LifecycleNow, Snapshot};

use super::text;
use crate::links::page_of;

/// A snapshot of the statistics.
pub fn stats(now: &Snapshot) -> Stats {
    Stats {
        at: now.at.to_string(),
        counts: now.counts.iter().map(count).collect(),
        types: now.recent.iter().map(type_stats).collect(),
        states: now.lifecycles.iter().flat_map(states).collect(),
        transitions: now.lifecycles.iter().flat_map(transitions).collect(),
        failures: now.failures.iter().map(failure).collect(),
        attention: now.attention.iter().map(attention).collect(),
        minutes: Minutes {
            created: now.minutes.created.clone(),
            finished: now.minutes.finished.clone(),
            failed: now.minutes.failed.clone(),
        },
        nodes: now.nodes.iter().map(node).collect(),
    }
}

fn count(it: &snapshot::CountNow) -> JobCount {
    JobCount {
        lifecycle: it.lifecycle.to_string(),
        job_type: it.job_type.to_string(),
        queue: it.queue.to_string(),
        state: it.state.to_string(),
        count: it.count,
    }
}

fn type_stats(it: &snapshot::RecentNow) -> TypeStats {
    TypeStats {
        lifecycle: it.lifecycle.to_string(),
        job_type: it.job_type.to_string(),
        window: it.window.to_string(),
        finished: it.finished,
        rate: it.rate,
        outcomes: it.outcomes.iter().map(|(outcome, count)| ((*outcome).to_owned(), *count)).collect(),
        wait_ms: percentiles(it.wait_ms),
        run_ms: percentiles(it.run_ms),
    }
}

fn percentiles(it: snapshot::Percentiles) -> Percentiles {
    Percentiles { p50: it.p50, p95: it.p95, p99: it.p99 }
}

fn states(lifecycle: &LifecycleNow) -> impl Iterator<Item = StateStats> {
    lifecycle.states.iter().map(|state| StateStats {
        lifecycle: lifecycle.name.to_string(),
        state: state.name.to_string(),
        count: state.count,
        oldest_since: state.oldest_since.map(|at| at.to_string()),
        p95_ms: state.p95_ms,
    })
}

fn transitions(lifecycle: &LifecycleNow) -> impl Iterator<Item = TransitionStats> {
    lifecycle.transitions.iter().map(|it| TransitionStats {
        lifecycle: lifecycle.name.to_string(),
        from: it.from.as_ref().map(ToString::to_string),
        trigger: text(&it.trigger),
        to: it.to.to_string(),
        per_minute: it.per_minute,
    })
}

fn failure(it: &snapshot::FailureNow) -> FailureStats {
    FailureStats {
        job_type: it.job_type.to_string(),
        code: it.code.to_string(),
        count: it.count,
        first_at: it.first_at.to_string(),
        last_at: it.last_at.to_string(),
        job_id: it.job_id.to_string(),
        message: it.message.to_string(),
    }
}

fn attention(it: &snapshot::Attention) -> Attention {
    Attention {
        what: text(&it.what),
        text: it.text.clone(),
        since: it.since.map(|at| at.to_string()),
        link: page_of(&it.subject),
    }
}

fn node(it: &snapshot::NodeNow) -> Node {
    Node {
        id: it.id.to_string(),
        address: it.address.clone(),
        version: it.version.clone(),
        started_at: it.started_at.to_string(),
        seen_at: it.seen_at.to_string(),
        own: it.own,
        life: text(&it.life),
    }
}
