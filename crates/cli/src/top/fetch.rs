//! What pages show, fetched from the public API.

use std::time::Duration;

use anyhow::Result;
use serde_json::{Value, json};
use tenure_api::{
    CallId, DeadLetter, Event, Explanation, JobRecord, LifecycleSummary, LogLine, QueueStats, Stats,
    WorkerStatus,
};
use tenure_client::Error;
use tenure_core::lifecycle::Phase;
use tenure_core::time::Millis;

use super::filter::{self, Filter};
use super::map;
use super::model::PaneKind;
use super::rows::Row;
use crate::args::{DeadFilter, EventsArgs, View};
use crate::client::{self, Answer, PAGE_ROWS_MAX, Page, Server};
use crate::dead::DEAD_LETTERS;
use crate::job::{EVENTS, JOBS};
use crate::output::{CliError, Exit};
use crate::show::{List, age, short_duration, text};
use crate::worker::WORKERS;
use crate::{dead, events, id};

/// A server that has not answered for this long counts as unavailable.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Earlier events that the journal shows first.
const EARLIER_EVENTS: u64 = 200;
/// Pages of a log that are read at once.
const LOG_PAGES: usize = 20;

/// The journal of all jobs.
pub(super) const JOURNAL: List<Event> = List {
    name: |event| text(&event.id),
    columns: &[
        ("TIME", |event| text(&event.ts).get(11..23).unwrap_or_default().to_owned()),
        ("JOB", |event| text(&event.job_id)),
        ("EVENT", |event| text(&event.event_type)),
        ("TRANSITION", events::transition),
        ("ACTOR", |event| text(&event.actor)),
    ],
    wide_columns: &[],
    pairs: |_| Vec::new(),
};

/// Queues with the rates of the last five minutes.
pub(super) const QUEUES: List<QueueStats> = List {
    name: |queue| text(&queue.name),
    columns: &[
        ("QUEUE", |queue| text(&queue.name)),
        ("READY", |queue| text(&queue.ready)),
        ("OLDEST", |queue| age(queue.oldest_ready.as_ref())),
        ("IN/MIN", |queue| format!("{:.1}", queue.in_per_minute)),
        ("OUT/MIN", |queue| format!("{:.1}", queue.out_per_minute)),
        ("DRAINS IN", |queue| queue.drains_in_ms.map(|ms| short_duration(Millis(ms))).unwrap_or_default()),
        ("RUNNING", |queue| text(&queue.running)),
        ("WAITING", |queue| text(&queue.waiting)),
        ("PAUSED", |queue| if queue.paused { paused(queue) } else { String::new() }),
    ],
    wide_columns: &[],
    pairs: |_| Vec::new(),
};

/// The actor and the duration, if they are known.
fn paused(queue: &QueueStats) -> String {
    let since = age(queue.paused_since.as_ref());
    match &queue.paused_by {
        Some(by) => format!("{since} by {}", text(by)),
        None => "yes".to_owned(),
    }
}

/// What a pane shows, and which part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FetchRequest {
    pub(super) page: PaneKind,
    pub(super) filter: String,
    /// The most rows.
    pub(super) limit: usize,
    /// Where the journal or the log continues; `None`: the journal a little before now, the log at its beginning.
    pub(super) after: Option<String>,
    /// The selected lifecycle; `None`: the one with the most jobs.
    pub(super) lifecycle: Option<String>,
    /// The lifecycle and version whose source is known.
    pub(super) known: Option<(String, u32)>,
}

/// The answer to a request.
#[derive(Debug)]
pub(super) enum Fetched {
    Map(Box<MapData>),
    Rows { rows: Vec<Row>, next_cursor: Option<String> },
    Job { job: Box<JobRecord>, explanation: Option<Box<Explanation>> },
    Explanation(Box<Explanation>),
    Log { lines: Vec<LogLine>, next_cursor: Option<String> },
}

#[derive(Debug, Default)]
pub(super) struct MapData {
    pub(super) lifecycles: Vec<LifecycleSummary>,
    /// `None` if the caller may not read statistics.
    pub(super) stats: Option<Stats>,
    /// Why there are no statistics.
    pub(super) refusal: Option<String>,
    /// The file of the selected lifecycle, unless it is known.
    pub(super) source: Option<String>,
}

/// Why a request failed.
#[derive(Clone, Debug)]
pub(super) struct FetchError {
    pub(super) message: String,
    /// The server cannot be reached, or cannot answer now.
    pub(super) unavailable: bool,
}

pub(super) async fn fetch(server: &Server, request: &FetchRequest) -> Result<Fetched, FetchError> {
    match tokio::time::timeout(TIMEOUT, request_once(server, request)).await {
        Ok(Ok(fetched)) => Ok(fetched),
        Ok(Err(error)) => Err(FetchError { message: message(&error), unavailable: is_retryable(&error) }),
        Err(_) => Err(FetchError { message: "the server does not answer".to_owned(), unavailable: true }),
    }
}

fn is_retryable(error: &anyhow::Error) -> bool {
    error.downcast_ref::<Error>().is_some_and(Error::is_retryable)
}

fn message(error: &anyhow::Error) -> String {
    let CliError { message, help, .. } = client::cli_error(error);
    match help {
        Some(help) => format!("{message}; {help}"),
        None => message,
    }
}

async fn request_once(server: &Server, request: &FetchRequest) -> Result<Fetched> {
    let FetchRequest { page, filter, limit, after, .. } = request;
    match page {
        PaneKind::View(View::Map) => Ok(Fetched::Map(Box::new(fetch_map(server, request).await?))),
        PaneKind::View(View::Jobs) => {
            let Filter { flags, words } = filter::job_query(filter).map_err(anyhow::Error::msg)?;
            let query = json!({ "q": flags, "limit": limit });
            Ok(Fetched::jobs(server.page(CallId::ListJobs, &[], &query).await?).with_words(&words))
        }
        PaneKind::View(View::Dead) => {
            let Filter { flags, words } = parse::<DeadFilter>(filter)?;
            let mut query = dead::filter(&flags, server).await?;
            query["limit"] = json!(limit);
            let page = server.page(CallId::ListDeadLetters, &[], &query).await?;
            Ok(Fetched::dead_letters(page).with_words(&words))
        }
        PaneKind::View(View::Workers) => {
            let Filter { words, .. } = parse::<filter::NoFlags>(filter)?;
            let page = server.page(CallId::ListWorkers, &[], &Value::Null).await?;
            Ok(Fetched::workers(page).with_words(&words))
        }
        PaneKind::View(View::Queues) => {
            let Filter { words, .. } = parse::<filter::NoFlags>(filter)?;
            let stats: Answer<Stats> = server.get(CallId::GetStats, &[]).await?;
            Ok(Fetched::queues(&stats.queues).with_words(&words))
        }
        PaneKind::View(View::Log) => {
            let Filter { flags, words } = parse::<EventsArgs>(filter)?;
            let job = id::resolve_optional(server, flags.job.as_ref()).await?;
            let after = match after {
                Some(after) => after.clone(),
                None => earlier(&events::latest(server).await?),
            };
            let mut query = json!(events::filter(&flags, job));
            query["after"] = json!(after);
            query["limit"] = json!(PAGE_ROWS_MAX);
            let page = server.page(CallId::ListEvents, &[], &query).await?;
            Ok(Fetched::events(&JOURNAL, page).with_words(&words))
        }
        PaneKind::Job(job) => {
            let found: Answer<JobRecord> = server.get(CallId::GetJob, &[job]).await?;
            // Without its lifecycle a job cannot be explained, but it can be shown.
            let explanation = explain(server, job).await.ok();
            Ok(Fetched::Job { job: Box::new(found.into_inner()), explanation })
        }
        PaneKind::Explain(job) => Ok(Fetched::Explanation(explain(server, job).await?)),
        PaneKind::History(job) => {
            let page = server.pages(CallId::ListJobEvents, &[job], json!({})).await?;
            Ok(Fetched::events(&EVENTS, page))
        }
        PaneKind::Log(job) => fetch_log(server, job, after.clone()).await,
    }
}

async fn explain(server: &Server, job: &str) -> Result<Box<Explanation>> {
    let explanation: Answer<Explanation> = server.get(CallId::ExplainJob, &[job]).await?;
    Ok(Box::new(explanation.into_inner()))
}

impl Fetched {
    fn rows<T>(list: &List<T>, mut page: Page<T>, row: impl Fn(&T, Row) -> Row) -> Self
    where
        T: serde::de::DeserializeOwned,
    {
        let next_cursor = page.next_cursor.take();
        let rows = page
            .into_rows()
            .map(|it| row(&it, Row { id: (list.name)(&it), cells: list.cells(&it), job: None, phase: None }));
        Self::Rows { rows: rows.collect(), next_cursor }
    }

    pub(super) fn jobs(page: Page<JobRecord>) -> Self {
        Self::rows(&JOBS, page, |job, row| {
            let phase = Phase::parse(&job.phase, job.outcome.as_deref());
            Row { job: Some(job.id.clone()), phase, ..row }
        })
    }

    pub(super) fn dead_letters(page: Page<DeadLetter>) -> Self {
        Self::rows(&DEAD_LETTERS, page, |letter, row| Row { job: Some(letter.job_id.clone()), ..row })
    }

    pub(super) fn workers(page: Page<WorkerStatus>) -> Self {
        Self::rows(&WORKERS, page, |_, row| row)
    }

    pub(super) fn queues(queues: &[QueueStats]) -> Self {
        let row =
            |queue| Row { id: (QUEUES.name)(queue), cells: QUEUES.cells(queue), job: None, phase: None };
        Self::Rows { rows: queues.iter().map(row).collect(), next_cursor: None }
    }

    pub(super) fn events(list: &List<Event>, page: Page<Event>) -> Self {
        Self::rows(list, page, |event, row| Row { job: Some(event.job_id.clone()), ..row })
    }

    /// Keeps the rows that contain all of these lower-case words.
    fn with_words(mut self, words: &[String]) -> Self {
        if let Self::Rows { rows, .. } = &mut self {
            rows.retain(|row| {
                let cells = row.cells.join(" ").to_lowercase();
                words.iter().all(|word| cells.contains(word))
            });
        }
        self
    }
}

fn parse<F: clap::Args>(filter: &str) -> Result<Filter<F>> {
    filter::parse(filter).map_err(|flaw| CliError::new(Exit::Usage, flaw).into())
}

/// A cursor some events before this one, if cursors are positions of the journal.
fn earlier(cursor: &str) -> String {
    let position = cursor.parse::<u64>();
    position.map_or_else(|_| cursor.to_owned(), |at| at.saturating_sub(EARLIER_EVENTS).to_string())
}

async fn fetch_map(server: &Server, request: &FetchRequest) -> Result<MapData> {
    let page: Page<LifecycleSummary> = server.page(CallId::ListLifecycles, &[], &Value::Null).await?;
    let lifecycles: Vec<LifecycleSummary> = page.into_rows().collect();
    let (stats, refusal) = match server.get::<Stats>(CallId::GetStats, &[]).await {
        Ok(stats) => (Some(stats.into_inner()), None),
        Err(error) if is_retryable(&error) => return Err(error),
        // Roles that may not read statistics still see the lifecycles.
        Err(error) => (None, Some(message(&error))),
    };
    let selected = request.lifecycle.clone().or_else(|| map::busiest(&lifecycles, stats.as_ref()));
    let is_known = request.known.as_ref().is_some_and(|(name, version)| {
        selected.as_ref() == Some(name)
            && lifecycles.iter().any(|it| it.name == *name && it.version == *version)
    });
    let source = match selected.filter(|_| !is_known) {
        Some(name) => {
            let lifecycle: Answer<tenure_api::Lifecycle> = server.get(CallId::GetLifecycle, &[&name]).await?;
            Some(lifecycle.into_inner().source)
        }
        None => None,
    };
    Ok(MapData { lifecycles, stats, refusal, source })
}

/// Log lines after this one; the new cursor is the number of the last line.
async fn fetch_log(server: &Server, job: &str, mut after: Option<String>) -> Result<Fetched> {
    let mut lines: Vec<LogLine> = Vec::new();
    for _ in 0..LOG_PAGES {
        let query = json!({ "after": after });
        let mut page: Page<LogLine> = server.page(CallId::ListJobLogs, &[job], &query).await?;
        let is_last = page.next_cursor.take().is_none();
        lines.extend(page.into_rows());
        after = lines.last().map(|line| line.n.to_string()).or(after);
        if is_last {
            break;
        }
    }
    Ok(Fetched::Log { lines, next_cursor: after })
}
