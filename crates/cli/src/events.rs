//! `tenure events`: the journal, as a page or live.

use anyhow::Result;
use serde_json::{Value, json};
use tenure_client::{Event, EventFilter};

use crate::args::{Events, Form};
use crate::client::{Query, Server};
use crate::id;
use crate::output::{self, Exit};
use crate::show::text;

/// Columns of lines that come one at a time.
const WIDTHS: [usize; 6] = [24, 36, 4, 20, 28, 8];

pub(crate) async fn run(args: &Events, server: &Server, form: Form) -> Result<Exit> {
    let job = match &args.job {
        Some(job) => Some(id::resolve(server, job).await?),
        None => None,
    };
    if args.follow { follow(args, job, server, form).await } else { page(args, job, server, form).await }
}

/// The filters of `GET /api/events`.
pub(crate) fn filter(args: &Events, job: Option<String>) -> Query {
    Query::new()
        .with("type", args.event_type.as_ref())
        .with("lifecycle", args.lifecycle.as_ref())
        .with("job_id", job)
        .with("correlation_id", args.correlation_id.as_ref())
        .with("user_id", args.user.as_ref())
}

async fn page(args: &Events, job: Option<String>, server: &Server, form: Form) -> Result<Exit> {
    const PAGE_ROWS_MAX: usize = 500;
    let mut query = filter(args, job).with("after", args.after.as_ref());
    let (mut kept, mut told) = (Vec::new(), 0);
    let cursor = loop {
        query.set("limit", (args.limit - told).clamp(1, PAGE_ROWS_MAX));
        let page = server.get("/api/events", &query).await?;
        let events = page["events"].as_array().cloned().unwrap_or_default();
        told += events.len();
        let is_end = events.is_empty();
        if form == Form::Json {
            kept.extend(events);
        } else {
            events.iter().try_for_each(|event| print(form, event))?;
        }
        let next = text(&page["next_cursor"]);
        // An empty page whose cursor moved has looked at events that do not match, and there may be more.
        let stays = query.get("after") == Some(next.as_str());
        if told >= args.limit || (is_end && stays) {
            break next;
        }
        query.set("after", next);
    };
    if form == Form::Json {
        output::json(form, &json!({ "events": kept, "next_cursor": cursor }))?;
    }
    if told >= args.limit {
        output::words(&format!("there may be more: tenure events --after {cursor}"));
    }
    Ok(Exit::Done)
}

async fn follow(args: &Events, job_id: Option<String>, server: &Server, form: Form) -> Result<Exit> {
    // What has no end is written a line at a time.
    let form = if form == Form::Json { Form::Jsonl } else { form };
    let filter = EventFilter {
        event_type: args.event_type.clone(),
        lifecycle: args.lifecycle.clone(),
        job_id,
        correlation_id: args.correlation_id.clone(),
        user_id: args.user.clone(),
    };
    let after = match &args.after {
        Some(cursor) => cursor.clone(),
        None => latest(server).await?,
    };
    output::words(&format!("following after {after}"));
    let mut events = server.client.events(Some(&after), &filter)?;
    loop {
        let (event, _) = events.next().await?;
        print(form, &as_told(&event))?;
    }
}

/// The end of the journal as it is now.
pub(crate) async fn latest(server: &Server) -> Result<String> {
    let query = Query::new().with("after", Some("latest")).with("limit", Some(1));
    Ok(text(&server.get("/api/events", &query).await?["next_cursor"]))
}

/// An event as the API tells it.
fn as_told(event: &Event) -> Value {
    json!({
        "id": event.id, "job_id": event.job_id, "seq": event.seq, "type": event.event_type,
        "trigger": event.trigger, "from": event.from, "to": event.to, "attempt": event.attempt, "ts": event.ts,
        "actor": event.actor, "cause": event.cause, "correlation_id": event.correlation_id,
        "trace_id": event.trace_id, "payload": event.payload, "version": event.version,
    })
}

fn print(form: Form, event: &Value) -> Result<()> {
    match form {
        Form::Json | Form::Jsonl => output::json(Form::Jsonl, event)?,
        Form::Name => output::data(&text(&event["id"]))?,
        Form::Table | Form::Wide => {
            let moved = match (&event["from"], &event["to"]) {
                (Value::Null, to) => text(to),
                (from, to) => format!("{} → {}", text(from), text(to)),
            };
            let [ts, job, seq, kind, actor] =
                ["ts", "job_id", "seq", "type", "actor"].map(|name| text(&event[name]));
            let line = output::line(&[ts, job, seq, kind, moved, actor], &WIDTHS);
            output::data(&if form == Form::Wide { format!("{line}  {}", event["payload"]) } else { line })?;
        }
    }
    Ok(())
}
