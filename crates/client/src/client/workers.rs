//! What workers say: claims and reports. Nothing here is repeated by itself; the worker knows when to.

use std::time::Duration;

use reqwest::Method;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::jobs::path;
use super::transport::{Ask, decode};
use super::{Client, batch, with_query};
use crate::error::{Problem, Result};
use crate::request::{Claim, Holder, Page, Report, to_value};
use crate::wire::{Beat, JobRecord, Listing};

/// What a worker's report comes to.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Reported {
    /// The job after it.
    #[serde(flatten)]
    pub job: JobRecord,
    /// Whether it had been reported before.
    #[serde(default)]
    pub replayed: bool,
    /// Whether it came too late to count, as progress after the end does.
    #[serde(default)]
    pub ignored: bool,
}

impl Client {
    /// Asks for work, and waits for it as long as the claim says. Each job has its lease and its traceparent.
    pub async fn claim(&self, claim: &Claim) -> Result<Vec<JobRecord>> {
        #[derive(Deserialize)]
        struct Claimed {
            jobs: Vec<JobRecord>,
        }
        let timeout = claim.wait.unwrap_or_default() + Duration::from_secs(10);
        let ask = Ask::new(Method::POST, "/api/claims").json(claim)?.timeout(Some(timeout));
        let Claimed { jobs } = decode(&self.once(&ask).await?.body)?;
        Ok(jobs)
    }

    /// Reports about one job; for heartbeats there is [`Client::heartbeat`].
    pub async fn report(&self, worker: &str, report: &Report) -> Result<Reported> {
        let mut body = report.body.clone();
        body.insert("worker".into(), json!(worker));
        body.insert("fence".into(), json!(report.fence));
        let path = path(&report.job, &format!("/{}", report.verb.as_str()));
        decode(&self.once(&Ask::new(Method::POST, path).json(&body)?).await?.body)
    }

    /// Keeps a lease alive.
    pub async fn heartbeat(&self, job: &str, holder: &Holder) -> Result<Beat> {
        let ask = Ask::new(Method::POST, path(job, "/heartbeat")).json(holder)?;
        decode(&self.once(&ask).await?.body)
    }

    /// Reports about up to 10,000 jobs, each by itself: a job, or for heartbeats what [`Client::heartbeat`] gets.
    pub async fn reports(&self, worker: &str, reports: &[Report]) -> Result<Vec<Result<Value, Problem>>> {
        self.answers(Ask::new(Method::POST, "/api/reports"), worker, reports).await
    }

    /// For the worker, which looks at heartbeats' answers and at refusals: of the jobs it gets their ids.
    pub(crate) async fn reports_within(
        &self,
        worker: &str,
        reports: &[impl Serialize],
        timeout: Duration,
    ) -> Result<Vec<Result<Value, Problem>>> {
        let ask = Ask::new(Method::POST, "/api/reports").timeout(Some(timeout)).minimal();
        self.answers(ask, worker, reports).await
    }

    async fn answers(
        &self,
        ask: Ask,
        worker: &str,
        reports: &[impl Serialize],
    ) -> Result<Vec<Result<Value, Problem>>> {
        let ask = ask.json(&json!({ "worker": worker, "reports": reports }))?;
        batch(decode(&self.once(&ask).await?.body)?, reports.len())
    }

    /// Which workers were seen, when, and what they hold.
    pub async fn workers(&self, page: &Page) -> Result<Listing<Value>> {
        self.listing(&with_query("/api/workers", &[to_value("the page", page)?]), "workers").await
    }
}
