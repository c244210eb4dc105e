//! `tenure job …`: the job calls.

mod log;

use std::time::Duration;

use anyhow::Result;
use serde_json::{Value, json};
use tenure_client::{CancelMode, Error, Follow};

use crate::args::{
    Cancel, Form, Give, History, JobCommand, JobFilter, JobList, Moment, NewJob, Replay, Signal, Wait,
};
use crate::client::{Query, Server, escaped, job_path};
use crate::output::{self, Exit, Trouble};
use crate::show::{self, List, age, text};
use crate::{id, payload};

/// Jobs, for people.
pub(crate) const JOBS: List = List {
    plural: "jobs",
    name: "id",
    columns: &[
        ("JOB", |job| text(&job["id"])),
        ("TYPE", |job| text(&job["type"])),
        ("STATE", |job| text(&job["state"])),
        ("ATTEMPT", |job| text(&job["attempt"])),
        ("AGE", |job| age(&job["created_at"])),
        ("IN STATE", |job| age(&job["entered"][text(&job["state"])])),
        ("ERROR", |job| show::error(&job["error"])),
    ],
    more: &[
        ("LIFECYCLE", |job| text(&job["lifecycle"])),
        ("QUEUE", |job| text(&job["queue"])),
        ("USER", |job| text(&job["user_id"])),
        ("WORKER", |job| text(&job["worker"])),
        ("PROGRESS", |job| text(&job["progress"])),
        ("PRIORITY", |job| text(&job["priority"])),
    ],
};

/// What has happened to a job, for people.
pub(crate) const EVENTS: List = List {
    plural: "events",
    name: "id",
    columns: &[
        ("SEQ", |event| text(&event["seq"])),
        ("TIME", |event| text(&event["ts"])),
        ("EVENT", |event| text(&event["type"])),
        ("FROM", |event| text(&event["from"])),
        ("TO", |event| text(&event["to"])),
        ("ATTEMPT", |event| text(&event["attempt"])),
        ("ACTOR", |event| text(&event["actor"])),
    ],
    more: &[("TRIGGER", |event| text(&event["trigger"])), ("PAYLOAD", |event| text(&event["payload"]))],
};

const ASSETS: List = List {
    plural: "assets",
    name: "id",
    columns: &[
        ("ASSET", |asset| text(&asset["id"])),
        ("TYPE", |asset| text(&asset["asset_type"])),
        ("BYTES", |asset| text(&asset["file_size"])),
        ("AGE", |asset| age(&asset["created_at"])),
        ("DISCARDED", |asset| age(&asset["discarded_at"])),
        ("URL", |asset| text(&asset["url"])),
    ],
    more: &[("USER", |asset| text(&asset["user_id"])), ("PATH", |asset| text(&asset["storage_path"]))],
};

/// Runs one.
pub(crate) async fn run(command: JobCommand, server: &Server, form: Form) -> Result<Exit> {
    match command {
        JobCommand::Create(args) => create(&args, server, form).await,
        JobCommand::List(args) => list(&args, server, form).await,
        JobCommand::Get(args) => {
            let job = id::resolve(server, &args.job).await?;
            print(form, &server.get(&job_path(&job, ""), &Query::new()).await?)
        }
        JobCommand::Events(args) => history(&args, server, form).await,
        JobCommand::Replay(args) => replay(&args, server, form).await,
        JobCommand::Logs(args) => log::run(&args, server, form).await,
        JobCommand::Assets(args) => assets(&args.job, server, form).await,
        JobCommand::Cancel(args) => cancel(&args, server, form).await,
        JobCommand::Retry(args) => {
            let job = id::resolve(server, &args.job).await?;
            print(form, &server.post(&job_path(&job, "/retry"), &json!({})).await?)
        }
        JobCommand::Wait(args) => wait(&args, server, form).await,
        JobCommand::DeadLetter(args) => dead_letter(&args, server, form).await,
        JobCommand::Signal(args) => signal(&args, server, form).await,
    }
}

/// What the SDK is asked to create. Without a key of the caller's none is sent, so that the lifecycle's own rule for
/// what is the same job holds.
pub(crate) fn asked(args: &NewJob) -> Result<tenure_client::NewJob> {
    let payload = args.payload.as_deref().map_or_else(|| Ok(json!({})), payload::read)?;
    let mut new = tenure_client::NewJob::new(&args.job_type, &payload)?;
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

async fn create(args: &NewJob, server: &Server, form: Form) -> Result<Exit> {
    let created = server.client.create(asked(args)?).await?;
    if created.replayed {
        output::words("the job was there already");
    }
    print(form, &server.get(&job_path(&created.job.id, ""), &Query::new()).await?)
}

async fn assets(job: &str, server: &Server, form: Form) -> Result<Exit> {
    let job = id::resolve(server, job).await?;
    let limit = tenure_core::limits::ASSETS_MAX;
    let answer = server.list(&job_path(&job, "/assets"), "assets", &Query::new(), limit).await?;
    ASSETS.print(form, &answer)?;
    Ok(Exit::Done)
}

async fn list(args: &JobList, server: &Server, form: Form) -> Result<Exit> {
    let query = filter(&args.filter, server).await?.with("cursor", args.cursor.as_ref());
    let answer = server.list("/api/jobs", "jobs", &query, args.limit).await?;
    JOBS.print(form, &answer)?;
    say_more(&answer, "tenure job list");
    Ok(Exit::Done)
}

/// Says where a list goes on.
pub(crate) fn say_more(answer: &Value, command: &str) {
    if let Some(cursor) = answer["next_cursor"].as_str() {
        output::words(&format!("there may be more: {command} --cursor {cursor}"));
    }
}

/// The filters of `GET /api/jobs`.
pub(crate) async fn filter(filter: &JobFilter, server: &Server) -> Result<Query> {
    let moment = |moment: Moment| match moment {
        Moment::At(at) => at.to_string(),
        Moment::Ago(span) => {
            tenure_core::time::Timestamp(show::now().0.saturating_sub_unsigned(span.0).max(0)).to_string()
        }
    };
    let retry_of = match &filter.retry_of {
        Some(job) => Some(id::resolve(server, job).await?),
        None => None,
    };
    Ok(Query::new()
        .with("state", filter.state.as_ref())
        .with("phase", filter.phase.as_ref())
        .with("outcome", filter.outcome.as_ref())
        .with("lifecycle", filter.lifecycle.as_ref())
        .with("type", filter.job_type.as_ref())
        .with("queue", filter.queue.as_ref())
        .with("user_id", filter.user.as_ref())
        .with("worker", filter.worker.as_ref())
        .with("correlation_id", filter.correlation_id.as_ref())
        .with("retry_of", retry_of)
        .with("created_after", filter.since.map(moment))
        .with("created_before", filter.until.map(moment)))
}

async fn history(args: &History, server: &Server, form: Form) -> Result<Exit> {
    let job = id::resolve(server, &args.job).await?;
    let query = Query::new().with("telemetry", args.telemetry.then_some("true"));
    EVENTS.print(form, &server.get(&job_path(&job, "/events"), &query).await?)?;
    Ok(Exit::Done)
}

async fn replay(args: &Replay, server: &Server, form: Form) -> Result<Exit> {
    let job = id::resolve(server, &args.job).await?;
    let query = Query::new().with("seq", args.seq);
    print(form, &server.get(&job_path(&job, "/replay"), &query).await?)
}

async fn cancel(args: &Cancel, server: &Server, form: Form) -> Result<Exit> {
    let job = id::resolve(server, &args.job).await?;
    let mode = if args.hard { CancelMode::Hard } else { CancelMode::Soft };
    let mut body = json!({ "mode": mode });
    if let Some(reason) = &args.reason {
        body["reason"] = json!(reason);
    }
    let answer = server.post(&job_path(&job, "/cancel"), &body).await?;
    if !answer["cancel_requested"].is_null() && answer["phase"] != "final" {
        output::words("its worker is asked to stop");
    }
    print(form, &answer)
}

async fn dead_letter(args: &Give, server: &Server, form: Form) -> Result<Exit> {
    let job = id::resolve(server, &args.job).await?;
    let body = json!({ "reason_code": args.reason_code, "detail": args.detail });
    print(form, &server.post(&job_path(&job, "/dead-letter"), &body).await?)
}

async fn signal(args: &Signal, server: &Server, form: Form) -> Result<Exit> {
    let job = id::resolve(server, &args.job).await?;
    let body = match &args.payload {
        Some(named) => json!({ "payload": payload::read(named)? }),
        None => json!({}),
    };
    print(form, &server.post(&job_path(&job, &format!("/signals/{}", escaped(&args.name))), &body).await?)
}

async fn wait(args: &Wait, server: &Server, form: Form) -> Result<Exit> {
    let job = id::resolve(server, &args.job).await?;
    let end = end_of(server, &job);
    match args.timeout {
        Some(span) => {
            let late = || {
                let sentence = format!("the job did not end in {span}");
                Trouble::new(Exit::TimedOut, sentence)
                    .help(format!("`tenure explain {}` says why", show::short(&job)))
            };
            let in_time = tokio::time::timeout(Duration::from_millis(span.0), end).await;
            in_time.map_err(|_| late())??;
        }
        None => end.await?,
    }
    let answer = server.get(&job_path(&job, ""), &Query::new()).await?;
    print(form, &answer)?;
    Ok(judged(&answer))
}

/// Waits until the job has ended, however long the server is away meanwhile.
async fn end_of(server: &Server, job: &str) -> Result<(), Error> {
    let mut following = server.client.follow(job);
    while let Some(seen) = following.next().await {
        if let Follow::Status { .. } = seen? {
            break;
        }
    }
    Ok(())
}

/// The exit code of a job's end.
pub(crate) fn judged(job: &Value) -> Exit {
    if job["outcome"] == "succeeded" { Exit::Done } else { Exit::EndedBadly }
}

/// One job in every form.
pub(crate) fn print(form: Form, job: &Value) -> Result<Exit> {
    show::one(form, job, "id", || pairs(job))?;
    Ok(Exit::Done)
}

/// What there is to say of a job.
pub(crate) fn pairs(job: &Value) -> Vec<(&'static str, String)> {
    let ago = |value: &Value| {
        if value.is_null() { String::new() } else { format!("{} ({} ago)", text(value), age(value)) }
    };
    let of = |value: &Value, rest: &Value| match (value, rest) {
        (none, Value::Null) if *none == 0 => String::new(),
        (value, Value::Null) => text(value),
        (value, rest) => format!("{} of {}", text(value), text(rest)),
    };
    let state = match &job["outcome"] {
        Value::Null => format!("{} ({})", text(&job["state"]), text(&job["phase"])),
        outcome => format!("{} ({})", text(&job["state"]), text(outcome)),
    };
    let progress = match (&job["progress"], &job["progress_message"]) {
        (none, Value::Null) if *none == 0 => String::new(),
        (percent, message) => format!("{} % {}", text(percent), text(message)).trim_end().to_owned(),
    };
    let payload = if job["payload"] == json!({}) { String::new() } else { text(&job["payload"]) };
    vec![
        ("job", text(&job["id"])),
        ("type", text(&job["type"])),
        ("lifecycle", format!("{} v{}", text(&job["lifecycle"]), text(&job["lifecycle_version"]))),
        ("state", state),
        ("attempt", of(&job["attempt"], &job["max_attempts"])),
        ("queue", text(&job["queue"])),
        ("user", text(&job["user_id"])),
        ("worker", text(&job["worker"])),
        ("progress", progress),
        ("cancel", text(&job["cancel_requested"]["mode"])),
        ("payload", payload),
        ("result", text(&job["result"])),
        ("error", text(&job["error"]["text"])),
        ("checkpoint", text(&job["checkpoint"])),
        ("key", text(&job["idempotency_key"])),
        ("retry of", text(&job["retry_of"])),
        ("created", ago(&job["created_at"])),
        ("started", ago(&job["started_at"])),
        ("completed", ago(&job["completed_at"])),
    ]
}
