//! `tenure job …`: creates, lists, shows and changes jobs.

mod log;

use std::time::Duration;

use anyhow::Result;
use serde_json::{Value, json};
use tenure_api::{Asset, CallId, CancelMode, Event, JobRecord};
use tenure_client::{Error, Follow, NewJob};
use tenure_core::time::Timestamp;

use crate::args::{
    CancelArgs, DeadLetterArgs, HistoryArgs, JobCommand, JobFilter, JobListArgs, NewJobArgs, OutputFormat,
    ReplayArgs, SignalArgs, TimeArg, WaitArgs,
};
use crate::client::{Answer, Server};
use crate::output::{self, CliError, Exit};
use crate::show::{self, List, age, text};
use crate::{id, payload};

/// Printed when an idempotency key finds an earlier job.
pub(crate) const ALREADY_EXISTS: &str = "the job already exists";

pub(crate) const JOBS: List<JobRecord> = List {
    name: |job| text(&job.id),
    columns: &[
        ("JOB", |job| text(&job.id)),
        ("TYPE", |job| text(&job.job_type)),
        ("STATE", |job| text(&job.state)),
        ("ATTEMPT", |job| text(&job.attempt)),
        ("AGE", |job| age(&job.created_at)),
        ("IN STATE", |job| age(job.entered.get(&job.state))),
        ("ERROR", |job| show::error(job.error.as_ref())),
    ],
    wide_columns: &[
        ("LIFECYCLE", |job| text(&job.lifecycle)),
        ("QUEUE", |job| text(&job.queue)),
        ("USER", |job| text(&job.user_id)),
        ("WORKER", |job| text(&job.worker)),
        ("PROGRESS", |job| text(&job.progress)),
        ("PRIORITY", |job| text(&job.priority)),
    ],
};

/// The history of a job.
pub(crate) const EVENTS: List<Event> = List {
    name: |event| text(&event.id),
    columns: &[
        ("SEQ", |event| text(&event.seq)),
        ("TIME", |event| text(&event.ts)),
        ("EVENT", |event| text(&event.event_type)),
        ("FROM", |event| text(&event.from)),
        ("TO", |event| text(&event.to)),
        ("ATTEMPT", |event| text(&event.attempt)),
        ("ACTOR", |event| text(&event.actor)),
    ],
    wide_columns: &[("TRIGGER", |event| text(&event.trigger)), ("PAYLOAD", |event| text(&event.payload))],
};

const ASSETS: List<Asset> = List {
    name: |asset| text(&asset.id),
    columns: &[
        ("ASSET", |asset| text(&asset.id)),
        ("TYPE", |asset| text(&asset.asset_type)),
        ("BYTES", |asset| text(&asset.file_size)),
        ("AGE", |asset| age(&asset.created_at)),
        ("DISCARDED", |asset| age(asset.discarded_at.as_ref())),
        ("URL", |asset| text(&asset.url)),
    ],
    wide_columns: &[("USER", |asset| text(&asset.user_id)), ("PATH", |asset| text(&asset.storage_path))],
};

pub(crate) async fn run(command: JobCommand, server: &Server, format: OutputFormat) -> Result<Exit> {
    match command {
        JobCommand::Create(args) => create(&args, server, format).await,
        JobCommand::List(args) => list(&args, server, format).await,
        JobCommand::Get(args) => {
            let job = id::resolve(server, &args.job).await?;
            print(format, &server.get(CallId::GetJob, &[&job]).await?)
        }
        JobCommand::Events(args) => history(&args, server, format).await,
        JobCommand::Replay(args) => replay(&args, server, format).await,
        JobCommand::Logs(args) => log::run(&args, server, format).await,
        JobCommand::Assets(args) => assets(&args.job, server, format).await,
        JobCommand::Cancel(args) => cancel(&args, server, format).await,
        JobCommand::Retry(args) => {
            let job = id::resolve(server, &args.job).await?;
            print(format, &server.post(CallId::RetryJob, &[&job], &json!({})).await?)
        }
        JobCommand::Wait(args) => wait(&args, server, format).await,
        JobCommand::DeadLetter(args) => dead_letter(&args, server, format).await,
        JobCommand::Signal(args) => signal(&args, server, format).await,
    }
}

/// The job to create. Without --idempotency-key no key is sent, so that the lifecycle's derived key applies.
pub(crate) fn new_job(args: &NewJobArgs) -> Result<NewJob> {
    let payload = args.payload.as_deref().map_or_else(|| Ok(json!({})), payload::read)?;
    let mut new = NewJob::new(&args.job_type, &payload)?;
    new = match &args.idempotency_key {
        Some(key) => new.key(key),
        None => new.derived_key(),
    };
    if let Some(user) = &args.user {
        new = new.user(user);
    }
    if let Some(queue) = &args.queue {
        new = new.queue(queue);
    }
    if let Some(lifecycle) = &args.lifecycle {
        new = new.lifecycle(lifecycle);
    }
    if let Some(priority) = args.priority {
        new = new.priority(priority);
    }
    if let Some(delay) = args.delay {
        new = new.delay(Duration::from_millis(delay.0));
    }
    if let Some(count) = args.max_attempts {
        new = new.max_attempts(count);
    }
    if let Some(correlation) = &args.correlation_id {
        new = new.correlation(correlation);
    }
    Ok(new)
}

async fn create(args: &NewJobArgs, server: &Server, format: OutputFormat) -> Result<Exit> {
    let created = server.client.create(new_job(args)?).await?;
    if created.replayed {
        output::message(ALREADY_EXISTS);
    }
    print(format, &server.get(CallId::GetJob, &[&created.job.id]).await?)
}

async fn assets(job: &str, server: &Server, format: OutputFormat) -> Result<Exit> {
    let job = id::resolve(server, job).await?;
    let limit = tenure_core::limits::ASSETS_MAX;
    let page = server.list(CallId::ListJobAssets, &[&job], json!({}), limit).await?;
    ASSETS.print(format, &page)?;
    Ok(Exit::Done)
}

async fn list(args: &JobListArgs, server: &Server, format: OutputFormat) -> Result<Exit> {
    let mut query = filter(&args.filter, server).await?;
    query["cursor"] = json!(args.cursor);
    let page = server.list(CallId::ListJobs, &[], query, args.limit).await?;
    JOBS.print(format, &page)?;
    hint_more(page.next_cursor.as_deref(), "tenure job list --cursor");
    Ok(Exit::Done)
}

/// Prints the command that continues a list, if there may be more rows.
pub(crate) fn hint_more(cursor: Option<&str>, command: &str) {
    if let Some(cursor) = cursor {
        output::message(&format!("there may be more: {command} {cursor}"));
    }
}

/// The filters of `GET /api/jobs`.
pub(crate) async fn filter(filter: &JobFilter, server: &Server) -> Result<Value> {
    let time = |time: TimeArg| match time {
        TimeArg::At(at) => at,
        TimeArg::Ago(duration) => Timestamp(show::now().0.saturating_sub_unsigned(duration.0).max(0)),
    };
    Ok(json!({
        "state": filter.state,
        "phase": filter.phase,
        "outcome": filter.outcome,
        "lifecycle": filter.lifecycle,
        "type": filter.job_type,
        "queue": filter.queue,
        "user_id": filter.user,
        "worker": filter.worker,
        "correlation_id": filter.correlation_id,
        "retry_of": id::resolve_optional(server, filter.retry_of.as_ref()).await?,
        "created_after": filter.since.map(time),
        "created_before": filter.until.map(time),
    }))
}

async fn history(args: &HistoryArgs, server: &Server, format: OutputFormat) -> Result<Exit> {
    let job = id::resolve(server, &args.job).await?;
    let query = json!({ "telemetry": args.telemetry.then_some(true) });
    EVENTS.print(format, &server.page(CallId::ListJobEvents, &[&job], &query).await?)?;
    Ok(Exit::Done)
}

async fn replay(args: &ReplayArgs, server: &Server, format: OutputFormat) -> Result<Exit> {
    let job = id::resolve(server, &args.job).await?;
    let query = json!({ "seq": args.seq });
    print(format, &server.get_with(CallId::ReplayJob, &[&job], &query).await?)
}

async fn cancel(args: &CancelArgs, server: &Server, format: OutputFormat) -> Result<Exit> {
    let job = id::resolve(server, &args.job).await?;
    let mode = if args.hard { CancelMode::Hard } else { CancelMode::Soft };
    let body = json!({ "mode": mode, "reason": args.reason });
    let job: Answer<JobRecord> = server.post(CallId::CancelJob, &[&job], &body).await?;
    if job.cancel_requested.is_some() && !job.is_final() {
        output::message("the worker was asked to stop");
    }
    print(format, &job)
}

async fn dead_letter(args: &DeadLetterArgs, server: &Server, format: OutputFormat) -> Result<Exit> {
    let job = id::resolve(server, &args.job).await?;
    let body = json!({ "reason_code": args.reason_code, "detail": args.detail });
    print(format, &server.post(CallId::DeadLetterJob, &[&job], &body).await?)
}

async fn signal(args: &SignalArgs, server: &Server, format: OutputFormat) -> Result<Exit> {
    let job = id::resolve(server, &args.job).await?;
    let body = match &args.payload {
        Some(payload) => json!({ "payload": payload::read(payload)? }),
        None => json!({}),
    };
    print(format, &server.post(CallId::SignalJob, &[&job, &args.name], &body).await?)
}

async fn wait(args: &WaitArgs, server: &Server, format: OutputFormat) -> Result<Exit> {
    let job = id::resolve(server, &args.job).await?;
    let finished = wait_until_finished(server, &job);
    match args.timeout {
        Some(limit) => {
            let finished = tokio::time::timeout(Duration::from_millis(limit.0), finished).await;
            finished.map_err(|_| {
                CliError::new(Exit::TimedOut, format!("the job did not finish within {limit}"))
                    .help(format!("find out why with `tenure explain {}`", show::short(&job)))
            })??;
        }
        None => finished.await?,
    }
    let job = server.get(CallId::GetJob, &[&job]).await?;
    print(format, &job)?;
    Ok(exit_code(&job))
}

/// Waits even while the server is unreachable.
async fn wait_until_finished(server: &Server, job: &str) -> Result<(), Error> {
    let mut following = server.client.follow(job);
    while let Some(item) = following.next().await {
        if let Follow::Status { .. } = item? {
            break;
        }
    }
    Ok(())
}

/// The exit code for a finished job.
pub(crate) fn exit_code(job: &JobRecord) -> Exit {
    if job.is_succeeded() { Exit::Done } else { Exit::Unsuccessful }
}

pub(crate) fn print(format: OutputFormat, job: &Answer<JobRecord>) -> Result<Exit> {
    show::one(format, job, &job.id, || pairs(job))?;
    Ok(Exit::Done)
}

/// The fields of a job that are shown to people.
pub(crate) fn pairs(job: &JobRecord) -> Vec<(&'static str, String)> {
    let time = |at: &String| format!("{} ({} ago)", text(at), age(at));
    let optional_time = |at: &Option<String>| at.as_ref().map(time).unwrap_or_default();
    let attempt = match (job.attempt, job.max_attempts) {
        (0, None) => String::new(),
        (attempt, None) => text(&attempt),
        (attempt, Some(max)) => format!("{attempt} of {max}"),
    };
    let progress = match (job.progress.unwrap_or(0.0), &job.progress_message) {
        (0.0, None) => String::new(),
        (percent, message) => format!("{percent} % {}", text(message)).trim_end().to_owned(),
    };
    let cancel = job.cancel_requested.as_ref().and_then(|request| request.mode).map(|mode| json!(mode));
    vec![
        ("job", text(&job.id)),
        ("type", text(&job.job_type)),
        ("lifecycle", format!("{} v{}", text(&job.lifecycle), job.lifecycle_version)),
        ("state", format!("{} ({})", text(&job.state), text(job.outcome.as_ref().unwrap_or(&job.phase)))),
        ("attempt", attempt),
        ("queue", text(&job.queue)),
        ("user", text(&job.user_id)),
        ("worker", text(&job.worker)),
        ("progress", progress),
        ("cancel", text(&cancel)),
        ("payload", if job.payload == json!({}) { String::new() } else { text(&job.payload) }),
        ("result", text(&job.result)),
        ("error", job.error.as_ref().map(|error| text(&error.text)).unwrap_or_default()),
        ("checkpoint", text(&job.checkpoint)),
        ("key", text(&job.idempotency_key)),
        ("retry of", text(&job.retry_of)),
        ("created", if job.created_at.is_empty() { String::new() } else { time(&job.created_at) }),
        ("started", optional_time(&job.started_at)),
        ("completed", optional_time(&job.completed_at)),
    ]
}
