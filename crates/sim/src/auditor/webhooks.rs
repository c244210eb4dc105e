//! Checks webhooks: each matching event is delivered at least once, in the journal's order, and no position is past an event
//! that was not.

use std::collections::BTreeMap;

use tenure_core::automation::{Automation, AutomationKind};
use tenure_core::id::TypeName;
use tenure_core::webhook::{EventFilter, Webhook};

use crate::auditor::Violation;
use crate::prelude::*;
use crate::ready;

/// In the end, events that are older than this have been delivered.
const DELIVERY: Millis = Millis::seconds(10);

#[derive(Debug, Default)]
pub(super) struct WebhookModel {
    /// The journal.
    events: Vec<SeenEvent>,
    /// The last event that each receiver got.
    received: BTreeMap<Name, Position>,
    /// The position of each row as it was last read.
    checked: BTreeMap<Name, Position>,
    deliveries: u64,
}

#[derive(Debug)]
struct SeenEvent {
    position: Position,
    job: JobId,
    job_type: TypeName,
    name: Name,
    ts: Timestamp,
}

impl SeenEvent {
    fn matches(&self, filter: &EventFilter) -> bool {
        filter.job_type.as_ref().is_none_or(|wanted| *wanted == self.job_type)
            && filter.event.as_ref().is_none_or(|wanted| *wanted == self.name)
    }
}

impl WebhookModel {
    pub(super) fn deliveries(&self) -> u64 {
        self.deliveries
    }

    pub(super) fn note(&mut self, entry: &JournalEntry) {
        let JournalEntry { position, event, job_type, .. } = entry;
        let (job_type, name) = (job_type.clone(), event.name.clone());
        self.events.push(SeenEvent { position: *position, job: event.job_id, job_type, name, ts: event.ts });
    }

    /// A receiver got an event: the next one, or one that it got before.
    pub(super) fn receive(
        &mut self,
        webhook: &Webhook,
        position: Position,
        store: &Store,
    ) -> Option<Violation> {
        self.deliveries += 1;
        let last = self.received.get(&webhook.id).copied().unwrap_or_default();
        if position <= last {
            return None;
        }
        self.received.insert(webhook.id.clone(), position);
        let skipped = self.between(webhook, last, Position(position.0 - 1), store)?;
        let what = format!("webhook {} sent event {} after {}", webhook.id, position.0, last.0);
        let expected = Some(format!("event {} first", skipped.position.0));
        Some(Violation { expected, ..Violation::new(5, Some(skipped.job), what) })
    }

    /// No stored position is past an event that the receiver did not get.
    pub(super) fn read(&mut self, store: &Store) -> Option<Violation> {
        webhooks(store).into_iter().find_map(|webhook| {
            let checked = self.checked.insert(webhook.id.clone(), webhook.position).unwrap_or_default();
            let last = self.received.get(&webhook.id).copied().unwrap_or_default().max(checked);
            let skipped = self.between(&webhook, last, webhook.position, store)?;
            let what = format!("webhook {} is at {}", webhook.id, webhook.position.0);
            let expected = Some(format!("event {} was delivered", skipped.position.0));
            Some(Violation { expected, ..Violation::new(8, Some(skipped.job), what) })
        })
    }

    /// Law 10: in the end every event was delivered.
    pub(super) fn check_end(&self, store: &Store, now: Timestamp) -> Option<Violation> {
        webhooks(store).into_iter().find_map(|webhook| {
            let last = self.received.get(&webhook.id).copied().unwrap_or_default();
            let missing = self.between(&webhook, last, Position(u64::MAX), store)?;
            let what = format!("webhook {} has not sent event {}", webhook.id, missing.position.0);
            (missing.ts + DELIVERY < now).then(|| Violation::new(10, Some(missing.job), what))
        })
    }

    /// The first matching event after one position, up to another, whose job still exists.
    fn between(
        &self,
        webhook: &Webhook,
        after: Position,
        upto: Position,
        store: &Store,
    ) -> Option<&SeenEvent> {
        let begin = self.events.partition_point(|event| event.position <= after);
        let later = self.events[begin..].iter().take_while(|event| event.position <= upto);
        let mut matching = later.filter(|event| event.matches(&webhook.filter));
        matching.find(|event| ready(store.job(event.job)).is_ok_and(|row| row.is_some()))
    }
}

fn webhooks(store: &Store) -> Vec<Webhook> {
    let rows = ready(store.automations(AutomationKind::Webhook)).unwrap_or_default();
    let webhooks = rows.into_iter().filter_map(|row| match row {
        Automation::Webhook(webhook) => Some(webhook),
        Automation::Schedule(_) | Automation::Erasure(_) => None,
    });
    webhooks.collect()
}
