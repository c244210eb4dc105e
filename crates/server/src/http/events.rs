//! All events in commit order, as pages or as a live stream.

use std::collections::VecDeque;
use std::time::Instant;

use tenure_api::EventOf;
use tenure_core::limits::PAGE_BYTES_MAX;
use tenure_service::events::{EventFilter, may_see};
use tenure_service::query::row_number;
use tenure_service::sse;
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

use crate::event_broadcast::EventPage;
use crate::http::prelude::*;

/// Events per read.
const PAGE_EVENTS: usize = 500;
/// Reads per request in search of matching events.
const PAGES_MAX: usize = 20;

fn shown(entry: &JournalEntry) -> EventOf<Borrowed<'_>> {
    wire::event(&entry.event, entry.correlation_id.as_str(), entry.trace_id.as_str())
}

pub(crate) async fn events(call: CallContext, headers: HeaderMap, mut params: QueryParams) -> Reply {
    let filter = EventFilter::read(&mut params, &call.caller)?;
    let limit = params.limit()?;
    let cursor = params.text("after");
    params.done()?;
    let live = sse::is_wanted(&headers);
    let mut after = cursor_of(&call, cursor.as_deref()).await?;
    if live && let Some(last) = sse::last_id(&headers)? {
        after = cursor_of(&call, Some(last)).await?;
    }
    if live {
        return Ok(sse::stream(LiveEvents::new(call, filter, after), LiveEvents::next));
    }
    let (mut rows, mut bytes, mut is_full) = (Vec::new(), 0, false);
    for _ in 0..PAGES_MAX {
        let entries = call.store().journal_page(after, PAGE_EVENTS).await?;
        let is_last = !entries.has_more;
        for entry in entries.rows {
            if rows.len() == limit || is_full {
                break;
            }
            if filter.admits(&entry) && may_see(&call, &call.caller, &entry).await? {
                bytes += entry.event.bytes();
                is_full = !rows.is_empty() && bytes > PAGE_BYTES_MAX;
                if is_full {
                    break;
                }
                rows.push(entry.clone());
            }
            after = entry.position;
        }
        if is_last || is_full || rows.len() == limit {
            break;
        }
    }
    page(CallId::ListEvents, rows.iter().map(shown).collect(), Some(after.0.to_string()))
}

/// A cursor of an earlier answer; `latest` is the current end; without a cursor, the beginning.
async fn cursor_of(app: &App, cursor: Option<&str>) -> Result<Position> {
    match cursor {
        None => Ok(Position(0)),
        Some("latest") => Ok(app.store().journal_end().await?),
        Some(text) => {
            let position = row_number(text).map(Position);
            position.ok_or_else(|| Problem::malformed("?after", "must be a cursor of an earlier answer"))
        }
    }
}

/// A live stream: events from the store up to the position of the node's follower, then from the follower.
struct LiveEvents {
    call: CallContext,
    filter: EventFilter,
    /// Everything up to this position was sent or did not match.
    after: Position,
    live: Option<broadcast::Receiver<Arc<EventPage>>>,
    ready: VecDeque<String>,
    sent_at: Instant,
}

impl LiveEvents {
    fn new(call: CallContext, filter: EventFilter, after: Position) -> Self {
        Self { call, filter, after, live: None, ready: VecDeque::new(), sent_at: Instant::now() }
    }

    async fn next(mut self) -> Option<(String, Self)> {
        loop {
            if let Some(text) = self.call.next_ready(&mut self.ready).await.ok()? {
                self.sent_at = Instant::now();
                return Some((text, self));
            }
            match self.live.take() {
                Some(live) => self.receive(live).await?,
                None => self.catch_up().await?,
            }
            if self.ready.is_empty() && self.sent_at.elapsed() >= sse::KEEP_ALIVE {
                self.ready.push_back(sse::comment());
            }
        }
    }

    /// Reads a page from the store. At the end of the journal it subscribes first and reads once more, so that no event
    /// is missed in between.
    async fn catch_up(&mut self) -> Option<()> {
        let entries = self.call.store().short_journal_page(self.after, PAGE_EVENTS).await.ok()?.rows;
        if entries.is_empty() {
            let live = self.call.event_broadcast.subscribe(self.after);
            let entries = self.call.store().short_journal_page(self.after, PAGE_EVENTS).await.ok()?.rows;
            self.take(&entries).await?;
            self.live = Some(live);
        } else {
            self.take(&entries).await?;
        }
        Some(())
    }

    async fn take(&mut self, entries: &[JournalEntry]) -> Option<()> {
        for entry in entries.iter().filter(|entry| entry.position > self.after) {
            if self.filter.admits(entry) && may_see(&self.call, &self.call.caller, entry).await.ok()? {
                let kind = entry.event.name.as_str();
                self.ready.push_back(sse::event(kind, &entry.position.0.to_string(), &shown(entry)));
            }
        }
        self.after = entries.last().map_or(self.after, |last| last.position.max(self.after));
        Some(())
    }

    /// Waits for the next page from the node's follower.
    async fn receive(&mut self, mut live: broadcast::Receiver<Arc<EventPage>>) -> Option<()> {
        let page = tokio::select! {
            page = tokio::time::timeout(sse::KEEP_ALIVE, live.recv()) => page,
            () = self.call.must_end() => return None,
        };
        match page {
            // A page that begins behind our position leaves a gap: continue from the store.
            Ok(Ok(page)) if page.after <= self.after => {
                self.take(&page.events).await?;
                self.live = Some(live);
            }
            Ok(Ok(_) | Err(RecvError::Lagged(_) | RecvError::Closed)) => {}
            Err(_) => self.live = Some(live),
        }
        Some(())
    }
}
