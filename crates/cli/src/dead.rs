//! `tenure dead …`: lists, shows, redrives and dismisses dead letters.

use std::time::Duration;

use anyhow::Result;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tenure_api::request::Dismissal;
use tenure_api::{CallId, DeadLetter, JobRecord, Problem, RedriveResults};
use tenure_core::time::Timestamp;

use crate::args::{DeadCommand, DeadFilter, OutputFormat, RedriveArgs};
use crate::client::{Answer, Page, Server};
use crate::output::{self, CliError, Exit};
use crate::show::{self, List, age, text};
use crate::{id, job};

pub(crate) const DEAD_LETTERS: List<DeadLetter> = List {
    name: |letter| text(&letter.job_id),
    columns: &[
        ("JOB", |letter| text(&letter.job_id)),
        ("TYPE", |letter| text(&letter.job_type)),
        ("REASON", |letter| text(&letter.reason_code)),
        ("STAGE", |letter| text(&letter.stage)),
        ("ATTEMPTS", |letter| text(&letter.attempts)),
        ("AGE", |letter| age(&letter.created_at)),
        ("ERROR", |letter| show::error(letter.last_error.as_ref())),
    ],
    wide_columns: &[
        ("LAST OWNER", |letter| text(&letter.last_owner)),
        ("CORRELATION", |letter| text(&letter.correlation_id)),
        ("DISMISSED", |letter| text(&letter.dismissed_reason)),
    ],
    pairs: |letter| {
        vec![
            ("job", text(&letter.job_id)),
            ("type", text(&letter.job_type)),
            ("reason", text(&letter.reason_code)),
            ("stage", text(&letter.stage)),
            ("error", letter.last_error.as_ref().map(|error| text(&error.text)).unwrap_or_default()),
            ("attempts", text(&letter.attempts)),
            ("last owner", text(&letter.last_owner)),
            ("created", text(&letter.created_at)),
            ("dismissed", text(&letter.dismissed_at)),
            ("dismissed by", text(&letter.dismissed_by)),
            ("dismissed because", text(&letter.dismissed_reason)),
        ]
    },
};

pub(crate) async fn run(command: DeadCommand, server: &Server, format: OutputFormat) -> Result<Exit> {
    match command {
        DeadCommand::List { filter, dismissed, page } => {
            let mut query = self::filter(&filter, server).await?;
            query["dismissed"] = json!(dismissed.then_some(true));
            query["cursor"] = json!(page.cursor);
            let page = server.list(CallId::ListDeadLetters, &[], query, page.limit).await?;
            DEAD_LETTERS.print(format, &page)?;
            job::hint_more(page.next_cursor.as_deref());
            Ok(Exit::Done)
        }
        DeadCommand::Get(args) => {
            let job = id::resolve(server, &args.job).await?;
            DEAD_LETTERS.print_one(format, &letter_of(server, &job).await?)
        }
        DeadCommand::Redrive(args) => redrive(&args, server, format).await,
        DeadCommand::Dismiss { job, reason } => {
            let (job, body) = (id::resolve(server, &job).await?, json!(Dismissal { reason }));
            DEAD_LETTERS.print_one(format, &server.post(CallId::DismissDeadLetter, &[&job], &body).await?)
        }
    }
}

/// The filters of `GET /api/dead-letters`.
pub(crate) async fn filter(filter: &DeadFilter, server: &Server) -> Result<Value> {
    let mut query = job::filter(&filter.jobs, server).await?;
    query["reason_code"] = json!(filter.reason_code);
    query["stage"] = json!(filter.stage);
    Ok(query)
}

/// The dead letter of a job, dismissed or not: found among those of jobs created in the same millisecond.
async fn letter_of(server: &Server, id: &str) -> Result<Answer<DeadLetter>> {
    let job: Answer<JobRecord> = server.get(CallId::GetJob, &[id]).await?;
    let created = Timestamp::parse(&job.created_at).unwrap_or_default().0;
    for dismissed in [false, true] {
        let query = json!({
            "created_after": Timestamp((created - 1).max(0)),
            "created_before": Timestamp(created + 1),
            "dismissed": dismissed,
        });
        let page: Page<DeadLetter> = server.list(CallId::ListDeadLetters, &[], query, usize::MAX).await?;
        if let Some(letter) = page.rows.into_iter().find(|letter| letter.job_id == id) {
            return Ok(letter);
        }
    }
    let message = format!("job {id} has no dead letter; its state is {}", text(&job.state));
    Err(CliError::new(Exit::NotFound, message).into())
}

/// Redrives all that match, as many calls as it takes.
async fn redrive(args: &RedriveArgs, server: &Server, format: OutputFormat) -> Result<Exit> {
    let mut body = if args.all {
        json!({ "filter": filter(&args.filter, server).await? })
    } else {
        let mut ids = Vec::new();
        for job in &args.jobs {
            ids.push(id::resolve(server, job).await?);
        }
        json!({ "ids": ids })
    };
    if let Some(count) = args.max_per_second {
        body["max_per_second"] = json!(count);
    }
    let (mut redriven, mut refused, mut results) = (0, 0, Vec::new());
    loop {
        let answer: Answer<RedriveResults> = server.post(CallId::RedriveDeadLetters, &[], &body).await?;
        let count = print(&answer, format, &mut results)?;
        redriven += answer.results.len() - count;
        refused += count;
        let Some(cursor) = &answer.next_cursor else { break };
        body["cursor"] = json!(cursor);
        tokio::time::sleep(spread(&answer, args.max_per_second)).await;
    }
    if format == OutputFormat::Json {
        let all = RawResults { results, next_cursor: None };
        output::raw_json(format, &serde_json::value::to_raw_value(&all)?)?;
    }
    output::message(&format!("{redriven} redriven, {refused} refused"));
    Ok(if refused == 0 { Exit::Done } else { Exit::Refused })
}

/// Prints what one call created, and each refusal; returns the number of refusals. As JSON, all calls are one document: their results are
/// collected.
fn print(
    answer: &Answer<RedriveResults>,
    format: OutputFormat,
    results: &mut Vec<Box<RawValue>>,
) -> Result<usize> {
    match format {
        OutputFormat::Json => {
            let rows: RawResults = serde_json::from_str(answer.raw.get())?;
            results.extend(rows.results);
        }
        OutputFormat::Jsonl => {
            let rows: RawResults = serde_json::from_str(answer.raw.get())?;
            rows.results.iter().try_for_each(|result| output::raw_json(format, result))?;
        }
        OutputFormat::Name | OutputFormat::Table | OutputFormat::Wide => {
            let created = answer.results.iter().filter_map(|result| result.ok.as_ref());
            created.map(|job| text(&job.id)).try_for_each(|id| output::data(&id))?;
        }
    }
    let refused: Vec<&Problem> = answer.results.iter().filter_map(|result| result.error.as_ref()).collect();
    for problem in &refused {
        output::message(&format!("tenure: {}", show::plain(&problem.to_string())));
    }
    Ok(refused.len())
}

/// The time over which the server spreads the jobs of one call. Those of the next call begin after it.
fn spread(answer: &RedriveResults, max_per_second: Option<u32>) -> Duration {
    let last = answer.results.iter().rposition(|result| result.ok.is_some());
    let places = last.map_or(0, |last| last + 1);
    max_per_second
        .filter(|rate| *rate > 0)
        .map_or(Duration::ZERO, |rate| Duration::from_secs_f64(places as f64 / f64::from(rate)))
}

/// The same answer, with each result as the server sent it.
#[derive(Deserialize, Serialize)]
struct RawResults {
    results: Vec<Box<RawValue>>,
    next_cursor: Option<String>,
}
