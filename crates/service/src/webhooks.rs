//! Webhooks: which events they send, and which of these come before and after their position.

use tenure_core::id::Position;
use tenure_core::webhook::{EventFilter, Webhook};
use tenure_store::JournalEntry;

use crate::prelude::*;

/// Journal entries that are read in one step.
const STEP: u64 = 500;
/// Journal entries that are read before the position, and after it.
const READ_MAX: u64 = 2_000;

pub fn matches(filter: &EventFilter, event: &JournalEntry) -> bool {
    filter.job_type.as_ref().is_none_or(|wanted| *wanted == event.job_type)
        && filter.lifecycle.as_ref().is_none_or(|wanted| *wanted == event.lifecycle)
        && filter.event.as_ref().is_none_or(|wanted| *wanted == event.event.name)
        && (filter.user_id.is_none() || filter.user_id == event.user_id)
}

/// The position before the first event that is not older than a time.
pub async fn position_at(service: &Service, at: Timestamp) -> Result<Position> {
    let (mut older, mut end) = (0, service.store().journal_end().await?.0);
    while older < end {
        let middle = older + (end - older) / 2;
        match service.store().events(Position(middle), 1).await?.first() {
            Some(entry) if entry.event.ts < at => older = entry.position.0,
            _ => end = middle,
        }
    }
    Ok(Position(older))
}

/// The events around the position of a webhook.
#[derive(Default)]
pub struct Deliveries {
    /// Events that the receiver has accepted, the newest first. Of their facts only the phase is there, as of the next ones.
    pub sent: Vec<JournalEntry>,
    /// Events that are sent next, the oldest first.
    pub next: Vec<JournalEntry>,
    /// Entries of the journal that the webhook has not passed; some may not match its filter.
    pub behind: u64,
    /// Whether there may be earlier ones.
    pub is_cut: bool,
}

impl Deliveries {
    /// At most `limit` events before the position and after it.
    pub async fn of(service: &Service, webhook: &Webhook, limit: usize) -> Result<Self> {
        let position = webhook.position.0;
        let end = service.store().journal_end().await?.0;
        let mut found = Self { behind: end.saturating_sub(position), ..Self::default() };
        let (mut upto, mut read) = (position, 0);
        while upto > 0 && found.sent.len() < limit && read < READ_MAX {
            let after = upto.saturating_sub(STEP);
            let mut entries = service.store().journal_outline(Position(after), Position(upto)).await?;
            // Nothing was sent before it was created.
            let is_first = entries.first().is_some_and(|entry| entry.event.ts < webhook.created_at);
            entries.retain(|entry| entry.event.ts >= webhook.created_at && matches(&webhook.filter, entry));
            found.sent.extend(entries.into_iter().rev());
            (upto, read) = (if is_first { 0 } else { after }, read + STEP);
        }
        found.is_cut = upto > 0 || found.sent.len() > limit;
        found.sent.truncate(limit);
        let (mut after, mut read) = (position, 0);
        while after < end && found.next.len() < limit && read < READ_MAX {
            let upto = end.min(after + STEP);
            let entries = service.store().journal_outline(Position(after), Position(upto)).await?;
            (after, read) = (upto, read + STEP);
            found.next.extend(entries.into_iter().filter(|entry| matches(&webhook.filter, entry)));
        }
        found.next.truncate(limit);
        Ok(found)
    }
}
