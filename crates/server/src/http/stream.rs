//! The event stream of one job: its log lines, from the start or after the last event received, and its final status.

use std::collections::VecDeque;
use std::time::Instant;

use tenure_runtime::Watch;
use tenure_service::query::row_number;
use tenure_service::sse;

use crate::http::prelude::*;

/// Log lines per read.
const PAGE_LINES: usize = 500;
/// The id of the final status, the last event.
const FINAL: &str = "final";

pub(crate) async fn stream(
    call: CallContext,
    Id(id): Id,
    headers: HeaderMap,
    mut params: QueryParams,
) -> Reply {
    let after = params.text("after");
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
    let state = Streaming { call, id, after, watch, ready, has_ended: false, sent_at };
    Ok(sse::stream(state, Streaming::next))
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
    watch: Watch,
    ready: VecDeque<String>,
    has_ended: bool,
    sent_at: Instant,
}

impl Streaming {
    /// The next piece of text; `None` after the end.
    async fn next(mut self) -> Option<(String, Self)> {
        loop {
            // Checked before each delivery: the key may have been revoked since the lines were read.
            if !self.call.may_continue().await {
                return None;
            }
            if let Some(text) = self.ready.pop_front() {
                self.sent_at = Instant::now();
                return Some((text, self));
            }
            if self.has_ended || self.read().await.is_err() {
                return None;
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
