//! Callers of a server, by the SDK as workers use it: single and in batches, waiting and watching.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use hdrhistogram::Histogram;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tenure_client::{Claim, Client, Method};
use tokio::task::JoinSet;

/// A job to be created.
#[derive(Serialize)]
struct New<'a> {
    r#type: &'a str,
    payload: &'a RawValue,
}

/// Who speaks of a job that it holds.
#[derive(Serialize)]
struct Holder<'a> {
    worker: &'a str,
    fence: u64,
}

/// What a job of the bench carries: 200 bytes.
pub(super) fn payload() -> Value {
    json!({ "text": "x".repeat(189) })
}

/// A server, and in whose name it is called.
#[derive(Clone)]
pub(super) struct Load {
    pub(super) url: String,
    pub(super) key: Option<String>,
}

/// From a job's creation to its handler's start.
#[derive(Clone, Copy, Debug)]
pub(super) struct Latency {
    pub(super) p50_us: u64,
    pub(super) p99_us: u64,
}

async fn ask(client: &Client, path: &str, body: &Value) -> Result<Value> {
    Ok(client.call(Method::POST, path, Some(body)).await?)
}

pub(super) async fn tell(client: &Client, path: &str, body: &impl Serialize) -> Result<()> {
    Ok(client.send(Method::POST, path, body).await?)
}

impl Load {
    pub(super) fn on(url: &str, key: Option<&str>) -> Self {
        Self { url: url.to_owned(), key: key.map(str::to_owned) }
    }

    /// A client with a connection of its own.
    pub(super) fn client(&self) -> Result<Client> {
        let client = Client::new(&self.url)?;
        Ok(match &self.key {
            Some(key) => client.with_key(key),
            None => client,
        })
    }

    /// How often the server says that it lives.
    pub(super) async fn healthz(&self, callers: usize, span: Duration) -> Result<f64> {
        self.drive(callers, span, |client: Client, _| async move {
            client.healthz().await?;
            Ok(1)
        })
        .await
    }

    /// Lifecycles per second of callers that never batch: one request a verb.
    pub(super) async fn singles(&self, callers: usize, span: Duration) -> Result<f64> {
        let payload: Arc<RawValue> = RawValue::from_string(payload().to_string())?.into();
        self.drive(callers, span, move |client: Client, worker: String| {
            let payload = Arc::clone(&payload);
            async move {
                tell(&client, "/api/jobs", &New { r#type: "bench", payload: &payload }).await?;
                let (types, wait) = (vec!["bench".to_owned()], Some(Duration::from_secs(5)));
                let claim = Claim { worker: worker.clone(), types, max: 1, wait, ..Claim::default() };
                let claimed = client.claim(&claim).await?;
                let job = claimed.first().context("there was nothing to claim")?;
                let fence = job.lease.as_ref().context("a claimed job has a lease")?.fence;
                for verb in ["start", "succeed"] {
                    let path = format!("/api/jobs/{}/{verb}", job.id);
                    tell(&client, &path, &Holder { worker: &worker, fence }).await?;
                }
                Ok(1)
            }
        })
        .await
    }

    /// Lifecycles per second of callers that ask for many at once.
    pub(super) async fn batches(&self, callers: usize, batch: usize, span: Duration) -> Result<f64> {
        self.drive(callers, span, move |client: Client, worker: String| async move {
            let job = json!({ "type": "bench", "payload": payload() });
            tell(&client, "/api/jobs/batch", &json!({ "jobs": vec![job; batch] })).await?;
            let claim = json!({ "worker": worker, "types": ["bench"], "max": batch, "wait": "5s" });
            let claimed = ask(&client, "/api/claims", &claim).await?;
            let held = claimed["jobs"].as_array().context("no jobs in the answer")?;
            for verb in ["start", "succeed"] {
                let report =
                    |job: &Value| json!({ "job": job["id"], "fence": job["lease"]["fence"], "verb": verb });
                let reports: Vec<Value> = held.iter().map(report).collect();
                tell(&client, "/api/reports", &json!({ "worker": worker, "reports": reports })).await?;
            }
            Ok(held.len())
        })
        .await
    }

    /// On an idle server: a claim waits, a job is created, and the worker has it and has started it.
    pub(super) async fn latency(&self, samples: usize) -> Result<Latency> {
        let (producer, worker) = (self.client()?, self.client()?);
        let mut spans = Histogram::<u64>::new(3).context("a histogram of microseconds")?;
        for sample in 0..samples {
            let job_type = format!("latency-{}", sample % 2);
            let claim = json!({ "worker": "latency", "types": [&job_type], "wait": "20s", "start": true });
            let waiting = tokio::spawn({
                let worker = worker.clone();
                async move { ask(&worker, "/api/claims", &claim).await.map(|claimed| (claimed, Instant::now())) }
            });
            // The claim is on its way before the job is: others are answered meanwhile.
            producer.readyz().await?;
            let begun = Instant::now();
            tell(&producer, "/api/jobs", &json!({ "type": job_type })).await?;
            let (claimed, started) = waiting.await??;
            spans.record((started - begun).as_micros() as u64).context("a span within bounds")?;
            let job = &claimed["jobs"][0];
            let id = job["id"].as_str().context("the claim came back empty")?;
            let done = json!({ "worker": "latency", "fence": job["lease"]["fence"] });
            tell(&worker, &format!("/api/jobs/{id}/succeed"), &done).await?;
        }
        Ok(Latency { p50_us: spans.value_at_quantile(0.5), p99_us: spans.value_at_quantile(0.99) })
    }

    /// Opens claims that wait and streams that watch, this many of each; they end when the crowd is dropped.
    pub(super) async fn crowd(&self, each: usize) -> Result<JoinSet<()>> {
        let client = self.client()?;
        let watched = ask(&client, "/api/jobs", &json!({ "type": "watched" })).await?;
        let id = watched["id"].as_str().context("a job has an id")?.to_owned();
        let mut crowd = JoinSet::new();
        for number in 0..each {
            let (claimer, follower, id) = (client.clone(), client.clone(), id.clone());
            crowd.spawn(async move {
                let claim = Claim {
                    worker: format!("idle-{number}"),
                    types: vec!["never".to_owned()],
                    max: 1,
                    wait: Some(Duration::from_mins(4)),
                    ..Claim::default()
                };
                // Whatever comes of it, the bench measures what happens beside it.
                drop(claimer.claim(&claim).await);
            });
            crowd.spawn(async move { while follower.follow(&id).next().await.is_some() {} });
        }
        // All of them are open when as many connections are.
        while self.open_connections().await? < 2 * each {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(crowd)
    }

    /// Connections of this process to the server.
    async fn open_connections(&self) -> Result<usize> {
        let port = self.url.rsplit(':').next().and_then(|port| port.parse::<u16>().ok());
        let remote = format!(":{:04X} 01 ", port.context("the server's address has a port")?);
        let sockets = tokio::fs::read_to_string("/proc/self/net/tcp").await?;
        Ok(sockets
            .lines()
            .filter(|line| line.split_whitespace().nth(2).is_some() && line.contains(&remote))
            .count())
    }

    /// Callers with a connection each, which do the same again and again for a while; how often they did, per second.
    async fn drive<D, F>(&self, callers: usize, span: Duration, deed: D) -> Result<f64>
    where
        D: Fn(Client, String) -> F + Clone + Send + 'static,
        F: Future<Output = Result<usize>> + Send,
    {
        let begun = Instant::now();
        let mut tasks = JoinSet::new();
        for caller in 0..callers {
            let (client, deed) = (self.client()?, deed.clone());
            tasks.spawn(async move {
                let (mut count, worker) = (0, format!("w{caller}"));
                while begun.elapsed() < span {
                    count += deed(client.clone(), worker.clone()).await?;
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
