//! Statistics out of the store itself: counts as they are, rates and percentiles over what was finished lately. The same
//! from every node, and there after a restart.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use tenure_core::id::Name;
use tenure_core::job::Job;
use tenure_core::time::{Millis, Timestamp};
use tenure_store::Store as _;

use crate::app::App;
use crate::problem::Problem;

/// How far back rates and percentiles look.
const WINDOW: Millis = Millis::seconds(300);
/// Finished jobs that are looked at; if there were more, the window is as long as these took.
const JOBS_MAX: usize = 20_000;

#[derive(Default)]
struct Group {
    outcomes: BTreeMap<&'static str, u64>,
    waits: Vec<u64>,
    runs: Vec<u64>,
}

pub(crate) async fn stats(app: &App) -> Result<Value, Problem> {
    let now = app.store().now().await?;
    let counts = app.store().counts().await?;
    let jobs = app.store().finished(Timestamp(now.at.0 - WINDOW.0 as i64), JOBS_MAX).await?;
    let window = match jobs.last() {
        Some(oldest) if jobs.len() == JOBS_MAX => now.at - oldest.times.completed_at.unwrap_or(now.at),
        _ => WINDOW,
    };
    let mut groups: BTreeMap<(Name, Name), Group> = BTreeMap::new();
    for job in &jobs {
        let key = (job.spec.lifecycle.name.clone(), job.spec.job_type.clone());
        groups.entry(key).or_default().add(job);
    }
    let counts = counts.iter().map(|count| {
        json!({
            "lifecycle": count.lifecycle, "type": count.job_type, "queue": count.queue,
            "state": count.state, "count": count.count,
        })
    });
    let types =
        groups.into_iter().map(|((lifecycle, job_type), group)| group.shown(&lifecycle, &job_type, window));
    Ok(json!({ "at": now.at, "counts": counts.collect::<Vec<_>>(), "types": types.collect::<Vec<_>>() }))
}

impl Group {
    fn add(&mut self, job: &Job) {
        if let Some(outcome) = job.phase.outcome() {
            *self.outcomes.entry(outcome.as_str()).or_default() += 1;
        }
        self.waits.extend(job.times.claimed_at.map(|at| (at - job.spec.created_at).0));
        self.runs.extend(job.run_time().map(|span| span.0));
    }

    fn shown(mut self, lifecycle: &Name, job_type: &Name, window: Millis) -> Value {
        let finished: u64 = self.outcomes.values().sum();
        let outcomes: Map<String, Value> =
            self.outcomes.iter().map(|(outcome, count)| ((*outcome).to_owned(), json!(count))).collect();
        json!({
            "lifecycle": lifecycle,
            "type": job_type,
            "window": window,
            "finished": finished,
            "rate": finished as f64 * 1000.0 / window.0.max(1) as f64,
            "outcomes": outcomes,
            "wait_ms": percentiles(&mut self.waits),
            "run_ms": percentiles(&mut self.runs),
        })
    }
}

fn percentiles(values: &mut [u64]) -> Value {
    values.sort_unstable();
    let at = |percent: usize| values.get((values.len() * percent / 100).min(values.len().saturating_sub(1)));
    json!({ "p50": at(50), "p95": at(95), "p99": at(99) })
}
