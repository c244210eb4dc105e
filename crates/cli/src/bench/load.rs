//! HTTP load on a server through the SDK: single requests, batches, waiting claims and open streams.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use hdrhistogram::Histogram;
use serde::Serialize;
use serde_json::json;
use serde_json::value::RawValue;
use tenure_api::JobRecord;
use tenure_client::{Claim, Client, Holder, Method, NewJob, Report, Verb};
use tokio::task::JoinSet;

use super::payload;
use crate::client::connect;

#[derive(Serialize)]
struct SmallJob<'a> {
    r#type: &'a str,
    payload: &'a RawValue,
}

/// The server to load, and the key to call it with.
#[derive(Clone)]
pub(super) struct Load {
    pub(super) url: String,
    pub(super) key: Option<String>,
}

/// Microseconds from a job's creation to the start of its handler.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Latency {
    pub(super) p50: u64,
    pub(super) p99: u64,
}

/// A POST whose response is ignored.
pub(super) async fn post(client: &Client, path: &str, body: &impl Serialize) -> Result<()> {
    Ok(client.send(Method::POST, path, body).await?)
}

fn fence(job: &JobRecord) -> Result<u64> {
    Ok(job.lease.as_ref().context("a claimed job has no lease")?.fence)
}

fn claim(worker: &str, job_type: &str, max: usize, wait: Duration) -> Claim {
    let (worker, types) = (worker.to_owned(), vec![job_type.to_owned()]);
    Claim { worker, types, max: max as u32, wait: Some(wait), ..Claim::default() }
}

impl Load {
    pub(super) fn client(&self) -> Result<Client> {
        Ok(connect(&self.url, self.key.as_deref())?)
    }

    /// Requests per second to `/healthz`.
    pub(super) async fn healthz(&self, callers: usize, span: Duration) -> Result<f64> {
        self.drive(callers, span, |(client, _)| async move {
            client.healthz().await?;
            Ok(1)
        })
        .await
    }

    /// Lifecycles per second of callers that send one request per verb.
    pub(super) async fn singles(&self, callers: usize, span: Duration) -> Result<f64> {
        let payload: Arc<RawValue> = RawValue::from_string(payload().to_string())?.into();
        self.drive(callers, span, move |(client, worker)| {
            let payload = Arc::clone(&payload);
            async move {
                post(&client, "/api/jobs", &SmallJob { r#type: "bench", payload: &payload }).await?;
                let claimed = client.claim(&claim(&worker, "bench", 1, Duration::from_secs(5))).await?;
                let job = claimed.first().context("there was no job to claim")?;
                let holder = Holder { worker, fence: fence(job)? };
                for verb in ["start", "succeed"] {
                    post(&client, &format!("/api/jobs/{}/{verb}", job.id), &holder).await?;
                }
                Ok(1)
            }
        })
        .await
    }

    /// Lifecycles per second of callers that send batches.
    pub(super) async fn batches(&self, callers: usize, batch: usize, span: Duration) -> Result<f64> {
        self.drive(callers, span, move |(client, worker)| async move {
            let job = json!({ "type": "bench", "payload": payload() });
            post(&client, "/api/jobs/batch", &json!({ "jobs": vec![job; batch] })).await?;
            let claimed = client.claim(&claim(&worker, "bench", batch, Duration::from_secs(5))).await?;
            for verb in [Verb::Start, Verb::Succeed] {
                let report = |job: &JobRecord| Ok(Report::new(&job.id, fence(job)?, verb));
                let reports: Vec<Report> = claimed.iter().map(report).collect::<Result<_>>()?;
                post(&client, "/api/reports", &json!({ "worker": worker, "reports": reports })).await?;
            }
            Ok(claimed.len())
        })
        .await
    }

    /// The time from a job's creation until a waiting claim has received and started it, on an idle server.
    pub(super) async fn latency(&self, samples: usize) -> Result<Latency> {
        let (producer, worker) = (self.client()?, self.client()?);
        let mut spans = Histogram::<u64>::new(3)?;
        for sample in 0..samples {
            let job_type = format!("latency-{}", sample % 2);
            let claim = Claim { start: true, ..claim("latency", &job_type, 1, Duration::from_secs(20)) };
            let waiting = tokio::spawn({
                let worker = worker.clone();
                async move { worker.claim(&claim).await.map(|claimed| (claimed, Instant::now())) }
            });
            // By the time this is answered the claim has been sent.
            producer.readyz().await?;
            let created = Instant::now();
            post(&producer, "/api/jobs", &json!({ "type": job_type })).await?;
            let (claimed, started) = waiting.await??;
            spans.record((started - created).as_micros() as u64)?;
            let job = claimed.first().context("the claim returned no job")?;
            let holder = Holder { worker: "latency".to_owned(), fence: fence(job)? };
            post(&worker, &format!("/api/jobs/{}/succeed", job.id), &holder).await?;
        }
        Ok(Latency { p50: spans.value_at_quantile(0.5), p99: spans.value_at_quantile(0.99) })
    }

    /// Opens waiting claims and event streams, `each` of both; dropping the result closes them.
    pub(super) async fn open_idle(&self, each: usize) -> Result<JoinSet<()>> {
        let client = self.client()?;
        let watched = client.create(NewJob::new("watched", &json!({}))?).await?.job.id;
        let mut connections = JoinSet::new();
        for number in 0..each {
            let (claimer, follower, id) = (client.clone(), client.clone(), watched.clone());
            connections.spawn(async move {
                let claim = claim(&format!("idle-{number}"), "never", 1, Duration::from_mins(4));
                drop(claimer.claim(&claim).await);
            });
            connections.spawn(async move { while follower.follow(&id).next().await.is_some() {} });
        }
        while self.open_connections().await? < 2 * each {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(connections)
    }

    /// Established connections of this process to the server.
    async fn open_connections(&self) -> Result<usize> {
        let port = self.url.rsplit(':').next().and_then(|port| port.parse::<u16>().ok());
        let remote = format!(":{:04X} 01 ", port.context("the server's address has no port")?);
        let sockets = tokio::fs::read_to_string("/proc/self/net/tcp").await?;
        Ok(sockets.lines().filter(|line| line.contains(&remote)).count())
    }

    /// Runs `operation` in callers with one connection pool and one worker name each; completed operations per second.
    async fn drive<O, F>(&self, callers: usize, span: Duration, operation: O) -> Result<f64>
    where
        O: Fn((Client, String)) -> F + Clone + Send + 'static,
        F: Future<Output = Result<usize>> + Send,
    {
        let callers: Result<Vec<_>> =
            (0..callers).map(|number| Ok((self.client()?, format!("w{number}")))).collect();
        Ok(super::drive(callers?, span, operation).await?.per_second())
    }
}
