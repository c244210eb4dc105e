//! What went in and what came out: the log, the payload, the result and the checkpoint, as they are stored; and the whole
//! of each as plain text.

use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use futures_util::stream::try_unfold;
use http::{HeaderValue, header};
use maud::{Markup, html};
use serde::Serialize;
use tenure_core::event::{Event, Facts, LogLine};
use tenure_core::id::JobId;
use tenure_core::job::Job;
use tenure_core::json::Json;
use tenure_core::time::Timestamp;
use tenure_service::Service;
use tenure_service::caller::Right;
use tenure_service::extract::{Id, Reply, Segments};
use tenure_service::problem::{Problem, ProblemCode};
use tenure_service::query::{QueryParams, job_id};
use tenure_store::{Store as _, StoreError};

use crate::Dashboard;
use crate::format::{count, job_address};
use crate::pretty::{self, cut};
use crate::session::Visitor;

/// Lines of a log that a page shows: the last ones.
const LINES_SHOWN: u64 = 200;
/// Letters of a line that it shows.
const LINE_LETTERS: usize = 1000;
/// Lines that are read at once for the whole log.
const LINES_READ: usize = 500;

/// The last lines of a job's log.
pub(super) async fn last_lines(service: &Service, job: &Job) -> Result<Vec<LogLine>, Problem> {
    let after = job.output.log_count.saturating_sub(LINES_SHOWN);
    Ok(service.store().logs(job.id(), after, LINES_SHOWN as usize).await?)
}

/// How much of the log is shown.
pub(super) fn about_log(job: &Job) -> Markup {
    let lines = job.output.log_count;
    html! {
        p.hint {
            @if lines == 0 { "Nothing was written yet. Its worker, its owner or an operator can: " code { "POST /api/jobs/{id}/logs" } "." }
            @else if lines > LINES_SHOWN { "The last " (LINES_SHOWN) " of " (count(lines)) " lines. " }
            @else { (count(lines)) @if lines == 1 { " line. " } @else { " lines. " } }
            @if lines > 0 { a href=(format!("{}/log", job_address(job.id()))) { "The whole log as text" } }
        }
    }
}

pub(super) fn log(lines: &[LogLine]) -> Markup {
    html! {
        @for line in lines {
            @let is_bad = line.level == "error" || line.stream == "stderr";
            span class=[is_bad.then_some("failed")] title=(format!("{} · {} · {}", line.ts, line.stream, line.level)) {
                span.n { (line.n) } " " (cut(&line.text, LINE_LETTERS))
            }
            "\n"
        }
    }
}

/// What came out: only what is there.
pub(super) fn output(job: &Job) -> Markup {
    let of = |what: &str| format!("{}/text/{what}", job_address(job.id()));
    let output = &job.output;
    html! {
        h2 { "Result" }
        @match &output.result {
            Some(result) => (pretty::json(result.as_str(), &of("result"))),
            None if job.phase.is_final() => p.quiet { "It left none." },
            None => p.quiet { "None yet." },
        }
        @if let Some(checkpoint) = &output.checkpoint {
            h2 { "Checkpoint" }
            p.hint { "Where the next attempt may go on." }
            (pretty::json(checkpoint.as_str(), &of("checkpoint")))
        }
    }
}

pub(super) fn payload(job: &Job) -> Markup {
    html! {
        h2 { "Payload" }
        (pretty::json(job.spec.payload.as_str(), &format!("{}/text/payload", job_address(job.id()))))
    }
}

/// `GET /ui/jobs/{id}/log`: all of it, read page by page as it is sent.
pub(crate) async fn whole_log(
    State(dashboard): State<Dashboard>,
    visitor: Visitor,
    Id(id): Id,
    params: QueryParams,
) -> Reply {
    visitor.caller.may(Right::ReadJobs)?;
    params.done()?;
    let job = dashboard.job(&visitor.caller, id).await?;
    let last = job.output.log_count;
    let pages = try_unfold(0, move |after| {
        let dashboard = dashboard.clone();
        async move {
            let lines =
                if after < last { dashboard.store().logs(id, after, LINES_READ).await? } else { Vec::new() };
            let Some(next) = lines.last().map(|line| line.n) else { return Ok::<_, StoreError>(None) };
            let line = |line: &LogLine| format!("{} {} {} {}\n", line.ts, line.stream, line.level, line.text);
            Ok(Some((Bytes::from(lines.iter().map(line).collect::<String>()), next)))
        }
    });
    Ok(plain(Body::from_stream(pages)))
}

/// `GET /ui/jobs/{id}/text/{what}`: a stored text, as it is.
pub(crate) async fn whole_text(
    State(dashboard): State<Dashboard>,
    visitor: Visitor,
    Segments(path): Segments,
    params: QueryParams,
) -> Reply {
    visitor.caller.may(Right::ReadJobs)?;
    params.done()?;
    let id = job_id(&path[0]).ok_or_else(|| Problem::malformed("#", "the path does not name a job"))?;
    let job = dashboard.job(&visitor.caller, id).await?;
    let json = |json: &Option<Json>| json.as_ref().map(|json| json.as_str().to_owned());
    let text = match path[1].as_str() {
        "payload" => Some(job.spec.payload.as_str().to_owned()),
        "result" => json(&job.output.result),
        "checkpoint" => json(&job.output.checkpoint),
        "error" => job.output.error.as_ref().map(|error| Json::of(&**error).as_str().to_owned()),
        "history" => Some(history(&dashboard, id).await?),
        _ => None,
    };
    let text =
        text.ok_or_else(|| Problem::new(ProblemCode::NotFound, format!("job {id} has none of this")))?;
    Ok(plain(Body::from(text)))
}

/// Every event on a line of its own, what it carried as it is stored.
async fn history(service: &Service, id: JobId) -> Result<String, Problem> {
    #[derive(Serialize)]
    struct Line<'e> {
        seq: Option<u32>,
        ts: Timestamp,
        #[serde(rename = "type")]
        name: &'e str,
        trigger: String,
        from: Option<&'e str>,
        to: &'e str,
        attempt: u32,
        actor: &'e str,
        cause: Option<&'e str>,
        payload: &'e Facts,
    }
    let line = |event: &Event| {
        let line = Line {
            seq: event.seq,
            ts: event.ts,
            name: event.name.as_str(),
            trigger: event.trigger.to_string(),
            from: event.from.as_deref(),
            to: event.to.as_str(),
            attempt: event.attempt,
            actor: &event.actor.0,
            cause: event.cause.as_deref(),
            payload: &event.facts,
        };
        format!("{}\n", Json::of(&line).as_str())
    };
    Ok(service.store().history(id).await?.iter().map(line).collect())
}

fn plain(body: Body) -> Response {
    let mut response = body.into_response();
    let kind = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}
