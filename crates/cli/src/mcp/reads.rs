//! Tools that read.

use anyhow::Result;
use serde_json::{Value, json};
use tenure_api::CallId;

use super::answer::{AnswerRows, OBJECT_BYTES_MAX, ROW_BYTES_MAX, ToolAnswer, fitting};
use super::arguments::{Arguments, invalid};
use super::error::ToolError;
use super::shape::{EVERYTHING, Fields, Shape, Untrusted, raw, visible};
use crate::args::{self, DeadFilter, JobFilter, TimeArg};
use crate::client::{Page, Server};
use crate::{dead, id, job, lifecycle};

/// The most rows of an answer.
pub(super) const LIMIT_MAX: usize = 100;
const LIMIT_DEFAULT: usize = 20;
/// How many things that need attention an error summary has, and the most bytes of each.
const ATTENTION_MAX: usize = 10;
const ATTENTION_BYTES_MAX: usize = 400;

/// Fields of a job that the server or the lifecycle determines.
const JOB_TRUSTED: &[&str] = &[
    "id",
    "lifecycle",
    "lifecycle_version",
    "state",
    "phase",
    "outcome",
    "seq",
    "attempt",
    "max_attempts",
    "retry_count",
    "retry_of",
    "priority",
    "created_at",
    "updated_at",
    "claimed_at",
    "started_at",
    "completed_at",
    "run_at",
    "entered",
    "duration_ms",
    "run_ms",
    "progress",
    "lease",
    "trace_id",
];
const WHOLE_JOB: Shape = Shape { trusted: JOB_TRUSTED, untrusted: Untrusted::All };
/// A job in a list.
pub(super) const JOB_ROW: Shape = Shape {
    trusted: &[
        "id",
        "lifecycle",
        "state",
        "phase",
        "outcome",
        "attempt",
        "max_attempts",
        "retry_of",
        "created_at",
        "run_at",
        "updated_at",
        "completed_at",
    ],
    untrusted: Untrusted::These(&["type", "queue", "user_id", "worker", "error", "cancel_requested"]),
};
const EXPLANATION: Shape =
    Shape { trusted: &["job_id", "state", "phase", "since", "clocks", "next"], untrusted: Untrusted::All };
const EVENT: Shape = Shape {
    trusted: &["seq", "type", "trigger", "from", "to", "attempt", "ts"],
    untrusted: Untrusted::These(&["actor", "cause", "payload"]),
};
const DEAD_LETTER: Shape = Shape {
    trusted: &["job_id", "created_at", "stage", "attempts", "last_lease_expires_at", "dismissed_at"],
    untrusted: Untrusted::All,
};
const FAILURE: Shape =
    Shape { trusted: &["count", "first_at", "last_at", "job_id"], untrusted: Untrusted::All };
const ATTENTION: Shape =
    Shape { trusted: &["what", "since", "severity", "action"], untrusted: Untrusted::These(&["text"]) };
pub(super) const QUEUE: Shape =
    Shape { trusted: &["paused", "ready", "running", "waiting"], untrusted: Untrusted::All };
const WORKER: Shape = Shape { trusted: &["seen_at"], untrusted: Untrusted::All };

pub(super) async fn jobs(arguments: &Arguments, server: &Server) -> Result<ToolAnswer> {
    let query = job::filter(&job_filter(arguments)?, server).await?;
    Ok(page(CallId::ListJobs, query, &JOB_ROW, arguments, server).await?.answer("jobs", vec![]))
}

pub(super) async fn job(arguments: &Arguments, server: &Server) -> Result<ToolAnswer> {
    let fields = of_job(CallId::GetJob, arguments, server).await?;
    Ok(ToolAnswer::new(&[("job", WHOLE_JOB.rendered(&fields, OBJECT_BYTES_MAX))]))
}

pub(super) async fn explain(arguments: &Arguments, server: &Server) -> Result<ToolAnswer> {
    let fields = of_job(CallId::ExplainJob, arguments, server).await?;
    Ok(ToolAnswer::new(&[("explanation", EXPLANATION.rendered(&fields, OBJECT_BYTES_MAX))]))
}

pub(super) async fn history(arguments: &Arguments, server: &Server) -> Result<ToolAnswer> {
    let (id, offset) = (id::resolve(server, arguments.required("job")).await?, arguments.offset()?);
    let query = json!({ "telemetry": arguments.flag("telemetry").then_some(true) });
    let events: Page<Fields> = server.pages(CallId::ListJobEvents, &[&id], query).await?;
    let rows = AnswerRows::window(rendered(&events, &EVENT), offset, limit(arguments));
    Ok(rows.answer("events", vec![("job_id", json!(id).to_string())]))
}

/// The server pages a log by line numbers.
pub(super) async fn logs(arguments: &Arguments, server: &Server) -> Result<ToolAnswer> {
    let (id, after) = (id::resolve(server, arguments.required("job")).await?, arguments.offset()?);
    let query = json!({ "after": after, "limit": limit(arguments) });
    let page: Page<Fields> = server.page(CallId::ListJobLogs, &[&id], &query).await?;
    let mut lines = rendered(&page, &EVERYTHING);
    let count = fitting(&lines);
    let next_cursor = match page.rows.get(count) {
        Some(_) => page.rows[..count].last().and_then(|line| line.get("n")).map(|n| n.get().to_owned()),
        None => page.next_cursor,
    };
    lines.truncate(count);
    let lines = AnswerRows { rows: lines, next_cursor };
    let mut members = vec![("job_id", json!(id).to_string())];
    members.push(("untrusted", format!("{{\"lines\":{}}}", lines.array())));
    members.extend(lines.cursor());
    Ok(ToolAnswer::new(&members))
}

pub(super) async fn dead_letters(arguments: &Arguments, server: &Server) -> Result<ToolAnswer> {
    let filter = DeadFilter {
        jobs: job_filter(arguments)?,
        reason_code: arguments.owned("reason_code"),
        stage: arguments.owned("stage"),
    };
    let mut query = dead::filter(&filter, server).await?;
    query["dismissed"] = json!(arguments.flag("dismissed").then_some(true));
    let rows = page(CallId::ListDeadLetters, query, &DEAD_LETTER, arguments, server).await?;
    Ok(rows.answer("dead_letters", vec![]))
}

pub(super) async fn errors(arguments: &Arguments, server: &Server) -> Result<ToolAnswer> {
    let offset = arguments.offset()?;
    let stats = server.get::<Fields>(CallId::GetStats, &[]).await?.into_inner();
    let rows = |name: &str, shape: &Shape, bytes_max: usize| -> Result<Vec<String>> {
        let json = stats.get(name).map_or("[]", |raw| raw.get());
        let rows: Vec<Fields> = serde_json::from_str(json)?;
        Ok(rows.iter().map(|row| shape.rendered(row, bytes_max)).collect())
    };
    let failures = AnswerRows::window(rows("failures", &FAILURE, ROW_BYTES_MAX)?, offset, limit(arguments));
    let mut attention = rows("attention", &ATTENTION, ATTENTION_BYTES_MAX)?;
    let count = attention.len();
    attention.truncate(ATTENTION_MAX);
    let attention = AnswerRows { rows: attention, next_cursor: None }.array();
    let at = stats.get("at").map_or("null", |raw| raw.get()).to_owned();
    let others = vec![("at", at), ("attention_count", count.to_string()), ("attention", attention)];
    Ok(failures.answer("failures", others))
}

pub(super) async fn queues(arguments: &Arguments, server: &Server) -> Result<ToolAnswer> {
    whole_list(CallId::ListQueues, "queues", &QUEUE, arguments, server).await
}

pub(super) async fn workers(arguments: &Arguments, server: &Server) -> Result<ToolAnswer> {
    whole_list(CallId::ListWorkers, "workers", &WORKER, arguments, server).await
}

pub(super) async fn lifecycles(arguments: &Arguments, server: &Server) -> Result<ToolAnswer> {
    whole_list(CallId::ListLifecycles, "lifecycles", &EVERYTHING, arguments, server).await
}

pub(super) async fn lifecycle(arguments: &Arguments, server: &Server) -> Result<ToolAnswer> {
    let name = arguments.required("lifecycle");
    let fields = server.get::<Fields>(CallId::GetLifecycle, &[name]).await?.into_inner();
    Ok(ToolAnswer::new(&[("lifecycle", EVERYTHING.rendered(&fields, OBJECT_BYTES_MAX))]))
}

/// Flaws beyond the limit are counted only.
pub(super) fn check(arguments: &Arguments) -> ToolAnswer {
    let result = lifecycle::check_text(arguments.required("text"));
    let Some(flaws) = result["flaws"].as_array() else {
        return ToolAnswer::new(&[("result", visible(&result.to_string()))]);
    };
    let fields = |flaw: &Value| -> Fields {
        let members = flaw.as_object().into_iter().flatten();
        members.map(|(name, value)| (name.clone(), raw(value))).collect()
    };
    let rows = flaws.iter().map(|flaw| EVERYTHING.rendered(&fields(flaw), ROW_BYTES_MAX)).collect();
    let shown = AnswerRows::window(rows, 0, LIMIT_MAX);
    let json = format!(r#"{{"ok":false,"flaw_count":{},"flaws":{}}}"#, flaws.len(), shown.array());
    ToolAnswer::new(&[("result", json)])
}

fn limit(arguments: &Arguments) -> usize {
    arguments.count("limit").unwrap_or(LIMIT_DEFAULT)
}

fn rendered(page: &Page<Fields>, shape: &Shape) -> Vec<String> {
    page.rows.iter().map(|row| shape.rendered(row, ROW_BYTES_MAX)).collect()
}

/// A call about one job.
async fn of_job(call: CallId, arguments: &Arguments, server: &Server) -> Result<Fields> {
    let id = id::resolve(server, arguments.required("job")).await?;
    Ok(server.get::<Fields>(call, &[&id]).await?.into_inner())
}

/// A page of a list that the server pages. If its rows do not fit, a smaller page is read, because only the server knows
/// where it ends.
async fn page(
    call: CallId,
    mut query: Value,
    shape: &Shape,
    arguments: &Arguments,
    server: &Server,
) -> Result<AnswerRows> {
    query["cursor"] = json!(arguments.text("cursor"));
    let mut limit = limit(arguments);
    loop {
        query["limit"] = json!(limit);
        let page: Page<Fields> = server.page(call, &[], &query).await?;
        let rows = rendered(&page, shape);
        let count = fitting(&rows);
        if count == rows.len() {
            return Ok(AnswerRows { rows, next_cursor: page.next_cursor });
        }
        limit = count;
    }
}

/// A part of a list that the server sends whole.
async fn whole_list(
    call: CallId,
    name: &'static str,
    shape: &Shape,
    arguments: &Arguments,
    server: &Server,
) -> Result<ToolAnswer> {
    let offset = arguments.offset()?;
    let page: Page<Fields> = server.page(call, &[], &Value::Null).await?;
    Ok(AnswerRows::window(rendered(&page, shape), offset, limit(arguments)).answer(name, vec![]))
}

fn job_filter(arguments: &Arguments) -> Result<JobFilter, ToolError> {
    let time = |name: &str| -> Result<Option<TimeArg>, ToolError> {
        let time = arguments.text(name).map(args::time).transpose();
        time.map_err(|flaw| invalid(&format!("`{name}`: {flaw}")))
    };
    Ok(JobFilter {
        state: arguments.owned("state"),
        phase: arguments.owned("phase"),
        outcome: arguments.owned("outcome"),
        lifecycle: arguments.owned("lifecycle"),
        job_type: arguments.owned("type"),
        queue: arguments.owned("queue"),
        user: arguments.owned("user"),
        worker: arguments.owned("worker"),
        correlation_id: arguments.owned("correlation_id"),
        retry_of: arguments.owned("retry_of"),
        since: time("since")?,
        until: time("until")?,
    })
}
