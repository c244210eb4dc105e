//! The event stream of one job: its log lines, from the start or after the last event received, and its final status.

use std::collections::VecDeque;
use std::time::Instant;

use axum::Extension;
use axum::extract::FromRequestParts as _;
use http::request::Parts;
use tenure_api::StreamToken;
use tenure_runtime::Watch;
use tenure_service::extract::{Authenticated, OnConnection, Peer};
use tenure_service::query::{decode, row_number};
use tenure_service::sse;
use tenure_service::stream_tokens::{self, OpenToken};

use crate::http::prelude::*;

/// Log lines per read.
const PAGE_LINES: usize = 500;
/// The id of the final status, the last event.
const FINAL: &str = "final";

pub(crate) async fn stream(
    call: CallContext,
    Id(id): Id,
    token: Option<Extension<OpenToken>>,
    headers: HeaderMap,
    mut params: QueryParams,
) -> Reply {
    let after = params.text("after");
    // It has identified the caller.
    drop(params.text("token"));
    params.done()?;
    let job = call.job(id).await?;
    let after = after.as_deref().map(last_event).transpose()?;
    let last = sse::last_id(&headers)?.map(last_event).transpose()?;
    let after = match last.or(after) {
        Some(LastEvent::End) if job.phase.is_final() => return Ok(StatusCode::NO_CONTENT.into_response()),
        Some(LastEvent::Line(after)) => after,
        Some(LastEvent::End) | None => 0,
    };
    // Watch before the first read, so that no change between the two is missed.
    let watch = call.runtime().watch(id);
    let (ready, sent_at) = (VecDeque::new(), Instant::now());
    let token = token.map(|Extension(token)| token);
    let state = Streaming { call, id, after, token, watch, ready, has_ended: false, sent_at };
    Ok(sse::stream(state, Streaming::next))
}

/// A repeat with the same `Idempotency-Key` gets another token, because the first one is not stored.
pub(crate) async fn create_token(call: CallContext, Id(id): Id, _: EmptyBody) -> Reply {
    call.job(id).await?;
    let issued = stream_tokens::issue(&call, &call.caller, id).await?;
    let expires_at = issued.expires_at.to_string();
    Ok(answer(StatusCode::CREATED, &StreamToken { token: issued.text, expires_at }))
}

/// The caller of a request of a canonical route: that of the token in the query of a stream, or that of its header.
pub(crate) async fn identify(id: CallId, app: &App, parts: &mut Parts) -> Result<Caller> {
    if id != CallId::StreamJob {
        return Caller::from_request_parts(parts, app).await;
    }
    let job = parts.uri.path().split('/').nth(3).and_then(|text| job_id(&decode(text).ok()?));
    identify_at(Some(id), job, app, parts).await
}

/// As [`identify`], for a call and a job that are known.
pub(crate) async fn identify_at(
    call: Option<CallId>,
    job: Option<JobId>,
    app: &App,
    parts: &mut Parts,
) -> Result<Caller> {
    let is_open = call == Some(CallId::StreamJob) && parts.extensions.get::<Authenticated>().is_none();
    let query = if is_open { QueryParams::from_request_parts(parts, app).await.ok() } else { None };
    let Some(token) = query.and_then(|mut query| query.text("token")) else {
        return Caller::from_request_parts(parts, app).await;
    };
    let peer = parts.extensions.get::<Peer>().map(|peer| peer.0);
    let (caller, token) = stream_tokens::caller(app, job, &token, peer).await?;
    OnConnection::authenticated(&parts.extensions);
    parts.extensions.insert(token);
    Ok(caller)
}

/// The last event that a client received.
#[derive(Clone, Copy)]
enum LastEvent {
    Line(u64),
    End,
}

fn last_event(id: &str) -> Result<LastEvent> {
    if id == FINAL {
        return Ok(LastEvent::End);
    }
    let line = row_number(id).map(LastEvent::Line);
    line.ok_or_else(|| Problem::malformed("?after", "must be the id of an event of this stream"))
}

struct Streaming {
    call: CallContext,
    id: JobId,
    /// The number of the last line sent.
    after: u64,
    /// The token that it was opened with.
    token: Option<OpenToken>,
    watch: Watch,
    ready: VecDeque<String>,
    has_ended: bool,
    sent_at: Instant,
}

impl Streaming {
    /// The next piece of text; `None` after the end.
    async fn next(mut self) -> Option<(String, Self)> {
        loop {
            if let Some(text) = self.call.next_ready(&mut self.ready).await.ok()? {
                self.sent_at = Instant::now();
                return Some((text, self));
            }
            if self.has_ended || self.read().await.is_err() {
                return None;
            }
            if let Some(token) = &mut self.token {
                token.extend(&self.call.app, &self.call.caller).await;
            }
            if !self.ready.is_empty() {
                continue;
            }
            tokio::select! {
                () = self.watch.changed() => {}
                // After a drain, the client reconnects to another node with its last id.
                () = self.call.must_end() => return None,
            }
            if self.sent_at.elapsed() >= sse::KEEP_ALIVE {
                self.ready.push_back(sse::comment());
            }
        }
    }

    /// Reads new lines and, if the job has ended, its final status.
    async fn read(&mut self) -> Result<()> {
        // The job before its log: a job that is final when it is read gets no more lines.
        let job = self.call.store().job(self.id).await?;
        if let Some(job) = &job
            && !self.call.may_see(job).await?
        {
            // Another worker holds the job now.
            self.has_ended = true;
            return Ok(());
        }
        let page = self.call.store().logs_page(self.id, self.after, PAGE_LINES).await?;
        for line in &page.rows {
            self.ready.push_back(sse::event("log", &line.n.to_string(), &wire::log_line(line)));
            self.after = line.n;
        }
        let Some(job) = job else {
            self.has_ended = true;
            return Ok(());
        };
        if job.phase.is_final() && !page.has_more {
            self.ready.push_back(sse::event("status", FINAL, &wire::final_status(&job)));
            self.has_ended = true;
        }
        Ok(())
    }
}
