//! The runtime without HTTP: the same load as the server gets, on a store of its own.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};
use tenure_core::command::{Asked, Claim, ClaimFilter, Command, Report, Verb};
use tenure_core::decide::Done;
use tenure_core::id::{Actor, Name};
use tenure_core::job::Job;
use tenure_core::json::Json;
use tenure_runtime::{Definitions, NewJob, Options, Runtime};
use tenure_store::AnyStore;
use tokio::task::JoinSet;

use super::load::payload;

pub(super) struct Embedded(Runtime<AnyStore>);

impl Embedded {
    pub(super) async fn open(folder: &Path) -> Result<Self> {
        let store = AnyStore::open(folder).await?;
        Ok(Self(Runtime::start(store, Definitions::default(), Options::default()).await?))
    }

    pub(super) async fn close(self) {
        self.0.stop().await;
    }

    /// Lifecycles per second of callers that wait for every answer.
    pub(super) async fn singles(&self, callers: usize, span: Duration) -> Result<f64> {
        self.drive(callers, span, 1).await
    }

    /// Lifecycles per second of callers that ask for many at once.
    pub(super) async fn batches(&self, callers: usize, batch: usize, span: Duration) -> Result<f64> {
        self.drive(callers, span, batch).await
    }

    /// Makes so many jobs: half of them are finished, the rest wait.
    pub(super) async fn fill(&self, jobs: usize) -> Result<()> {
        const BATCH: usize = 500;
        let (worker, mut made) = (Name::from("filler"), 0);
        while made < jobs / 2 {
            made += lifecycles(&self.0, &worker, BATCH.min(jobs / 2 - made)).await?;
        }
        while made < jobs {
            let batch = BATCH.min(jobs - made);
            let new = (0..batch).map(|_| NewJob::new("bench", Json::of(&payload())));
            for created in self.0.create_all(new.collect::<Vec<_>>()).await {
                created?.map_err(|refusal| anyhow!(refusal))?;
            }
            made += batch;
        }
        Ok(())
    }

    async fn drive(&self, callers: usize, span: Duration, batch: usize) -> Result<f64> {
        let begun = Instant::now();
        let mut tasks = JoinSet::new();
        for caller in 0..callers {
            let (runtime, worker) = (self.0.clone(), Name::from(format!("w{caller}")));
            tasks.spawn(async move {
                let mut count = 0;
                while begun.elapsed() < span {
                    count += lifecycles(&runtime, &worker, batch).await?;
                }
                anyhow::Ok(count)
            });
        }
        let mut count = 0;
        for done in tasks.join_all().await {
            count += done?;
        }
        Ok(count as f64 / begun.elapsed().as_secs_f64())
    }
}

/// Create, claim, start, succeed; says how many.
async fn lifecycles(runtime: &Runtime<AnyStore>, worker: &Name, batch: usize) -> Result<usize> {
    let payload = Json::of(&payload());
    let new = (0..batch).map(|_| NewJob::new("bench", payload.clone()));
    for created in runtime.create_all(new.collect::<Vec<_>>()).await {
        created?.map_err(|refusal| anyhow!(refusal))?;
    }
    let filter = ClaimFilter::default();
    let claim = Claim { worker: worker.clone(), filter, max: batch as u32, request_id: None, start: false };
    let claimed = runtime.claim(claim, Duration::from_secs(5)).await?.map_err(|refusal| anyhow!(refusal))?;
    let Done::Claimed { jobs, .. } = claimed else { unreachable!("a claim is answered with jobs") };
    for verb in [Verb::Start, Verb::Succeed { result: None, error: None }] {
        let ask = |job: &std::sync::Arc<Job>| {
            let report =
                Report { job: job.id(), holder: Some((worker.clone(), job.fence)), verb: verb.clone() };
            Asked { by: Actor::worker(worker), key: None, command: Command::Report(Box::new(report)) }
        };
        for done in runtime.submit_all(jobs.iter().map(ask).collect::<Vec<_>>()).await {
            done?.map_err(|refusal| anyhow!(refusal))?;
        }
    }
    Ok(jobs.len())
}
