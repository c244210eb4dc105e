//! Following: a job's log to its end, or the journal for ever. A broken connection is opened again after what was seen
//! last, so nothing is missed and nothing comes twice.

mod sse;

use std::collections::VecDeque;
use std::time::Duration;

use futures_util::Stream;
use reqwest::StatusCode;
use serde::Deserialize;
use serde_json::Value;

use crate::client::transport::{Ask, backoff, decode, event_stream};
use crate::client::{Client, job_path, with_query};
use crate::error::{Error, Result};
use crate::request::{EventFilter, to_value};
use crate::wire::{Event, LogLine};
use sse::{Reader, Sent};

/// A connection on which nothing came for this long, not even a comment, is opened again.
const SILENCE_MAX: Duration = Duration::from_mins(1);
/// Connections that may fail in a row before the caller is told; asking again goes on trying.
const FAILURES_MAX: u32 = 8;

/// What there is to see of a job.
#[derive(Clone, Debug, PartialEq)]
pub enum Follow {
    /// A line of its log.
    Log(LogLine),
    /// Its end.
    Status {
        /// The final state.
        state: String,
        /// What the state means, where the server says so.
        outcome: Option<String>,
        /// What the job has come to.
        output: Value,
    },
}

/// A job being followed; see [`Client::follow`].
#[derive(Debug)]
pub struct Following {
    feed: Feed,
    over: bool,
}

/// The journal being followed; see [`Client::events`].
#[derive(Debug)]
pub struct Events {
    feed: Feed,
}

impl Client {
    /// Follows a job: its log from the start, then its final status, then no more.
    pub fn follow(&self, job: &str) -> Following {
        Following { feed: Feed::new(self, job_path(job, "/stream"), None), over: false }
    }

    /// Follows the journal after a cursor, or from its beginning; it has no end.
    pub fn events(&self, after: Option<&str>, filter: &EventFilter) -> Result<Events> {
        let path = with_query("/api/events", &[to_value("the filter", filter)?]);
        Ok(Events { feed: Feed::new(self, path, after.map(str::to_owned)) })
    }
}

impl Following {
    /// What comes next; none after the final status. An error that may pass can be ignored by asking again.
    pub async fn next(&mut self) -> Option<Result<Follow>> {
        while !self.over {
            let sent = match self.feed.next().await {
                Ok(Some(sent)) => sent,
                Ok(None) => {
                    self.over = true;
                    break;
                }
                Err(error) => {
                    self.over = !error.is_passing();
                    return Some(Err(error));
                }
            };
            match sent.name.as_str() {
                "log" => return Some(decode(sent.text.as_bytes()).map(Follow::Log)),
                "status" => {
                    self.over = true;
                    return Some(final_status(&sent.text));
                }
                _ => {}
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
    /// The next event and the cursor after it. An error that may pass can be ignored by asking again.
    pub async fn next(&mut self) -> Result<(Event, String)> {
        loop {
            let Some(sent) = self.feed.next().await? else {
                return Err(Error::Protocol("the journal came to an end, which it never does".into()));
            };
            // Whatever has no cursor is no event of the journal.
            if let Some(cursor) = sent.id {
                return Ok((decode(sent.text.as_bytes())?, cursor));
            }
        }
    }

    /// The same as a stream.
    pub fn into_stream(self) -> impl Stream<Item = Result<(Event, String)>> + Send {
        futures_util::stream::unfold(self, async |mut events| Some((events.next().await, events)))
    }
}

fn final_status(text: &str) -> Result<Follow> {
    #[derive(Deserialize)]
    struct Status {
        state: String,
        outcome: Option<String>,
        #[serde(default)]
        output: Value,
    }
    decode(text.as_bytes()).map(|Status { state, outcome, output }| Follow::Status { state, outcome, output })
}

/// A stream of sent events that survives its connections.
#[derive(Debug)]
struct Feed {
    client: Client,
    path: String,
    last_id: Option<String>,
    open: Option<(reqwest::Response, Reader)>,
    sent: VecDeque<Sent>,
    failures: u32,
    pause: Option<Duration>,
}

impl Feed {
    fn new(client: &Client, path: String, last_id: Option<String>) -> Self {
        let (client, sent) = (client.clone(), VecDeque::new());
        Self { client, path, last_id, open: None, sent, failures: 0, pause: None }
    }

    /// The next event; none when the server says that there will be no more. Dropping the future loses nothing.
    async fn next(&mut self) -> Result<Option<Sent>> {
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
                self.failures = 0;
            } else {
                // The end, a broken connection, or silence: begin again after what was seen last.
                self.pause = reader.retry_ms().map(Duration::from_millis);
                self.open = None;
                self.failed(Error::Unreachable("the stream breaks off again and again".into()))?;
            }
        }
    }

    async fn connect(&mut self) -> Result<bool> {
        if self.failures > 0 {
            let pause = self.pause.take().unwrap_or_else(|| backoff(self.failures));
            tokio::time::sleep(pause).await;
        }
        let mut ask: Ask = event_stream(self.path.as_str());
        if let Some(id) = &self.last_id {
            ask = ask.header("last-event-id", id.clone());
        }
        let connecting = tokio::time::timeout(Duration::from_secs(30), self.client.begin(&ask));
        let response =
            connecting.await.unwrap_or_else(|_| Err(Error::Unreachable("no answer in 30 s".into())))?;
        if response.status() == StatusCode::NO_CONTENT {
            return Ok(false);
        }
        let mut reader = Reader::default();
        if let Some(id) = &self.last_id {
            reader.begin_after(id);
        }
        self.open = Some((response, reader));
        Ok(true)
    }

    /// Notes a failure that may pass, or passes on one that will not or has happened too often.
    fn failed(&mut self, error: Error) -> Result<()> {
        self.pause = error.retry_after().or(self.pause);
        self.failures += 1;
        if !error.is_passing() || self.failures >= FAILURES_MAX {
            self.failures = 1;
            return Err(error);
        }
        Ok(())
    }
}
