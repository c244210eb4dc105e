//! The runtime without HTTP, on a store in this process.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, anyhow};
use tenure_core::command::{Claim, ClaimFilter, Command, CommandEnvelope, Holder, Report, Verb};
use tenure_core::decide::CommandOutput;
use tenure_core::id::{Actor, WorkerId};
use tenure_core::job::Job;
use tenure_core::json::Json;
use tenure_runtime::{Definitions, NewJob, Options, Runtime};
use tenure_store::Store;

use super::{Throughput, drive, payload};

/// Jobs that are created by one call while a store is filled.
const FILL_BATCH: usize = 500;

pub(super) struct Embedded(Runtime);

impl Embedded {
    pub(super) async fn open(folder: &Path) -> Result<Self> {
        Self::on(Store::open(folder).await?).await
    }

    pub(super) async fn on(store: Store) -> Result<Self> {
        Ok(Self(Runtime::start(store, Definitions::default(), Options::default()).await?))
    }

    pub(super) async fn close(self) {
        self.0.stop().await;
    }

    /// Creates jobs and leaves them waiting.
    pub(super) async fn fill_waiting(&self, jobs: usize) -> Result<()> {
        let mut created = 0;
        while created < jobs {
            let batch = FILL_BATCH.min(jobs - created);
            create(&self.0, batch).await?;
            created += batch;
        }
        Ok(())
    }

    /// Creates jobs and finishes them.
    pub(super) async fn fill_finished(&self, jobs: usize) -> Result<()> {
        let (worker, mut finished) = (WorkerId::from("filler"), 0);
        while finished < jobs {
            finished += run_lifecycles(&self.0, &worker, FILL_BATCH.min(jobs - finished)).await?;
        }
        Ok(())
    }

    /// Lifecycles of concurrent callers, each of which takes `batch` jobs at a time and waits for every result.
    pub(super) async fn drive(&self, callers: usize, batch: usize, span: Duration) -> Result<Throughput> {
        let callers = (0..callers).map(|number| (self.0.clone(), WorkerId::from(format!("w{number}"))));
        let operation = move |(runtime, worker): (Runtime, WorkerId)| async move {
            run_lifecycles(&runtime, &worker, batch).await
        };
        drive(callers.collect(), span, operation).await
    }
}

async fn create(runtime: &Runtime, batch: usize) -> Result<()> {
    let payload = Json::of(&payload());
    let new: Vec<NewJob> = (0..batch).map(|_| NewJob::new("bench", payload.clone())).collect();
    for created in runtime.create_all(new).await {
        created?.map_err(|refusal| anyhow!(refusal))?;
    }
    Ok(())
}

/// Creates, claims, starts and finishes up to `batch` jobs; returns how many. The claim takes the oldest waiting jobs.
async fn run_lifecycles(runtime: &Runtime, worker: &WorkerId, batch: usize) -> Result<usize> {
    create(runtime, batch).await?;
    let filter = ClaimFilter::default();
    let claim = Claim { worker: worker.clone(), filter, max: batch as u32, request_id: None, start: false };
    let claimed = runtime.claim(claim, Duration::from_secs(5)).await?.map_err(|refusal| anyhow!(refusal))?;
    let CommandOutput::Claimed { jobs, .. } = claimed else { unreachable!("a claim returns jobs") };
    for verb in [Verb::Start, Verb::Succeed { result: None, error: None }] {
        let envelope = |job: &Arc<Job>| {
            let holder = Some(Holder { worker: worker.clone(), fence: job.fence });
            let report = Report { job: job.id(), holder, verb: verb.clone() };
            let command = Command::Report(Box::new(report));
            CommandEnvelope { by: Actor::worker(worker).into(), key: None, command }
        };
        for reported in runtime.submit_all(jobs.iter().map(envelope).collect::<Vec<_>>()).await {
            reported?.map_err(|refusal| anyhow!(refusal))?;
        }
    }
    Ok(jobs.len())
}
