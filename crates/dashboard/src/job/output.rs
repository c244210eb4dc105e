//! Payload, result and checkpoint of a job as they are stored, and each in full as plain text.

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use futures_util::stream::try_unfold;
use http::{HeaderValue, header};
use serde::Serialize;
use tenure_core::event::Facts;
use tenure_core::id::{Actor, Name, StateName};
use tenure_core::json::Json;
use tenure_core::lifecycle::Trigger;
use tenure_service::extract::Segments;
use tenure_service::history::PAGE_EVENTS;
use tenure_store::StoreError;

use crate::prelude::*;
use crate::pretty;

pub(super) fn output(job: &Job) -> Markup {
    let of = |what: &str| format!("{}/text/{what}", job_address(job.id()));
    let output = &job.output;
    html! {
        h2 { "Result" }
        @match &output.result {
            Some(result) => (pretty::json(result.as_str(), &of("result"))),
            None if job.phase.is_final() => p.quiet { "No result." },
            None => p.quiet { "None yet." },
        }
        @if let Some(checkpoint) = &output.checkpoint {
            h2 { "Checkpoint" }
            p.hint { "The next attempt can continue from here." }
            (pretty::json(checkpoint.as_str(), &of("checkpoint")))
        }
    }
}

pub(super) fn payload(job: &Job) -> Markup {
    html! {
        h2 { "Payload" }
        (pretty::json(job.payload().as_str(), &format!("{}/text/payload", job_address(job.id()))))
    }
}

/// `GET /ui/jobs/{id}/text/{what}`: a stored text, unformatted.
pub(crate) async fn full_text(visitor: Visitor, Segments(path): Segments, params: QueryParams) -> Reply {
    visitor.caller.may(Right::ReadJobs)?;
    params.done()?;
    let id = job_id(&path[0]).ok_or_else(|| Problem::malformed("#", "the path does not name a job"))?;
    let job = visitor.dashboard.job(&visitor.caller, id).await?;
    let json = |json: &Option<Json>| json.as_ref().map(|json| json.as_str().to_owned());
    let text = match path[1].as_str() {
        "payload" => Some(job.payload().as_str().to_owned()),
        "result" => json(&job.output.result),
        "checkpoint" => json(&job.output.checkpoint),
        "error" => job.output.error.as_ref().map(|error| Json::of(&**error).as_str().to_owned()),
        "history" => return Ok(history(&visitor.dashboard, id)),
        _ => None,
    };
    let text = text.ok_or_else(|| {
        Problem::new(ProblemCode::NotFound, format!("job {id} has no {}", path[1].escape_debug()))
    })?;
    Ok(plain(Body::from(text)))
}

/// One event per line, with its facts as stored, read in pages while it is sent.
fn history(service: &Service, id: JobId) -> Response {
    let service = Service::clone(service);
    // The number of the last event, then the number of notes.
    let pages = try_unfold((0, None), move |(seq, notes)| {
        let service = service.clone();
        async move {
            let (events, next) = if let Some(skipped) = notes {
                let events = service.store().notes_page(id, skipped, PAGE_EVENTS).await?.rows;
                let next = skipped + events.len() as u64;
                if events.is_empty() {
                    return Ok::<_, StoreError>(None);
                }
                (events, (seq, Some(next)))
            } else {
                let page = service.store().history_page(id, seq, PAGE_EVENTS).await?;
                let last = page.rows.last().and_then(|event| event.seq).map_or(seq, u64::from);
                (page.rows, (last, (!page.has_more).then_some(0)))
            };
            Ok(Some((Bytes::from(events.iter().map(line_of_event).collect::<String>()), next)))
        }
    });
    plain(Body::from_stream(pages))
}

fn line_of_event(event: &Event) -> String {
    #[derive(Serialize)]
    struct HistoryLine<'e> {
        seq: &'e Option<u32>,
        ts: &'e Timestamp,
        #[serde(rename = "type")]
        name: &'e Name,
        trigger: &'e Trigger,
        from: &'e Option<StateName>,
        to: &'e StateName,
        attempt: &'e u32,
        actor: &'e Actor,
        cause: &'e Option<Name>,
        payload: &'e Facts,
    }
    let Event { seq, ts, name, trigger, from, to, attempt, actor, cause, facts: payload, .. } = event;
    let line = HistoryLine { seq, ts, name, trigger, from, to, attempt, actor, cause, payload };
    format!("{}\n", Json::of(&line).as_str())
}

pub(super) fn plain(body: Body) -> Response {
    let mut response = body.into_response();
    let kind = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}
