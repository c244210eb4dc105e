//! `tenure job logs`: prints or follows the log of a job.

use anyhow::Result;
use serde_json::json;
use tenure_api::{CallId, LogLine};
use tenure_client::Follow;

use crate::args::OutputFormat;
use crate::client::{Page, Server};
use crate::output::{self, Exit};
use crate::show::{plain, text};

/// Prints the lines after this one.
pub(super) async fn read(server: &Server, job: &str, after: u64, format: OutputFormat) -> Result<Exit> {
    let (mut kept, mut after) = (Vec::new(), after.to_string());
    loop {
        let query = json!({ "after": after });
        let page: Page<LogLine> = server.page(CallId::ListJobLogs, &[job], &query).await?;
        match format {
            OutputFormat::Json => kept.extend(page.rows),
            OutputFormat::Jsonl => page.rows.iter().try_for_each(|row| output::raw_json(format, &row.raw))?,
            _ => page.rows.iter().try_for_each(|line| print(format, line))?,
        }
        match page.next_cursor {
            Some(next) => after = next,
            None => break,
        }
    }
    if format == OutputFormat::Json {
        output::raw_json(format, &Page::join(CallId::ListJobLogs, kept, None)?.raw)?;
    }
    Ok(Exit::Done)
}

pub(super) async fn follow(server: &Server, job: &str, format: OutputFormat) -> Result<Exit> {
    let mut following = server.client.follow(job);
    while let Some(item) = following.next().await {
        match item? {
            Follow::Log(line) => print(format, &line)?,
            Follow::Status { state, .. } => output::message(&format!("the job finished in state {state}")),
        }
    }
    Ok(Exit::Done)
}

/// Prints one line; JSON on one line, because a log that is followed is printed as it grows.
fn print(format: OutputFormat, line: &LogLine) -> Result<()> {
    let LogLine { n, ts, stream, level, text: content } = line;
    match format {
        OutputFormat::Json | OutputFormat::Jsonl => output::json(OutputFormat::Jsonl, line)?,
        OutputFormat::Name => output::data(&text(n))?,
        OutputFormat::Table => output::data(&plain(content))?,
        OutputFormat::Wide => {
            let head = output::line(&[text(n), text(ts), text(stream), text(level)], &[4, 24, 6, 5]);
            output::data(&format!("{head}  {}", plain(content)))?;
        }
    }
    Ok(())
}
