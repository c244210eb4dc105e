//! Jobs: create, read, amend, cancel, retry, and the journal.

use std::sync::Arc;

use bytes::Bytes;
use reqwest::StatusCode;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use tenure_api::request::{Cancel, GiveUp, NewLogLines};
use tenure_api::{
    CallId, CancelMode, Event, Explanation, GENERATED_KEY_PREFIX, JobBrief, JobRecord, LogCount, LogLine,
    StreamToken,
};

use super::coalesce::{Coalescer, JOB_BYTES_MAX, KeyedJob, Transport, batch_body};
use super::transport::{Answer, Request, decode, retry_pause, to_bytes};
use super::{Client, Coalescers, FoundJob, Listing, batch, fresh_id};
use crate::error::{Error, Problem, Result};
use crate::request::{Amendment, EventFilter, Holder, JobFilter, Key, NewJob, NewLine, Page, to_value};

/// The result of [`Client::create`].
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(from = "JobRecord")]
pub struct Created {
    /// The new job, or the one that was created with this key before.
    pub job: JobRecord,
    /// Whether it existed before.
    pub replayed: bool,
}

/// The result of [`Client::enqueue`].
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(from = "JobBrief")]
pub struct Enqueued {
    /// The id of the new job, or of the one that was created with this key before.
    pub id: String,
    /// Whether it existed before.
    pub replayed: bool,
}

impl From<JobRecord> for Created {
    fn from(job: JobRecord) -> Self {
        Self { replayed: job.replayed, job }
    }
}

impl From<JobBrief> for Enqueued {
    fn from(brief: JobBrief) -> Self {
        Self { replayed: brief.replayed, id: brief.id }
    }
}

/// An answer to the creation of one job.
trait Creation: DeserializeOwned + Send + 'static {
    /// Whether the server need only send the id.
    const IS_MINIMAL: bool;
    fn coalescer(all: &Coalescers) -> &Coalescer<Self>;
    fn set_replayed(&mut self);
}

impl Creation for Created {
    const IS_MINIMAL: bool = false;
    fn coalescer(all: &Coalescers) -> &Coalescer<Self> {
        &all.whole
    }
    fn set_replayed(&mut self) {
        self.replayed = true;
    }
}

impl Creation for Enqueued {
    const IS_MINIMAL: bool = true;
    fn coalescer(all: &Coalescers) -> &Coalescer<Self> {
        &all.minimal
    }
    fn set_replayed(&mut self) {
        self.replayed = true;
    }
}

impl Client {
    calls! {
        /// One job, or the request in SQL with this id.
        read find(job) -> FoundJob = GetJob;
        /// Creates a new job like this finished one.
        act_on retry(job) -> JobRecord = RetryJob;
        /// Deletes a finished job, with everything that belongs to it.
        delete delete_job(job) -> () = DeleteJob;
        /// Sends a signal that the job's lifecycle declares.
        act_on signal(job, name) -> JobRecord = SignalJob;
        /// Why a job is in its state, and what can happen next.
        read explain(job) -> Explanation = ExplainJob;
        /// A token with which a browser opens the stream of this job, and nothing else, for 5 minutes and its reconnects.
        act_on stream_token(job) -> StreamToken = CreateStreamToken;
    }

    /// One job. A request in SQL has an empty state, and its phase is `intake`, `refused` or `merged`; [`Client::find`] returns all of
    /// it.
    pub async fn get(&self, job: &str) -> Result<JobRecord> {
        self.find(job).await.map(JobRecord::from)
    }

    /// Creates a job, or returns the one that has its key. Concurrent calls travel together ([`Client::coalesce`]).
    pub async fn create(&self, job: NewJob) -> Result<Created> {
        self.create_one(job).await
    }

    /// Like [`Client::create`], but the server sends only the job's id.
    pub async fn enqueue(&self, job: NewJob) -> Result<Enqueued> {
        self.create_one(job).await
    }

    /// A batch can carry a job with a key and without a trace context; other jobs travel alone.
    async fn create_one<T: Creation>(&self, job: NewJob) -> Result<T> {
        let NewJob { body, key, traceparent } = job;
        let (body, key) = (to_bytes(&body)?, key.text());
        match (key, &self.inner.coalescers) {
            (Some(key), Some(coalescers)) if traceparent.is_none() && body.len() <= JOB_BYTES_MAX => {
                self.create_coalesced(T::coalescer(coalescers), Arc::new(KeyedJob { body, key })).await
            }
            (key, _) => {
                let request = creation::<T>(body, key).header("traceparent", traceparent);
                created(&self.repeated(&request).await?)
            }
        }
    }

    /// Retried by the rules of every other call.
    async fn create_coalesced<T: Creation>(&self, coalescer: &Coalescer<T>, job: Arc<KeyedJob>) -> Result<T> {
        let mut tries = 1;
        loop {
            let Some(answer) = coalescer.send(self, &job).await else {
                let request = creation::<T>(job.body.clone(), Some(job.key.clone()));
                return created(&self.repeated(&request).await?);
            };
            let Err(error) = answer else { return answer };
            let Some(pause) = retry_pause(&error, true, tries) else { return Err(error) };
            tokio::time::sleep(pause).await;
            tries += 1;
        }
    }

    /// Creates up to 10,000 jobs, each independently and with its own key. The call is repeated if its answer was lost,
    /// unless the key of one of its jobs is derived by the lifecycle.
    pub async fn create_batch(&self, jobs: &[NewJob]) -> Result<Vec<Result<JobRecord, Problem>>> {
        if jobs.iter().any(|job| job.traceparent.is_some()) {
            let why = "a job with a traceparent cannot be in a batch: create it with `create`";
            return Err(Error::Protocol(why.into()));
        }
        let one = |job: &NewJob| Ok((to_bytes(&job.body)?, job.key.clone().text()));
        let parts = jobs.iter().map(one).collect::<Result<Vec<(Bytes, Option<String>)>>>()?;
        let body = batch_body(parts.iter().map(|(body, key)| (body, key.as_deref())));
        let is_keyed = parts.iter().all(|(_, key)| key.is_some());
        let request = Request::to(CallId::CreateJobs, &[]).text(body).keyed_inside(is_keyed);
        batch(self.json(request).await?, jobs.len())
    }

    /// Jobs, newest first. With the phase `refused` requests in SQL that were refused, as [`Client::get`] returns them.
    pub async fn list(&self, filter: &JobFilter, page: &Page) -> Result<Listing<JobRecord>> {
        let query = [to_value("the filter", filter)?, to_value("the page", page)?];
        let page: Listing<FoundJob> = self.listing(CallId::ListJobs, &[], &query).await?;
        let rows = page.rows.into_iter().map(JobRecord::from).collect();
        Ok(Listing { rows, next_cursor: page.next_cursor })
    }

    /// A job's events in order, on request with its heartbeats and progress.
    pub async fn history(&self, job: &str, telemetry: bool) -> Result<Listing<Event>> {
        let mut query = if telemetry { json!({ "telemetry": true }) } else { json!({}) };
        let mut rows = Vec::new();
        loop {
            let page = self.listing(CallId::ListJobEvents, &[job], &[query.clone()]).await?;
            rows.extend(page.rows);
            let Some(next) = page.next_cursor else { return Ok(Listing { rows, next_cursor: None }) };
            query["cursor"] = json!(next);
        }
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

    /// Changes the payload, priority or earliest time of a job that no worker holds.
    pub async fn amend(&self, job: &str, amendment: Amendment) -> Result<JobRecord> {
        let Amendment { body, if_seq } = amendment;
        let request = Request::to(CallId::AmendJob, &[job]).json(&body)?.key(fresh_id());
        self.json(request.header("if-match", if_seq.map(|seq| seq.to_string()))).await
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

impl Key {
    /// The key to send; `None` if the lifecycle derives it.
    fn text(self) -> Option<String> {
        match self {
            Self::Made => Some(format!("{GENERATED_KEY_PREFIX}{}", fresh_id())),
            Self::Given(key) => Some(key),
            Self::Derived => None,
        }
    }
}

impl<T: Creation> Transport<T> for Client {
    async fn single(&self, job: &KeyedJob) -> Result<T> {
        created(&self.once(&creation::<T>(job.body.clone(), Some(job.key.clone()))).await?)
    }

    async fn batch(&self, body: Bytes, count: usize) -> Result<Vec<Result<T, Problem>>> {
        let request = preferring::<T>(Request::to(CallId::CreateJobs, &[]).text(body));
        batch(decode(&self.once(&request).await?.body)?, count)
    }
}

fn creation<T: Creation>(body: Bytes, key: Option<String>) -> Request {
    preferring::<T>(Request::to(CallId::CreateJob, &[]).text(body).key(key))
}

fn preferring<T: Creation>(request: Request) -> Request {
    if T::IS_MINIMAL { request.minimal() } else { request }
}

fn created<T: Creation>(answer: &Answer) -> Result<T> {
    let mut created: T = decode(&answer.body)?;
    let is_marked = answer.headers.get("idempotent-replayed").is_some_and(|value| value == "true");
    if is_marked || answer.status == StatusCode::OK {
        created.set_replayed();
    }
    Ok(created)
}
