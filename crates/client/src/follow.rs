//! Following a job's log to its end, or the journal without end. After a broken connection the stream continues behind the
//! last event received, so no event is missed or delivered twice.

mod sse;

use std::collections::VecDeque;
use std::time::Duration;

use futures_util::Stream;
use reqwest::StatusCode;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tenure_api::{AuditLine, CallId, Event, FinalStatus, JobRecord, LogLine};
use tokio::time::Instant;

use crate::client::transport::{backoff, decode, event_stream};
use crate::client::{Client, FoundJob, with_query};
use crate::error::{Error, Result};
use crate::request::{EventFilter, to_value};
use sse::{Reader, SentEvent};

/// A connection without data for this long, not even a comment, is reopened.
const SILENCE_MAX: Duration = Duration::from_mins(1);
/// When a stream has given nothing for this long after its connection broke, the caller gets the error; the next call continues to
/// try.
const OUTAGE_MAX: Duration = Duration::from_mins(1);
/// Behind the last line of every log: the stream then begins with the final status.
const AFTER_ALL_LINES: &str = "999999999999999999";

/// Delay between two looks at a request in SQL that no node has taken in. That takes milliseconds while one runs.
const LOOK_PAUSE: Duration = Duration::from_millis(100);

/// What a followed job produces.
#[derive(Clone, Debug, PartialEq)]
pub enum Follow {
    /// A line of its log.
    Log(LogLine),
    /// Its end.
    Status {
        /// The final state.
        state: String,
        /// The meaning of the state.
        outcome: Option<String>,
        /// The result of the job.
        output: Value,
    },
}

/// A job being followed; see [`Client::follow`].
#[derive(Debug)]
pub struct Following {
    /// The id that the caller gave.
    id: String,
    /// The job that is followed: another one if the id is that of a request in SQL which it answers.
    job: String,
    feed: EventFeed,
    over: bool,
}

async fn within<T>(timeout: Option<Duration>, work: impl Future<Output = Result<T>>) -> Result<T> {
    match timeout {
        Some(limit) => tokio::time::timeout(limit, work).await.unwrap_or(Err(Error::TimedOut(limit))),
        None => work.await,
    }
}

/// The pause after a retryable error.
async fn pause(error: &Error, tries: &mut u32) {
    *tries += 1;
    tokio::time::sleep(error.retry_after().unwrap_or_else(|| backoff(*tries))).await;
}

/// The journal being followed; see [`Client::events`].
#[derive(Debug)]
pub struct Events {
    feed: EventFeed,
}

/// The audit log being followed; see [`Client::follow_audit`].
#[derive(Debug)]
pub struct AuditLines {
    feed: EventFeed,
}

impl Client {
    /// Follows a job: its log from the start, then its final status. A request in SQL is followed as the job that it becomes or that
    /// answers it; its refusal is an error.
    pub fn follow(&self, job: &str) -> Following {
        Following::new(self, job, None)
    }

    /// Waits until a job is finished and returns it, with [`Error::TimedOut`] after a timeout. Without one it waits also while the server
    /// cannot be reached. For a request in SQL it waits for the job that it becomes or that answers it; its refusal is an error.
    pub async fn wait(&self, job: &str, timeout: Option<Duration>) -> Result<JobRecord> {
        within(timeout, async {
            let (job, mut tries) = (self.ended(job).await?, 0);
            loop {
                match self.get(&job).await {
                    Err(error) if error.is_retryable() => pause(&error, &mut tries).await,
                    found => return found,
                }
            }
        })
        .await
    }

    /// The same, but returns only the id of the job, which is another one if that answers a request in SQL.
    pub async fn wait_for_end(&self, job: &str, timeout: Option<Duration>) -> Result<String> {
        within(timeout, self.ended(job)).await
    }

    async fn ended(&self, job: &str) -> Result<String> {
        let mut following = Following::new(self, job, Some(AFTER_ALL_LINES.to_owned()));
        let mut tries = 0;
        while let Some(item) = following.next().await {
            match item {
                Ok(_) => tries = 0,
                Err(error) if error.is_retryable() => pause(&error, &mut tries).await,
                Err(error) => return Err(error),
            }
        }
        Ok(following.job)
    }

    /// The job that a request in SQL became, as soon as a node has taken it in, or that answers it.
    /// `None` if that is `sought`, which was not found, or if the caller may not see it.
    async fn job_behind(&self, id: &str, sought: &str) -> Result<Option<String>> {
        loop {
            let found = self.find(id).await?;
            let request = match &found {
                FoundJob::Job(job) => return Ok(Some(job.id.clone())),
                FoundJob::Request(request) => request,
            };
            match (found.refusal(), &request.job_id) {
                (Some(problem), _) => return Err(Error::Refused(problem)),
                (None, Some(job)) => return Ok((job != sought).then(|| job.clone())),
                (None, None) if request.phase != "intake" => return Ok(None),
                (None, None) => tokio::time::sleep(LOOK_PAUSE).await,
            }
        }
    }

    /// Follows the journal after a cursor, or from its beginning.
    pub fn events(&self, after: Option<&str>, filter: &EventFilter) -> Result<Events> {
        let path = with_query(CallId::ListEvents.call().path, &[to_value("the filter", filter)?]);
        Ok(Events { feed: EventFeed::new(self, path, after.map(str::to_owned)) })
    }
}

impl Client {
    /// Follows the audit log after a cursor, or from its beginning.
    pub fn follow_audit(&self, after: Option<&str>) -> AuditLines {
        let path = CallId::ListAudit.call().path.to_owned();
        AuditLines { feed: EventFeed::new(self, path, after.map(str::to_owned)) }
    }
}

impl AuditLines {
    /// The next line and the cursor after it. After a retryable error, call it again.
    pub async fn next(&mut self) -> Result<(AuditLine, String)> {
        self.feed.next_with_cursor("the audit log").await
    }

    /// The same as a stream.
    pub fn into_stream(self) -> impl Stream<Item = Result<(AuditLine, String)>> + Send {
        futures_util::stream::unfold(self, async |mut lines| Some((lines.next().await, lines)))
    }
}

impl Following {
    fn new(client: &Client, job: &str, last_id: Option<String>) -> Self {
        let feed = EventFeed::new(client, stream_of(job), last_id);
        Self { id: job.to_owned(), job: job.to_owned(), feed, over: false }
    }

    /// The next item; `None` after the final status. After a retryable error, call it again.
    pub async fn next(&mut self) -> Option<Result<Follow>> {
        while !self.over {
            let mut sent = self.feed.next().await;
            // There is no stream of a request in SQL.
            if sent.as_ref().is_err_and(|error| error.problem().is_some_and(|problem| problem.status == 404))
            {
                match self.feed.client.job_behind(&self.id, &self.job).await {
                    // The job that answers the request is deleted, or the caller may not see it.
                    Ok(None) => {}
                    Ok(Some(job)) => {
                        self.feed.path = stream_of(&job);
                        self.job = job;
                        continue;
                    }
                    Err(error) => sent = Err(error),
                }
            }
            self.over = match &sent {
                Ok(sent) => sent.as_ref().is_none_or(|sent| sent.name == "status"),
                Err(error) => !error.is_retryable(),
            };
            match sent {
                Ok(Some(sent)) if sent.name == "log" => {
                    return Some(decode(sent.text.as_bytes()).map(Follow::Log));
                }
                Ok(Some(sent)) if sent.name == "status" => return Some(final_status(&sent.text)),
                Ok(_) => {}
                Err(error) => return Some(Err(error)),
            }
        }
        None
    }

    /// The same as a stream.
    pub fn into_stream(self) -> impl Stream<Item = Result<Follow>> + Send {
        futures_util::stream::unfold(self, async |mut following| {
            following.next().await.map(|next| (next, following))
        })
    }
}

impl Events {
    /// The next event and the cursor after it. After a retryable error, call it again.
    pub async fn next(&mut self) -> Result<(Event, String)> {
        self.feed.next_with_cursor("the journal").await
    }

    /// The same as a stream.
    pub fn into_stream(self) -> impl Stream<Item = Result<(Event, String)>> + Send {
        futures_util::stream::unfold(self, async |mut events| Some((events.next().await, events)))
    }
}

fn stream_of(job: &str) -> String {
    CallId::StreamJob.call().path_of(&[job])
}

fn final_status(text: &str) -> Result<Follow> {
    let FinalStatus { state, outcome, output, .. } = decode(text.as_bytes())?;
    Ok(Follow::Status { state, outcome, output: output.unwrap_or_default() })
}

/// A stream of server-sent events that reconnects.
#[derive(Debug)]
struct EventFeed {
    client: Client,
    path: String,
    last_id: Option<String>,
    open: Option<(reqwest::Response, Reader)>,
    sent: VecDeque<SentEvent>,
    failures: u32,
    /// The first of these failures.
    broken_at: Option<Instant>,
    pause: Option<Duration>,
}

impl EventFeed {
    fn new(client: &Client, path: String, last_id: Option<String>) -> Self {
        let (client, sent) = (client.clone(), VecDeque::new());
        Self { client, path, last_id, open: None, sent, failures: 0, broken_at: None, pause: None }
    }

    /// The next event; `None` when the server ends the stream. Dropping the future loses nothing.
    async fn next(&mut self) -> Result<Option<SentEvent>> {
        loop {
            if let Some(sent) = self.sent.pop_front() {
                self.last_id.clone_from(&sent.id);
                return Ok(Some(sent));
            }
            let Some((response, reader)) = &mut self.open else {
                match self.connect().await {
                    Ok(true) => continue,
                    Ok(false) => return Ok(None),
                    Err(error) => self.failed(error)?,
                }
                continue;
            };
            let piece = tokio::time::timeout(SILENCE_MAX, response.chunk()).await;
            if let Ok(Ok(Some(piece))) = piece {
                self.sent.extend(reader.push(&piece));
                (self.failures, self.broken_at) = (0, None);
            } else {
                // The end, a broken connection, or silence: reconnect behind the last event.
                self.pause = reader.retry_ms().map(Duration::from_millis);
                self.open = None;
                self.failed(Error::Unreachable("the stream breaks off repeatedly".into()))?;
            }
        }
    }

    /// The next event of a stream without end, and its cursor.
    async fn next_with_cursor<T: DeserializeOwned>(&mut self, what: &str) -> Result<(T, String)> {
        loop {
            let Some(sent) = self.next().await? else {
                return Err(Error::Protocol(format!("the server ended {what}, which has no end")));
            };
            // Without a cursor it is not an event of this stream.
            if let Some(cursor) = sent.id {
                return Ok((decode(sent.text.as_bytes())?, cursor));
            }
        }
    }

    async fn connect(&mut self) -> Result<bool> {
        if self.failures > 0 {
            let pause = self.pause.take().unwrap_or_else(|| backoff(self.failures));
            tokio::time::sleep(pause).await;
        }
        let request = event_stream(self.path.as_str()).header("last-event-id", self.last_id.clone());
        let connecting = tokio::time::timeout(Duration::from_secs(30), self.client.begin(&request));
        let response =
            connecting.await.unwrap_or_else(|_| Err(Error::Unreachable("no answer in 30 s".into())))?;
        if response.status() == StatusCode::NO_CONTENT {
            return Ok(false);
        }
        self.open = Some((response, Reader::after(self.last_id.clone())));
        Ok(true)
    }

    /// Counts a retryable failure; returns one that is not, or the last one of a long outage.
    fn failed(&mut self, error: Error) -> Result<()> {
        self.pause = error.retry_after().or(self.pause);
        self.failures += 1;
        let broken_at = *self.broken_at.get_or_insert_with(Instant::now);
        if !error.is_retryable() || broken_at.elapsed() > OUTAGE_MAX {
            (self.failures, self.broken_at) = (1, None);
            return Err(error);
        }
        Ok(())
    }
}
