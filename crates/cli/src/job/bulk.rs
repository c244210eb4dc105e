//! `tenure job cancel | retry | delete --filter …`: one action on every job that matches.

use std::io::{self, IsTerminal as _, Write as _};

use anyhow::Result;
use serde_json::{Map, Value, json};
use tenure_api::{ActionResults, CallId, CancelMode, Problem};

use super::time;
use crate::args::{self, OutputFormat, TargetArgs};
use crate::client::{Answer, Server};
use crate::output::{self, CliError, Exit};
use crate::show::{self, text};

/// The most problems that are printed.
const PROBLEMS_MAX: usize = 10;

/// An action, as the API names it and as messages do.
pub(crate) struct BulkAction {
    name: &'static str,
    verb: &'static str,
    done: &'static str,
}

pub(crate) const CANCEL: BulkAction =
    BulkAction { name: "cancel", verb: "Cancel", done: "cancelled or asked to stop" };
pub(crate) const RETRY: BulkAction = BulkAction { name: "retry", verb: "Retry", done: "retried" };
pub(crate) const DELETE: BulkAction = BulkAction { name: "delete", verb: "Delete", done: "deleted" };

/// What all calls of one command did.
#[derive(Default)]
struct Totals {
    done: usize,
    refused: usize,
    problems: Vec<Problem>,
}

pub(crate) async fn run(
    action: &BulkAction,
    mode: Option<CancelMode>,
    target: &TargetArgs,
    server: &Server,
    format: OutputFormat,
) -> Result<Exit> {
    let body =
        json!({ "action": action.name, "filter": filter(&target.filters)?, "all": target.all, "mode": mode });
    if target.dry_run {
        let matched = count(server, &body).await?;
        match format {
            OutputFormat::Json | OutputFormat::Jsonl => output::json(format, &json!({ "matched": matched }))?,
            OutputFormat::Name | OutputFormat::Table | OutputFormat::Wide => {
                output::data(&matched.to_string())?;
            }
        }
        return Ok(Exit::Done);
    }
    if !target.yes && io::stdin().is_terminal() && io::stderr().is_terminal() {
        let matched = count(server, &body).await?;
        if matched == 0 {
            output::message("no job matches");
            return Ok(Exit::Done);
        }
        let which = if target.all { "all " } else { "" };
        let jobs = if matched == 1 { "job" } else { "jobs" };
        if !confirmed(&format!("{} {which}{matched} {jobs}? [y/N] ", action.verb))? {
            return Err(CliError::new(Exit::Failed, "nothing was changed").into());
        }
    }
    let totals = act(server, body, format).await?;
    for problem in &totals.problems {
        output::message(&format!("tenure: {}", show::plain(&problem.to_string())));
    }
    output::message(&format!("{} {}, {} refused", totals.done, action.done, totals.refused));
    Ok(if totals.refused == 0 { Exit::Done } else { Exit::Refused })
}

/// The filter of the request. Times may be given as a duration before now.
fn filter(pairs: &[(String, String)]) -> Result<Map<String, Value>, CliError> {
    let mut filter = Map::new();
    for (name, value) in pairs {
        let value = match name.as_str() {
            "created_after" | "created_before" => {
                let given =
                    args::time(value).map_err(|why| CliError::new(Exit::Usage, format!("{name}: {why}")))?;
                json!(time(given))
            }
            _ => json!(value),
        };
        if filter.insert(name.clone(), value).is_some() {
            return Err(CliError::new(Exit::Usage, format!("--filter {name} is given twice")));
        }
    }
    Ok(filter)
}

/// The number of all jobs that match.
async fn count(server: &Server, body: &Value) -> Result<u64> {
    let mut body = body.clone();
    body["dry_run"] = json!(true);
    let mut matched = 0;
    loop {
        let answer: Answer<ActionResults> = server.post(CallId::ActOnJobs, &[], &body).await?;
        matched += answer.matched;
        match &answer.next_cursor {
            Some(cursor) => body["cursor"] = json!(cursor),
            None => return Ok(matched),
        }
    }
}

fn confirmed(question: &str) -> io::Result<bool> {
    let mut stderr = io::stderr().lock();
    stderr.write_all(question.as_bytes())?;
    stderr.flush()?;
    let mut answer = String::new();
    io::stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
}

/// Acts on all matching jobs, as many calls as it takes, and prints the results of each.
async fn act(server: &Server, mut body: Value, format: OutputFormat) -> Result<Totals> {
    let mut totals = Totals::default();
    loop {
        let answer: Answer<ActionResults> = server.post(CallId::ActOnJobs, &[], &body).await?;
        match format {
            OutputFormat::Json | OutputFormat::Jsonl => output::raw_json(format, &answer.raw)?,
            OutputFormat::Name | OutputFormat::Table | OutputFormat::Wide => {
                let done = answer.results.iter().filter_map(|result| result.ok.as_ref());
                done.map(|job| text(&job.id)).try_for_each(|id| output::data(&id))?;
            }
        }
        let refused: Vec<&Problem> =
            answer.results.iter().filter_map(|result| result.error.as_ref()).collect();
        totals.done += answer.results.len() - refused.len();
        totals.refused += refused.len();
        let room = PROBLEMS_MAX - totals.problems.len();
        totals.problems.extend(refused.into_iter().take(room).cloned());
        match &answer.next_cursor {
            Some(cursor) => body["cursor"] = json!(cursor),
            None => return Ok(totals),
        }
    }
}
