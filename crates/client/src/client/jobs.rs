//! Jobs: create, read, cancel, retry, and the journal.

use reqwest::StatusCode;
use serde_json::{Value, json};
use tenure_api::request::{Cancel, GiveUp, NewJobs, NewLogLines};
use tenure_api::{CallId, CancelMode, Event, Explanation, JobBrief, JobRecord, LogCount, LogLine};

use super::transport::{Answer, Request, decode};
use super::{Client, Listing, batch, fresh_id};
use crate::error::{Error, Problem, Result};
use crate::request::{EventFilter, Holder, JobFilter, Key, NewJob, NewLine, Page, to_raw, to_value};

/// The result of [`Client::create`].
#[derive(Clone, Debug, PartialEq)]
pub struct Created {
    /// The new job, or the one that was created with this key before.
    pub job: JobRecord,
    /// Whether it existed before.
    pub replayed: bool,
}

/// The result of [`Client::enqueue`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Enqueued {
    /// The id of the new job, or of the one that was created with this key before.
    pub id: String,
    /// Whether it existed before.
    pub replayed: bool,
}

impl Client {
    calls! {
        /// One job.
        read get(job) -> JobRecord = GetJob;
        /// Creates a new job like this finished one.
        act_on retry(job) -> JobRecord = RetryJob;
        /// Sends a signal that the job's lifecycle declares.
        act_on signal(job, name) -> JobRecord = SignalJob;
        /// Why a job is in its state, and what can happen next.
        read explain(job) -> Explanation = ExplainJob;
    }

    /// Creates a job, or returns the one that has its key.
    pub async fn create(&self, job: NewJob) -> Result<Created> {
        let answer = self.repeated(&creation(job)?).await?;
        Ok(Created { job: decode(&answer.body)?, replayed: is_replayed(&answer) })
    }

    /// Like [`Client::create`], but the server sends only the job's id.
    pub async fn enqueue(&self, job: NewJob) -> Result<Enqueued> {
        let answer = self.repeated(&creation(job)?.minimal()).await?;
        let brief: JobBrief = decode(&answer.body)?;
        Ok(Enqueued { id: brief.id, replayed: is_replayed(&answer) })
    }

    /// Creates up to 10,000 jobs, each independently. The call has one key; jobs in it have none.
    pub async fn create_batch(&self, jobs: &[NewJob]) -> Result<Vec<Result<JobRecord, Problem>>> {
        if jobs.iter().any(|job| matches!(job.key, Key::Given(_)) || job.traceparent.is_some()) {
            let why = "a job with a key or a traceparent cannot be in a batch: create it with `create`";
            return Err(Error::Protocol(why.into()));
        }
        let bodies = jobs.iter().map(|job| to_raw("the job", &job.body)).collect::<Result<_>>()?;
        let answer = self.change(CallId::CreateJobs, &[], &NewJobs { jobs: bodies }).await?;
        batch(answer, jobs.len())
    }

    /// Jobs, newest first.
    pub async fn list(&self, filter: &JobFilter, page: &Page) -> Result<Listing<JobRecord>> {
        let query = [to_value("the filter", filter)?, to_value("the page", page)?];
        self.listing(CallId::ListJobs, &[], &query).await
    }

    /// A job's events in order, on request with its heartbeats and progress.
    pub async fn history(&self, job: &str, telemetry: bool) -> Result<Listing<Event>> {
        let telemetry = if telemetry { json!({ "telemetry": true }) } else { Value::Null };
        self.listing(CallId::ListJobEvents, &[job], &[telemetry]).await
    }

    /// The job as it was after this many transitions.
    pub async fn replay(&self, job: &str, seq: u64) -> Result<JobRecord> {
        self.json(Request::to(CallId::ReplayJob, &[job]).query(&[json!({ "seq": seq })])).await
    }

    /// Cancels a job, or asks its worker to stop.
    pub async fn cancel(&self, job: &str, mode: CancelMode, reason: Option<&str>) -> Result<JobRecord> {
        let body = Cancel { mode: Some(mode), reason: reason.map(str::to_owned) };
        self.change(CallId::CancelJob, &[job], &body).await
    }

    /// Gives a job up, with a reason such as `policy_violation`.
    pub async fn dead_letter(&self, job: &str, reason_code: &str, detail: &str) -> Result<JobRecord> {
        let body = GiveUp { reason_code: reason_code.into(), detail: detail.into() };
        self.change(CallId::DeadLetterJob, &[job], &body).await
    }

    /// The lines of a job's log after the one with this number; all from 0.
    pub async fn logs(&self, job: &str, after: u64) -> Result<Listing<LogLine>> {
        self.listing(CallId::ListJobLogs, &[job], &[json!({ "after": after })]).await
    }

    /// Appends to a job's log: as its holder, or as its owner or an operator.
    pub async fn append_logs(
        &self,
        job: &str,
        holder: Option<&Holder>,
        lines: &[NewLine],
    ) -> Result<LogCount> {
        self.append_keyed(job, holder, lines, &fresh_id()).await
    }

    /// The same key again appends nothing twice.
    pub(crate) async fn append_keyed(
        &self,
        job: &str,
        holder: Option<&Holder>,
        lines: &[NewLine],
        key: &str,
    ) -> Result<LogCount> {
        let (worker, fence) = holder.map(|holder| (holder.worker.clone(), holder.fence)).unzip();
        let body = NewLogLines { worker, fence, lines: lines.to_vec() };
        self.json(Request::to(CallId::AppendJobLogs, &[job]).json(&body)?.key(key.to_owned())).await
    }

    /// A page of the journal after a cursor. Its `next_cursor` is always set.
    pub async fn journal(
        &self,
        after: Option<&str>,
        limit: Option<u32>,
        filter: &EventFilter,
    ) -> Result<Listing<Event>> {
        let query = [json!({ "after": after, "limit": limit }), to_value("the filter", filter)?];
        self.listing(CallId::ListEvents, &[], &query).await
    }
}

fn creation(job: NewJob) -> Result<Request> {
    let request = Request::to(CallId::CreateJob, &[]).json(&job.body)?;
    let request = match job.key {
        Key::Made => request.key(fresh_id()),
        Key::Given(key) => request.key(key),
        Key::Derived => request,
    };
    Ok(request.header("traceparent", job.traceparent))
}

fn is_replayed(answer: &Answer) -> bool {
    let is_marked = answer.headers.get("idempotent-replayed").is_some_and(|value| value == "true");
    is_marked || answer.status == StatusCode::OK
}
