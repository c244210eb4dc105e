//! Jobs: create, look, cancel, retry, and the journal.

use reqwest::{Method, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};

use super::transport::{Answer, Ask, decode};
use super::{Client, batch, escaped, fresh_id, with_query};
use crate::error::{Error, Problem, Result};
use crate::request::{EventFilter, Holder, JobFilter, Key, NewJob, NewLine, Page, to_value};
use crate::wire::{CancelMode, Event, JobRecord, Listing, LogLine};

/// What `create` comes to.
#[derive(Clone, Debug, PartialEq)]
pub struct Created {
    /// The job: a new one, or the one that had this key.
    pub job: JobRecord,
    /// Whether it was there already.
    pub replayed: bool,
}

/// What `enqueue` comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Enqueued {
    /// The job's id: a new one's, or that of the one that had this key.
    pub id: String,
    /// Whether it was there already.
    pub replayed: bool,
}

impl Client {
    /// Creates a job, or finds the one with its key.
    pub async fn create(&self, job: NewJob) -> Result<Created> {
        let answer = self.repeated(&creation(job)?).await?;
        Ok(Created { job: decode(&answer.body)?, replayed: is_replayed(&answer) })
    }

    /// Like [`Client::create`], for those who need only the job's id: the server does not send the rest.
    pub async fn enqueue(&self, job: NewJob) -> Result<Enqueued> {
        #[derive(Deserialize)]
        struct Brief {
            id: String,
        }
        let answer = self.repeated(&creation(job)?.minimal()).await?;
        let Brief { id } = decode(&answer.body)?;
        Ok(Enqueued { id, replayed: is_replayed(&answer) })
    }

    /// Creates up to 10,000 jobs, each by itself. The call has one key; jobs in it have none of their own.
    pub async fn create_batch(&self, jobs: &[NewJob]) -> Result<Vec<Result<JobRecord, Problem>>> {
        if jobs.iter().any(|job| matches!(job.key, Key::Given(_)) || job.traceparent.is_some()) {
            let why = "a key or a traceparent goes with one job: create it by itself, not in a batch";
            return Err(Error::Protocol(why.into()));
        }
        let bodies: Vec<_> = jobs.iter().map(|job| &job.body).collect();
        batch(self.post_json("/api/jobs/batch", &json!({ "jobs": bodies })).await?, jobs.len())
    }

    /// Jobs, newest first.
    pub async fn list(&self, filter: &JobFilter, page: &Page) -> Result<Listing<JobRecord>> {
        let query = [to_value("the filter", filter)?, to_value("the page", page)?];
        self.listing(&with_query("/api/jobs", &query), "jobs").await
    }

    /// One job.
    pub async fn get(&self, job: &str) -> Result<JobRecord> {
        self.get_json(&path(job, "")).await
    }

    /// A job's events in order, with its heartbeats and progress mixed in if wanted.
    pub async fn history(&self, job: &str, telemetry: bool) -> Result<Listing<Event>> {
        let query = if telemetry { "/events?telemetry=true" } else { "/events" };
        self.listing(&path(job, query), "events").await
    }

    /// The job as it was after this many transitions.
    pub async fn replay(&self, job: &str, seq: u64) -> Result<JobRecord> {
        self.get_json(&path(job, &format!("/replay?seq={seq}"))).await
    }

    /// Cancels a job, or asks its worker to stop.
    pub async fn cancel(&self, job: &str, mode: CancelMode, reason: Option<&str>) -> Result<JobRecord> {
        let mut body = json!({ "mode": mode });
        if let Some(reason) = reason {
            body["reason"] = json!(reason);
        }
        self.post_json(&path(job, "/cancel"), &body).await
    }

    /// A new job like this finished one.
    pub async fn retry(&self, job: &str) -> Result<JobRecord> {
        self.post_json(&path(job, "/retry"), &json!({})).await
    }

    /// Gives a job up, with a reason such as `policy_violation`.
    pub async fn dead_letter(&self, job: &str, reason_code: &str, detail: &str) -> Result<JobRecord> {
        let body = json!({ "reason_code": reason_code, "detail": detail });
        self.post_json(&path(job, "/dead-letter"), &body).await
    }

    /// Sends a signal that the job's lifecycle declares.
    pub async fn signal(&self, job: &str, name: &str) -> Result<JobRecord> {
        self.post_json(&path(job, &format!("/signals/{}", escaped(name))), &json!({})).await
    }

    /// Why a job is where it is, and what may happen next.
    pub async fn explain(&self, job: &str) -> Result<Value> {
        self.get_json(&path(job, "/explain")).await
    }

    /// The lines of a job's log after the one with this number; all from 0.
    pub async fn logs(&self, job: &str, after: u64) -> Result<Listing<LogLine>> {
        self.listing(&path(job, &format!("/logs?after={after}")), "lines").await
    }

    /// Appends to a job's log: as its holder, or as its owner or an operator.
    pub async fn append_logs(&self, job: &str, holder: Option<&Holder>, lines: &[NewLine]) -> Result<Value> {
        self.append_keyed(job, holder, lines, &fresh_id()).await
    }

    /// The same key again appends nothing twice.
    pub(crate) async fn append_keyed(
        &self,
        job: &str,
        holder: Option<&Holder>,
        lines: &[NewLine],
        key: &str,
    ) -> Result<Value> {
        let mut body = match holder {
            Some(holder) => to_value("the holder", holder)?,
            None => json!({}),
        };
        body["lines"] = to_value("the lines", &lines)?;
        self.call_keyed(Method::POST, &path(job, "/logs"), &body, key).await
    }

    /// A page of the journal after a cursor. Its `next_cursor` is always there.
    pub async fn journal(
        &self,
        after: Option<&str>,
        limit: Option<u32>,
        filter: &EventFilter,
    ) -> Result<Listing<Event>> {
        let query = [json!({ "after": after, "limit": limit }), to_value("the filter", filter)?];
        self.listing(&with_query("/api/events", &query), "events").await
    }
}

fn creation(job: NewJob) -> Result<Ask> {
    let ask = Ask::new(Method::POST, "/api/jobs").json(&job.body)?;
    let ask = match job.key {
        Key::Made => ask.key(fresh_id()),
        Key::Given(key) => ask.key(key),
        Key::Derived => ask,
    };
    Ok(match job.traceparent {
        Some(traceparent) => ask.header("traceparent", traceparent),
        None => ask,
    })
}

fn is_replayed(answer: &Answer) -> bool {
    let is_marked = answer.headers.get("idempotent-replayed").is_some_and(|value| value == "true");
    is_marked || answer.status == StatusCode::OK
}

/// A path below a job.
pub(crate) fn path(job: &str, rest: &str) -> String {
    format!("/api/jobs/{}{rest}", escaped(job))
}
