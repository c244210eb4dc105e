//! Callers that take jobs through their whole life, each waiting for every acknowledgement.

use std::time::{Duration, Instant};

use tenure_core::command::{Asked, Claim, ClaimFilter, Command, Report, Verb};
use tenure_core::decide::Done;
use tenure_core::id::{Fence, JobId, Name};
use tenure_core::json::Json;
use tenure_core::wire::EventForm;
use tenure_runtime::{Definitions, NewJob, Options, Runtime};
use tenure_store::{AnyStore, MemoryStore, Store};

use crate::{Failed, machine};

/// Lifecycles per second, and what each costs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rate {
    pub(crate) per_second: f64,
    pub(crate) cpu_us: f64,
}

impl Rate {
    pub(crate) fn of(lifecycles: u64, elapsed: Duration, cpu_us: u64) -> Self {
        let lifecycles = lifecycles.max(1) as f64;
        Self { per_second: lifecycles / elapsed.as_secs_f64(), cpu_us: cpu_us as f64 / lifecycles }
    }
}

/// A payload of 200 bytes.
fn payload() -> Json {
    Json::of(&serde_json::json!({ "text": "x".repeat(189) }))
}

/// Puts jobs into the queue that nobody has claimed yet.
pub(crate) async fn fill(runtime: &Runtime<AnyStore>, waiting: usize) -> Result<(), Failed> {
    let mut left = waiting;
    while left > 0 {
        let mut tasks = tokio::task::JoinSet::new();
        for _ in 0..left.min(4000) {
            let runtime = runtime.clone();
            tasks.spawn(async move { runtime.create(NewJob::new("bench", payload())).await });
            left -= 1;
        }
        for created in tasks.join_all().await {
            created??;
        }
    }
    Ok(())
}

pub(crate) async fn measure(
    runtime: &Runtime<AnyStore>,
    callers: usize,
    seconds: u64,
) -> Result<Rate, Failed> {
    let with_database = matches!(runtime.store(), AnyStore::Postgres(_));
    let cpu = machine::cpu_us(with_database)?;
    let begun = Instant::now();
    let until = begun + Duration::from_secs(seconds);
    let mut tasks = tokio::task::JoinSet::new();
    for caller in 0..callers {
        let (runtime, worker) = (runtime.clone(), Name::from(format!("w{caller}")));
        tasks.spawn(async move {
            let mut count = 0;
            while Instant::now() < until {
                lifecycle(&runtime, &worker).await.map_err(|error| error.to_string())?;
                count += 1;
            }
            Ok::<u64, String>(count)
        });
    }
    let mut lifecycles = 0;
    for count in tasks.join_all().await {
        lifecycles += count?;
    }
    Ok(Rate::of(lifecycles, begun.elapsed(), machine::cpu_us(with_database)?.saturating_sub(cpu)))
}

/// Create, claim, start, succeed; the claim takes the oldest job that waits.
async fn lifecycle(runtime: &Runtime<AnyStore>, worker: &Name) -> Result<JobId, Failed> {
    runtime.create(NewJob::new("bench", payload())).await??;
    let filter = ClaimFilter::default();
    let claim = Claim { worker: worker.clone(), filter, max: 1, request_id: None, start: false };
    let Done::Claimed { jobs, .. } = runtime.claim(claim, Duration::from_secs(5)).await?? else {
        unreachable!()
    };
    let job = jobs.first().ok_or("there was nothing to claim")?;
    report(runtime, (job.id(), worker, job.fence), Verb::Start).await?;
    report(runtime, (job.id(), worker, job.fence), Verb::Succeed { result: None, error: None }).await?;
    Ok(job.id())
}

async fn report(
    runtime: &Runtime<AnyStore>,
    (job, worker, fence): (JobId, &Name, Fence),
    verb: Verb,
) -> Result<(), Failed> {
    let report = Report { job, holder: Some((worker.clone(), fence)), verb };
    let by = tenure_core::id::Actor::worker(worker);
    runtime.submit(Asked { by, key: None, command: Command::Report(Box::new(report)) }).await??;
    Ok(())
}

/// What one lifecycle writes at the least: its payload and its four events.
pub(crate) async fn bytes_of_a_lifecycle() -> Result<usize, Failed> {
    let store = AnyStore::Memory(MemoryStore::new());
    let runtime = Runtime::start(store, Definitions::default(), Options::default()).await?;
    let job = lifecycle(&runtime, &"w1".into()).await?;
    let history = runtime.store().history(job).await?;
    let events: usize =
        history.iter().map(|event| Json::of(&EventForm::new(event, "", "")).as_str().len()).sum();
    runtime.stop().await;
    Ok(payload().as_str().len() + events)
}
