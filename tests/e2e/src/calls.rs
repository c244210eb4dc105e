//! Requests that tests combine or repeat often.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde_json::{Value, json};

use crate::{Reply, Server, eventually, path, rows};

impl Server {
    /// Creates a job, then claims and starts it as worker `w1`.
    pub async fn create_claimed(&self, body: Value) -> Value {
        let job = self.create(body).await;
        let claimed = self.claim_one().await;
        assert_eq!(claimed["id"], job["id"], "no other job was ready");
        claimed
    }

    /// Claims one job as worker `w1` without starting it.
    pub async fn hold_one(&self) -> Value {
        self.claim(json!({ "worker": "w1", "max": 1 })).await.remove(0)
    }

    /// Claims and starts one job as worker `w1` as soon as one is ready.
    pub async fn claim_next(&self) -> Value {
        self.claim(json!({ "worker": "w1", "max": 1, "start": true, "wait": "30s" })).await.remove(0)
    }

    /// Creates this many jobs in one batch.
    pub async fn create_many(&self, count: usize, body: Value) -> Vec<Value> {
        let batch = json!({ "jobs": vec![body; count] });
        let answer = self.post_ok("/api/jobs/batch", &batch).await;
        let created: Vec<Value> =
            rows(&answer["results"]).iter().map(|result| result["ok"].clone()).collect();
        assert!(created.iter().all(Value::is_object), "{answer}");
        created
    }

    /// The body of a POST that succeeds.
    pub async fn post_ok(&self, path: &str, body: &Value) -> Value {
        self.post(path, body).await.expect(200)
    }

    /// The body of a POST to a job that succeeds.
    pub async fn call_ok(&self, job: &Value, call: &str, body: &Value) -> Value {
        self.call(job, call, body).await.expect(200)
    }

    /// The answer to a report that is accepted.
    pub async fn report_ok(&self, job: &Value, verb: &str, more: Value) -> Value {
        self.report(job, verb, more).await.expect(200)
    }

    /// A POST with an idempotency key.
    pub async fn post_keyed(&self, key: &str, path: &str, body: &Value) -> Reply {
        self.request("POST", path).idempotent(key).json(body).send().await
    }

    /// A POST of a text with the content type of JSON.
    pub async fn post_text(&self, path: &str, body: impl Into<Vec<u8>>) -> Reply {
        self.request("POST", path).header("content-type", "application/json").bytes(body).send().await
    }

    /// The rows of a page: its field besides `next_cursor`.
    pub async fn rows(&self, path: &str) -> Vec<Value> {
        let page = self.read(path).await;
        let fields = page.as_object().unwrap().iter().filter(|(name, _)| *name != "next_cursor");
        let [(_, found)] = fields.collect::<Vec<_>>()[..] else { panic!("{path} is not a page: {page}") };
        rows(found).to_vec()
    }

    /// One field of each row of a page.
    pub async fn column(&self, path: &str, field: &str) -> Vec<Value> {
        self.rows(path).await.iter().map(|row| row[field].clone()).collect()
    }

    /// The events of a job, without telemetry.
    pub async fn events(&self, job: &Value) -> Vec<Value> {
        self.rows(&path(job, "events")).await
    }

    /// The events of every job, by its id.
    pub async fn histories(&self) -> BTreeMap<String, Vec<Value>> {
        let mut histories: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        for event in self.journal().await {
            histories.entry(event["job_id"].as_str().unwrap().to_owned()).or_default().push(event);
        }
        histories
    }

    /// Reads a job until a field has this value.
    pub async fn job_when(&self, job: &Value, field: &str, value: &str) -> Value {
        let what = format!("{field} of {} is {value}", job["id"]);
        eventually(&what, async || self.job(job).await[field] == value).await;
        self.job(job).await
    }

    /// The text of `/metrics`, read after this call began: a server answers with an earlier one for up to a second. A later text
    /// differs, because it counts the requests for the earlier one.
    pub async fn metrics_text(&self) -> String {
        let earlier = self.get("/metrics").await.text;
        let later = OnceLock::new();
        eventually("the metrics are read again", async || {
            let reply = self.get("/metrics").await;
            assert_eq!(reply.status, 200);
            reply.text != earlier && later.set(reply.text).is_ok()
        })
        .await;
        later.into_inner().expect("it is set")
    }

    /// The samples of `/metrics`, read after this call began.
    pub async fn metrics(&self) -> Metrics {
        let text = self.metrics_text().await;
        let samples = text.lines().filter(|line| !line.starts_with('#')).map(|line| {
            let (name, value) = line.rsplit_once(' ').expect("a name and a value");
            (name.to_owned(), value.parse().unwrap())
        });
        Metrics(samples.collect())
    }
}

impl Reply {
    /// A problem with this status and code whose first error is at this place.
    #[track_caller]
    pub fn problem_at(self, status: u16, code: &str, pointer: &str) -> Value {
        let problem = self.problem(status, code);
        assert_eq!(problem["errors"][0]["pointer"], pointer, "{problem}");
        problem
    }
}

/// Samples by name and labels.
pub struct Metrics(BTreeMap<String, f64>);

impl Metrics {
    /// The sum over the samples of a metric that have all of these labels.
    pub fn sum(&self, name: &str, labels: &[&str]) -> Option<f64> {
        let is_it = |sample: &str| {
            sample.split('{').next() == Some(name) && labels.iter().all(|label| sample.contains(label))
        };
        let mut found = self.0.iter().filter(|(sample, _)| is_it(sample)).map(|(_, value)| *value).peekable();
        found.peek()?;
        Some(found.sum())
    }
}
