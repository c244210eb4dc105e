//! `tenure events`: reads or follows the journal.

use anyhow::Result;
use serde::Deserialize;
use serde_json::json;
use tenure_api::{CallId, Event, JobError};
use tenure_client::EventFilter;

use crate::args::{EventsArgs, OutputFormat};
use crate::client::{PAGE_ROWS_MAX, Page, Server};
use crate::id;
use crate::output::{self, Exit};
use crate::show::text;

/// Column widths for rows that are printed one at a time.
const WIDTHS: [usize; 6] = [24, 36, 4, 20, 28, 8];

pub(crate) async fn run(args: &EventsArgs, server: &Server, format: OutputFormat) -> Result<Exit> {
    let job = id::resolve_optional(server, args.job.as_ref()).await?;
    if args.follow { follow(args, job, server, format).await } else { read(args, job, server, format).await }
}

/// The filters of `GET /api/events`.
pub(crate) fn filter(args: &EventsArgs, job_id: Option<String>) -> EventFilter {
    EventFilter {
        event_type: args.event_type.clone(),
        lifecycle: args.lifecycle.clone(),
        job_id,
        correlation_id: args.correlation_id.clone(),
        user_id: args.user.clone(),
    }
}

async fn read(args: &EventsArgs, job: Option<String>, server: &Server, format: OutputFormat) -> Result<Exit> {
    let mut query = json!(filter(args, job));
    query["after"] = json!(args.after);
    let (mut kept, mut count) = (Vec::new(), 0);
    let cursor = loop {
        query["limit"] = json!((args.limit - count).clamp(1, PAGE_ROWS_MAX));
        let page: Page<Event> = server.page(CallId::ListEvents, &[], &query).await?;
        count += page.rows.len();
        let is_empty = page.rows.is_empty();
        match format {
            OutputFormat::Json => kept.extend(page.rows),
            OutputFormat::Jsonl => page.rows.iter().try_for_each(|row| output::raw_json(format, &row.raw))?,
            _ => page.rows.iter().try_for_each(|event| print(format, event))?,
        }
        let next = page.next_cursor.unwrap_or_default();
        // If the cursor of an empty page moved, the server has skipped events that do not match; there may be more.
        let is_end = is_empty && query["after"] == *next;
        if count >= args.limit || is_end {
            break next;
        }
        query["after"] = json!(next);
    };
    if format == OutputFormat::Json {
        output::raw_json(format, &Page::join(CallId::ListEvents, kept, Some(cursor.clone()))?.raw)?;
    }
    if count >= args.limit {
        output::message(&format!("there may be more: tenure events --after {cursor}"));
    }
    Ok(Exit::Done)
}

async fn follow(
    args: &EventsArgs,
    job_id: Option<String>,
    server: &Server,
    format: OutputFormat,
) -> Result<Exit> {
    let after = match &args.after {
        Some(cursor) => cursor.clone(),
        None => latest(server).await?,
    };
    output::message(&format!("following the journal after {after}"));
    let mut events = server.client.events(Some(&after), &filter(args, job_id))?;
    loop {
        let (event, _) = events.next().await?;
        print(format, &event)?;
    }
}

/// The cursor at the current end of the journal.
pub(crate) async fn latest(server: &Server) -> Result<String> {
    let query = json!({ "after": "latest", "limit": 1 });
    let page: Page<Event> = server.page(CallId::ListEvents, &[], &query).await?;
    Ok(page.next_cursor.unwrap_or_default())
}

/// The error in the payload of an event.
pub(crate) fn error_of(event: &Event) -> Option<String> {
    let EventPayload { error } = EventPayload::deserialize(&event.payload).unwrap_or_default();
    error.map(|error| format!("{}: {}", text(&error.code), text(&error.message)))
}

#[derive(Default, Deserialize)]
struct EventPayload {
    error: Option<JobError>,
}

/// The states before and after an event, as `from → to`.
pub(crate) fn transition(event: &Event) -> String {
    match &event.from {
        Some(from) => format!("{} → {}", text(from), text(&event.to)),
        None => text(&event.to),
    }
}

/// Prints one event; JSON on one line, because a journal that is followed has no end.
fn print(format: OutputFormat, event: &Event) -> Result<()> {
    match format {
        OutputFormat::Json | OutputFormat::Jsonl => output::json(OutputFormat::Jsonl, event)?,
        OutputFormat::Name => output::data(&text(&event.id))?,
        OutputFormat::Table | OutputFormat::Wide => {
            let cells = [
                text(&event.ts),
                text(&event.job_id),
                text(&event.seq),
                text(&event.event_type),
                transition(event),
                text(&event.actor),
            ];
            let line = output::line(&cells, &WIDTHS);
            let is_wide = format == OutputFormat::Wide;
            output::data(&if is_wide { format!("{line}  {}", event.payload) } else { line })?;
        }
    }
    Ok(())
}
