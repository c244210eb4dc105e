//! Calls of workers: claims and reports. None of them is retried here; the worker decides.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tenure_api::{CallId, HeartbeatAnswer, JobRecord, WorkerStatus};

use super::transport::{Request, decode};
use super::{Client, Listing, batch};
use crate::error::{Error, Problem, Result};
use crate::request::{Claim, Holder, Page, Report, Verb, to_value};

/// The result of a worker's report.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(from = "JobRecord")]
pub struct Reported {
    /// The job afterwards.
    pub job: JobRecord,
    /// Whether it had been reported before.
    pub replayed: bool,
    /// Whether it had no effect, such as progress after the end.
    pub ignored: bool,
}

impl From<JobRecord> for Reported {
    fn from(job: JobRecord) -> Self {
        Self { replayed: job.replayed, ignored: job.ignored, job }
    }
}

/// A claimed job that cannot be read, such as one with a number that is too large: what is needed to report it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct UnreadableJob {
    pub(crate) id: String,
    pub(crate) fence: u64,
    /// Why it cannot be read.
    pub(crate) why: String,
}

/// The answer to a claim, without what is in its jobs.
#[derive(Deserialize)]
struct ClaimAnswer {
    jobs: Vec<Box<RawValue>>,
}

/// The fields of a job that do not come from callers.
#[derive(Deserialize)]
struct LeasedJob {
    id: String,
    lease: LeaseFence,
}

#[derive(Deserialize)]
struct LeaseFence {
    fence: u64,
}

/// Reads one job of a claim.
fn read_job(raw: &RawValue) -> Result<Result<JobRecord, UnreadableJob>> {
    match serde_json::from_str(raw.get()) {
        Ok(job) => Ok(Ok(job)),
        Err(why) => {
            let LeasedJob { id, lease: LeaseFence { fence } } = decode(raw.get().as_bytes())?;
            Ok(Err(UnreadableJob { id, fence, why: why.to_string() }))
        }
    }
}

impl Client {
    /// Claims jobs, and waits for them as long as the claim says. Each job has its lease and its traceparent.
    pub async fn claim(&self, claim: &Claim) -> Result<Vec<JobRecord>> {
        let unreadable = |job: UnreadableJob| {
            Error::Protocol(format!("the answer cannot be read: job {}: {}", job.id, job.why))
        };
        let jobs = self.claim_each(claim, None).await?;
        jobs.into_iter().map(|job| job.map_err(unreadable)).collect()
    }

    /// Like [`Client::claim`]: a job that cannot be read does not affect the others.
    /// `about` is what the worker says about itself.
    pub(crate) async fn claim_each(
        &self,
        claim: &Claim,
        about: Option<String>,
    ) -> Result<Vec<Result<JobRecord, UnreadableJob>>> {
        let timeout = claim.wait.unwrap_or_default() + Duration::from_secs(10);
        let request = Request::to(CallId::ClaimJobs, &[]).json(&claim.body())?.timeout(Some(timeout));
        let request = request.header("tenure-worker", about);
        let ClaimAnswer { jobs } = decode(&self.once(&request).await?.body)?;
        jobs.iter().map(|raw| read_job(raw)).collect()
    }

    /// Reports about one job; for heartbeats there is [`Client::heartbeat`].
    pub async fn report(&self, worker: &str, report: &Report) -> Result<Reported> {
        let mut body = report.body.clone();
        body.insert("worker".into(), json!(worker));
        body.insert("fence".into(), json!(report.fence));
        let request = Request::to(CallId::of_verb(report.verb), &[&report.job]).json(&body)?;
        decode(&self.once(&request).await?.body)
    }

    /// Keeps a lease alive.
    pub async fn heartbeat(&self, job: &str, holder: &Holder) -> Result<HeartbeatAnswer> {
        let request = Request::to(CallId::of_verb(Verb::Heartbeat), &[job]).json(holder)?;
        decode(&self.once(&request).await?.body)
    }

    /// Reports about up to 10,000 jobs, each independently: a job, or for heartbeats what [`Client::heartbeat`] returns.
    pub async fn reports(&self, worker: &str, reports: &[Report]) -> Result<Vec<Result<Value, Problem>>> {
        self.report_all(Request::to(CallId::ReportJobs, &[]), worker, reports).await
    }

    /// For the worker, which reads the answers to heartbeats and refusals: of jobs it gets only the ids.
    pub(crate) async fn reports_within(
        &self,
        worker: &str,
        reports: &[impl Serialize],
        timeout: Duration,
    ) -> Result<Vec<Result<Value, Problem>>> {
        let request = Request::to(CallId::ReportJobs, &[]).timeout(Some(timeout)).minimal();
        self.report_all(request, worker, reports).await
    }

    async fn report_all(
        &self,
        request: Request,
        worker: &str,
        reports: &[impl Serialize],
    ) -> Result<Vec<Result<Value, Problem>>> {
        let request = request.json(&json!({ "worker": worker, "reports": reports }))?;
        batch(decode(&self.once(&request).await?.body)?, reports.len())
    }

    /// The workers that were seen, when, and what they hold.
    pub async fn workers(&self, page: &Page) -> Result<Listing<WorkerStatus>> {
        self.listing(CallId::ListWorkers, &[], &[to_value("the page", page)?]).await
    }
}
