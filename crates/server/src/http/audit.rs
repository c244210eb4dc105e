//! The audit log, as pages or as a live stream.

use std::collections::VecDeque;
use std::time::Instant;

use tenure_service::query::row_number;
use tenure_service::sse;
use tokio::time::sleep;

use crate::http::prelude::*;

/// Lines per read of a stream.
const PAGE_LINES: usize = 500;
/// How often a stream looks for new lines. Actions of operators are rare, and any node may have committed them.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

pub(crate) async fn list(call: CallContext, headers: HeaderMap, mut params: QueryParams) -> Reply {
    let (mut after, limit) = (params.rows_after("cursor")?, params.limit()?);
    params.done()?;
    let bad = || Problem::malformed("#", "Last-Event-ID is not the id of a line");
    let last = sse::last_id(&headers)?.map(|last| row_number(last).ok_or_else(bad)).transpose()?;
    if sse::is_wanted(&headers) {
        after = last.unwrap_or(after);
        let (ready, sent_at) = (VecDeque::new(), Instant::now());
        return Ok(sse::stream(LiveAudit { call, after, ready, sent_at }, LiveAudit::next));
    }
    let lines = call.store().audit(after, limit).await?;
    let next = next_cursor(&lines, limit, |(row, _)| row.to_string());
    let actions = lines.iter().filter(|(_, line)| !line.is_baseline());
    page(CallId::ListAudit, actions.map(|(row, line)| wire::audit_line(*row, line)).collect(), next)
}

/// A live stream. Rows are numbered in commit order, so a read after the last row misses none.
struct LiveAudit {
    call: CallContext,
    /// The last row that was sent.
    after: u64,
    ready: VecDeque<String>,
    sent_at: Instant,
}

impl LiveAudit {
    async fn next(mut self) -> Option<(String, Self)> {
        loop {
            if let Some(text) = self.call.next_ready(&mut self.ready).await.ok()? {
                self.sent_at = Instant::now();
                return Some((text, self));
            }
            let lines = self.call.store().audit(self.after, PAGE_LINES).await.ok()?;
            self.after = lines.last().map_or(self.after, |(row, _)| *row);
            let event = |(row, line)| sse::event("audit", &format!("{row}"), &wire::audit_line(row, line));
            let actions = lines.iter().filter(|(_, line)| !line.is_baseline());
            self.ready.extend(actions.map(|(row, line)| event((*row, line))));
            if !self.ready.is_empty() {
                continue;
            }
            tokio::select! {
                () = sleep(POLL_INTERVAL) => {}
                () = self.call.drained() => return None,
            }
            if self.sent_at.elapsed() >= sse::KEEP_ALIVE {
                self.ready.push_back(sse::comment());
            }
        }
    }
}
