//! The questions that pages have, and how the server is asked: by the public API alone.

use std::time::Duration;

use anyhow::Result;
use serde_json::{Value, json};
use tenure_client::Error;

use super::filter::{self, Sought};
use super::leaf;
use super::map;
use super::model::{Page, Refused};
use crate::args::{DeadFilter, Events, JobFilter, View};
use crate::client::{self, Query, Server, escaped, job_path};
use crate::output::{Exit, Trouble};
use crate::show::{self, text};
use crate::{dead, events, id, job};

/// A server that has said nothing for so long is not there.
const PATIENCE: Duration = Duration::from_secs(10);
/// Events that are shown of what happened before.
const EVENTS_BEFORE: u64 = 200;
/// Pages of a log that are read at once.
const LOG_PAGES: usize = 20;

/// A question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Ask {
    Map {
        /// None: whichever has the most jobs.
        wanted: Option<String>,
        /// The lifecycle and version whose source is there already.
        known: Option<(String, u32)>,
    },
    Jobs {
        filter: String,
        limit: usize,
    },
    Dead {
        filter: String,
        limit: usize,
    },
    Workers {
        filter: String,
    },
    Journal {
        filter: String,
        /// None: from a little before now.
        after: Option<String>,
    },
    Job(String),
    Explain(String),
    History(String),
    Log {
        job: String,
        after: Option<String>,
    },
}

/// Asks, and does not wait for ever.
pub(super) async fn answer(server: &Server, ask: &Ask) -> Result<Value, Refused> {
    match tokio::time::timeout(PATIENCE, asked(server, ask)).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(error)) => {
            let away = error.downcast_ref::<Error>().is_some_and(Error::is_passing);
            Err(Refused { sentence: said(&client::trouble(&error)), away })
        }
        Err(_) => Err(Refused { sentence: "the server does not answer".to_owned(), away: true }),
    }
}

fn said(trouble: &Trouble) -> String {
    match &trouble.help {
        Some(help) => format!("{}; {help}", trouble.sentence),
        None => trouble.sentence.clone(),
    }
}

async fn asked(server: &Server, ask: &Ask) -> Result<Value> {
    match ask {
        Ask::Map { wanted, known } => the_map(server, wanted.as_ref(), known.as_ref()).await,
        Ask::Jobs { filter, limit } => {
            let Sought { asked, words } = read::<JobFilter>(filter)?;
            let query = job::filter(&asked, server).await?.with("limit", Some(limit));
            Ok(having(View::Jobs, server.get("/api/jobs", &query).await?, &words))
        }
        Ask::Dead { filter, limit } => {
            let Sought { asked, words } = read::<DeadFilter>(filter)?;
            let query = dead::filter(&asked, server).await?.with("limit", Some(limit));
            Ok(having(View::Dead, server.get("/api/dead-letters", &query).await?, &words))
        }
        Ask::Workers { filter } => {
            let Sought { words, .. } = read::<filter::Nothing>(filter)?;
            Ok(having(View::Workers, server.get("/api/workers", &Query::new()).await?, &words))
        }
        Ask::Journal { filter, after } => {
            let Sought { asked, words } = read::<Events>(filter)?;
            let job = match &asked.job {
                Some(job) => Some(id::resolve(server, job).await?),
                None => None,
            };
            let after = match after {
                Some(after) => after.clone(),
                None => a_little_before(&events::latest(server).await?),
            };
            let query = events::filter(&asked, job).with("after", Some(after)).with("limit", Some(500));
            Ok(having(View::Log, server.get("/api/events", &query).await?, &words))
        }
        Ask::Job(job) => {
            let found = server.get(&job_path(job, ""), &Query::new()).await?;
            // A job can be seen even where its lifecycle is not loaded.
            let why = server.get(&job_path(job, "/explain"), &Query::new()).await.unwrap_or_default();
            Ok(json!({ "job": found, "explain": why }))
        }
        Ask::Explain(job) => server.get(&job_path(job, "/explain"), &Query::new()).await,
        Ask::History(job) => server.get(&job_path(job, "/events"), &Query::new()).await,
        Ask::Log { job, after } => log(server, job, after.as_deref()).await,
    }
}

fn read<F: clap::Args>(filter: &str) -> Result<Sought<F>> {
    filter::read(filter).map_err(|flaw| Trouble::new(Exit::Usage, flaw).into())
}

/// A cursor is a position of the journal; where it is not, what comes from now on is enough.
fn a_little_before(latest: &str) -> String {
    latest
        .parse::<u64>()
        .map_or_else(|_| latest.to_owned(), |at| at.saturating_sub(EVENTS_BEFORE).to_string())
}

/// The answer without rows in which one of these words does not stand.
fn having(view: View, mut answer: Value, words: &[String]) -> Value {
    let list = leaf::list(&Page::View(view));
    let columns: Vec<_> = list.columns.iter().collect();
    if let Some(rows) = answer[list.plural].as_array_mut().filter(|_| !words.is_empty()) {
        rows.retain(|row| {
            let cells = show::cells(&columns, std::slice::from_ref(row)).concat().join(" ").to_lowercase();
            words.iter().all(|word| cells.contains(word))
        });
    }
    answer
}

async fn the_map(server: &Server, wanted: Option<&String>, known: Option<&(String, u32)>) -> Result<Value> {
    let lifecycles = server.get("/api/lifecycles", &Query::new()).await?["lifecycles"].take();
    let (stats, refused) = match server.get("/api/stats", &Query::new()).await {
        Ok(stats) => (stats, None),
        Err(error) if error.downcast_ref::<Error>().is_some_and(Error::is_passing) => return Err(error),
        // Who may not oversee the whole still sees the lifecycles.
        Err(error) => (Value::Null, Some(said(&client::trouble(&error)))),
    };
    let wanted = wanted.cloned().or_else(|| map::busiest(&lifecycles, &stats)).unwrap_or_default();
    let versions = lifecycles.as_array().into_iter().flatten().filter(|it| it["name"] == *wanted);
    let is_known = versions.into_iter().any(|it| {
        known.is_some_and(|(name, version)| {
            *name == wanted && it["version"].as_u64() == Some(u64::from(*version))
        })
    });
    let source = if is_known || wanted.is_empty() {
        Value::Null
    } else {
        server.get(&format!("/api/lifecycles/{}", escaped(&wanted)), &Query::new()).await?["source"].take()
    };
    Ok(json!({ "lifecycles": lifecycles, "stats": stats, "refused": refused, "source": source }))
}

/// What was logged since; its cursor is the number of the last line.
async fn log(server: &Server, job: &str, after: Option<&str>) -> Result<Value> {
    let (mut lines, mut after) = (Vec::new(), after.map(str::to_owned));
    for _ in 0..LOG_PAGES {
        let query = Query::new().with("after", after.as_ref());
        let mut page = server.get(&job_path(job, "/logs"), &query).await?;
        if let Value::Array(more) = page["lines"].take() {
            after = more.last().map(|line| text(&line["n"])).or(after);
            lines.extend(more);
        }
        if page["next_cursor"].is_null() {
            break;
        }
    }
    Ok(json!({ "lines": lines, "next_cursor": after }))
}
