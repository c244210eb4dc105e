//! The cases of `cargo xtask bench peers` for job systems with a client in Rust; `measure.mjs` is the same in JavaScript.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde::Deserialize;
use tokio::sync::{Notify, mpsc};

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Plan {
    pub(crate) seconds: u64,
    pub(crate) callers: usize,
    pub(crate) batch: usize,
    pub(crate) batch_callers: usize,
    pub(crate) jobs: usize,
    pub(crate) samples: usize,
    pub(crate) slots: usize,
}

/// Called for each job by the worker.
pub(crate) type Handler = Arc<dyn Fn() + Send + Sync>;

/// A job system. Calls that add jobs return when the jobs are as durable as the system makes them.
pub(crate) trait System: Clone + Send + Sync + 'static {
    fn add(&self) -> impl Future<Output = anyhow::Result<()>> + Send;
    fn add_many(&self, jobs: usize) -> impl Future<Output = anyhow::Result<()>> + Send;
    /// Starts one worker with this many slots.
    fn work(&self, slots: usize, handler: Handler) -> impl Future<Output = anyhow::Result<()>> + Send;
}

/// Measures the case that the first argument names, by the plan in `PEER_PLAN`, and prints the result.
pub(crate) async fn measure<S: System>(system: S) -> anyhow::Result<()> {
    let plan: Plan = serde_json::from_str(&std::env::var("PEER_PLAN")?)?;
    let case = std::env::args().nth(1).unwrap_or_default();
    let result = match case.as_str() {
        "enqueue" => enqueue(&system, &plan).await?,
        "steady" => end_to_end(&system, &plan, plan.callers, 1).await?,
        "bulk" => end_to_end(&system, &plan, plan.batch_callers, plan.batch).await?,
        "drain" => drain(&system, &plan).await?,
        "idle" => idle(&system, &plan).await?,
        other => anyhow::bail!("there is no case {other:?}"),
    };
    println!("{result}");
    Ok(())
}

fn rate(jobs: usize, start: Instant) -> serde_json::Value {
    serde_json::json!({ "rate": jobs as f64 / start.elapsed().as_secs_f64() })
}

async fn enqueue<S: System>(system: &S, plan: &Plan) -> anyhow::Result<serde_json::Value> {
    let (start, mut jobs) = (Instant::now(), 0);
    while start.elapsed() < Duration::from_secs(plan.seconds) {
        system.add().await?;
        jobs += 1;
    }
    Ok(rate(jobs, start))
}

/// Counts handled jobs.
#[derive(Default)]
struct Handled {
    jobs: AtomicUsize,
    changed: Notify,
}

impl Handled {
    fn handler(self: &Arc<Self>) -> Handler {
        let handled = Arc::clone(self);
        Arc::new(move || {
            handled.jobs.fetch_add(1, Ordering::SeqCst);
            handled.changed.notify_one();
        })
    }

    /// Waits until this many jobs are handled.
    async fn reach(&self, jobs: usize) {
        while self.jobs.load(Ordering::SeqCst) < jobs {
            self.changed.notified().await;
        }
    }
}

/// Callers that add jobs, and a worker; until every job is handled.
async fn end_to_end<S: System>(
    system: &S,
    plan: &Plan,
    callers: usize,
    batch: usize,
) -> anyhow::Result<serde_json::Value> {
    let handled = Arc::new(Handled::default());
    system.work(plan.slots, handled.handler()).await?;
    let (start, span) = (Instant::now(), Duration::from_secs(plan.seconds));
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..callers {
        let system = system.clone();
        tasks.spawn(async move {
            let mut added = 0;
            while start.elapsed() < span {
                match batch {
                    1 => system.add().await?,
                    _ => system.add_many(batch).await?,
                }
                added += batch;
            }
            anyhow::Ok(added)
        });
    }
    let added = tasks.join_all().await.into_iter().sum::<anyhow::Result<usize>>()?;
    handled.reach(added).await;
    Ok(rate(added, start))
}

/// A worker that starts beside many waiting jobs.
async fn drain<S: System>(system: &S, plan: &Plan) -> anyhow::Result<serde_json::Value> {
    for _ in 0..plan.jobs / 1000 {
        system.add_many(1000).await?;
    }
    let (handled, start) = (Arc::new(Handled::default()), Instant::now());
    system.work(plan.slots, handled.handler()).await?;
    handled.reach(plan.jobs).await;
    Ok(rate(plan.jobs, start))
}

/// The time from the call that adds a job to its handler, one job at a time.
async fn idle<S: System>(system: &S, plan: &Plan) -> anyhow::Result<serde_json::Value> {
    let (sender, mut arrived) = mpsc::unbounded_channel();
    let handler = move || sender.send(Instant::now()).expect("the receiver lives as long as the case");
    system.work(plan.slots, Arc::new(handler)).await?;
    let mut spans = Vec::with_capacity(plan.samples);
    for _ in 0..plan.samples {
        let start = Instant::now();
        system.add().await?;
        let at = arrived.recv().await.ok_or_else(|| anyhow::anyhow!("the worker stopped"))?;
        spans.push(at.duration_since(start).as_secs_f64() * 1000.0);
    }
    spans.sort_by(f64::total_cmp);
    let at = |share: f64| spans[((spans.len() as f64 * share) as usize).min(spans.len() - 1)];
    Ok(serde_json::json!({ "p50_ms": at(0.5), "p99_ms": at(0.99) }))
}
