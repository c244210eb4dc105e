//! `tenure job …`: creates, lists, shows and changes jobs.

mod bulk;
mod log;
pub(crate) mod request;

use std::time::{Duration, SystemTime};

use anyhow::Result;
use serde_json::{Value, json};
use tenure_api::request::{Cancel, GiveUp};
use tenure_api::{Asset, CallId, CancelMode, Event, JobRecord};
use tenure_client::{Amendment, Error, FoundJob, NewJob};
use tenure_core::time::{Millis, Timestamp};

use crate::args::{EditArgs, JobCommand, JobFilter, NewJobArgs, OutputFormat, PageArgs, TargetArgs, TimeArg};
use crate::client::{Answer, Page, Server};
use crate::output::{self, CliError, Exit};
use crate::show::{self, List, Pairs, age, text};
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
    pairs,
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
    pairs: |_| Vec::new(),
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
    pairs: |_| Vec::new(),
};

pub(crate) async fn run(command: JobCommand, server: &Server, format: OutputFormat) -> Result<Exit> {
    let id = async |prefix: &str| id::resolve(server, prefix).await;
    let job: Answer<JobRecord> = match command {
        JobCommand::Create(args) => create(new_job(&args)?, server).await?,
        JobCommand::List { query, filter, page } => {
            return list(&query, &filter, page, server, format).await;
        }
        JobCommand::Events { job, telemetry } => {
            let query = json!({ "telemetry": telemetry.then_some(true) });
            let page = server.pages(CallId::ListJobEvents, &[&id(&job).await?], query).await?;
            return EVENTS.print(format, &page);
        }
        JobCommand::Logs { job, follow: true, .. } => {
            return log::follow(server, &id(&job).await?, format).await;
        }
        JobCommand::Logs { job, after, .. } => {
            return log::read(server, &id(&job).await?, after, format).await;
        }
        JobCommand::Assets(args) => return assets(server, &id(&args.job).await?, format).await,
        JobCommand::Get(args) => {
            let found: Answer<FoundJob> = server.get(CallId::GetJob, &[&id(&args.job).await?]).await?;
            found.map(request::shown)
        }
        JobCommand::Replay { job, seq } => {
            server.get_with(CallId::ReplayJob, &[&id(&job).await?], &json!({ "seq": seq })).await?
        }
        JobCommand::Retry(TargetArgs { job: Some(job), .. }) => {
            server.post(CallId::RetryJob, &[&id(&job).await?], &json!({})).await?
        }
        JobCommand::Retry(target) => return bulk::run(&bulk::RETRY, None, &target, server, format).await,
        JobCommand::Delete(TargetArgs { job: Some(job), .. }) => {
            server.get(CallId::DeleteJob, &[&id(&job).await?]).await?
        }
        JobCommand::Delete(target) => return bulk::run(&bulk::DELETE, None, &target, server, format).await,
        JobCommand::Cancel { target: target @ TargetArgs { job: None, .. }, hard, .. } => {
            return bulk::run(&bulk::CANCEL, Some(mode(hard)), &target, server, format).await;
        }
        JobCommand::Cancel { target, hard, reason } => {
            let id = id(target.job.as_deref().unwrap_or_default()).await?;
            cancel(&id, Cancel { mode: Some(mode(hard)), reason }, server).await?
        }
        JobCommand::Edit(args) => edit(&id(&args.job).await?, &args, server).await?,
        JobCommand::Wait { job, timeout } => return wait(server, &id(&job).await?, timeout, format).await,
        JobCommand::DeadLetter { job, reason_code, detail } => {
            let body = json!(GiveUp { reason_code, detail });
            server.post(CallId::DeadLetterJob, &[&id(&job).await?], &body).await?
        }
        JobCommand::Signal { job, name, payload } => {
            let id = id(&job).await?;
            let payload = payload.as_deref().map(payload::read).transpose()?;
            let body = payload.map_or_else(|| json!({}), |payload| json!({ "payload": payload }));
            server.post(CallId::SignalJob, &[&id, &name], &body).await?
        }
    };
    JOBS.print_one(format, &job)
}

async fn create(new: NewJob, server: &Server) -> Result<Answer<JobRecord>> {
    let created = server.client.create(new).await?;
    if created.replayed {
        output::message(ALREADY_EXISTS);
    }
    server.get(CallId::GetJob, &[&created.job.id]).await
}

async fn assets(server: &Server, id: &str, format: OutputFormat) -> Result<Exit> {
    let limit = tenure_core::limits::ASSETS_MAX;
    ASSETS.print(format, &server.list(CallId::ListJobAssets, &[id], json!({}), limit).await?)
}

async fn edit(id: &str, args: &EditArgs, server: &Server) -> Result<Answer<JobRecord>> {
    let mut amendment = Amendment::default();
    if let Some(payload) = &args.payload {
        amendment = amendment.payload(&payload::read(payload)?)?;
    }
    amendment = set(amendment, args.priority, Amendment::priority);
    let time = args.run_at.map(|time| match time {
        TimeArg::At(at) => SystemTime::UNIX_EPOCH + Duration::from_millis(at.0.max(0) as u64),
        TimeArg::Span(span) => SystemTime::now() + Duration::from_millis(span.0),
    });
    amendment = set(amendment, time, Amendment::run_at);
    server.client.amend(id, set(amendment, args.if_match, Amendment::if_seq)).await?;
    server.get(CallId::GetJob, &[id]).await
}

fn mode(is_hard: bool) -> CancelMode {
    if is_hard { CancelMode::Hard } else { CancelMode::Soft }
}

async fn cancel(id: &str, request: Cancel, server: &Server) -> Result<Answer<JobRecord>> {
    let job: Answer<JobRecord> = server.post(CallId::CancelJob, &[id], &json!(request)).await?;
    if job.cancel_requested.is_some() && !job.is_final() {
        output::message("the worker was asked to stop");
    }
    Ok(job)
}

/// The job to create. Without --idempotency-key no key is sent, so that the lifecycle's derived key applies.
pub(crate) fn new_job(args: &NewJobArgs) -> Result<NewJob> {
    let payload = args.payload.as_deref().map_or_else(|| Ok(json!({})), payload::read)?;
    let mut new = NewJob::new(&args.job_type, &payload)?;
    new = match &args.idempotency_key {
        Some(key) => new.key(key),
        None => new.derived_key(),
    };
    new = set(new, args.user.as_ref(), NewJob::user);
    new = set(new, args.queue.as_ref(), NewJob::queue);
    new = set(new, args.lifecycle.as_ref(), NewJob::lifecycle);
    new = set(new, args.priority, NewJob::priority);
    new = set(new, args.delay.map(|delay| Duration::from_millis(delay.0)), NewJob::delay);
    new = set(new, args.max_attempts, NewJob::max_attempts);
    Ok(set(new, args.correlation_id.as_ref(), NewJob::correlation))
}

/// Sets a field of a request if there is a value for it.
fn set<R, T>(request: R, value: Option<T>, set: impl Fn(R, T) -> R) -> R {
    match value {
        Some(value) => set(request, value),
        None => request,
    }
}

async fn list(
    terms: &[String],
    filter: &JobFilter,
    page: PageArgs,
    server: &Server,
    format: OutputFormat,
) -> Result<Exit> {
    let mut query = self::filter(filter, server).await?;
    query["q"] = if terms.is_empty() { Value::Null } else { json!(terms.join(" ")) };
    query["cursor"] = json!(page.cursor);
    let page: Page<FoundJob> = server.list(CallId::ListJobs, &[], query, page.limit).await?;
    let page = page.map(request::shown);
    JOBS.print(format, &page)?;
    hint_more(page.next_cursor.as_deref());
    Ok(Exit::Done)
}

/// Says how a list is continued, if there may be more rows: the filters stay those of the command.
pub(crate) fn hint_more(cursor: Option<&str>) {
    if let Some(cursor) = cursor {
        output::message(&format!("there may be more: repeat this command with --cursor {cursor}"));
    }
}

/// The point in time that an argument stands for.
fn time(time: TimeArg) -> Timestamp {
    match time {
        TimeArg::At(at) => at,
        TimeArg::Span(duration) => Timestamp(show::now().0.saturating_sub_unsigned(duration.0).max(0)),
    }
}

/// The filters of `GET /api/jobs`.
pub(crate) async fn filter(filter: &JobFilter, server: &Server) -> Result<Value> {
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

async fn wait(server: &Server, id: &str, timeout: Option<Millis>, format: OutputFormat) -> Result<Exit> {
    let limit = timeout.map(|limit| Duration::from_millis(limit.0));
    let finished = match server.client.wait_for_end(id, limit).await {
        Err(Error::TimedOut(limit)) => {
            let limit = Millis(limit.as_millis() as u64);
            let error = CliError::new(Exit::TimedOut, format!("the job did not finish within {limit}"));
            return Err(error.help(format!("find out why with `tenure explain {}`", show::short(id))).into());
        }
        finished => finished?,
    };
    // It is another job if that answers a request in SQL.
    let job = server.get(CallId::GetJob, &[&finished]).await?;
    JOBS.print_one(format, &job)?;
    Ok(exit_code(&job))
}

/// The exit code for a finished job.
pub(crate) fn exit_code(job: &JobRecord) -> Exit {
    if job.is_succeeded() { Exit::Done } else { Exit::Unsuccessful }
}

/// The fields of a job that are shown to people.
pub(crate) fn pairs(job: &JobRecord) -> Pairs {
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
    // A request in SQL has none.
    let lifecycle = if job.lifecycle.is_empty() {
        String::new()
    } else {
        format!("{} v{}", text(&job.lifecycle), job.lifecycle_version)
    };
    let cancel = job.cancel_requested.as_ref().and_then(|request| request.mode).map(|mode| json!(mode));
    vec![
        ("job", text(&job.id)),
        ("type", text(&job.job_type)),
        ("lifecycle", lifecycle),
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
