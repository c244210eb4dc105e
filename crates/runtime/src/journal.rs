//! Followers read the journal from a cursor, wait for it to grow, and repeat. A commit only wakes them; they read the
//! events from the store. Catching up and following live are therefore the same code, without a gap between them.

use std::time::Duration;

use tenure_store::JournalEntry;
use tokio::sync::watch;

use crate::prelude::*;

/// Events in one page.
const PAGE_EVENTS: usize = 500;

/// Wakes followers after a commit.
#[derive(Debug, Default)]
pub(crate) struct Journal {
    growth: watch::Sender<u64>,
}

impl Journal {
    pub(crate) fn grew(&self) {
        self.growth.send_modify(|count| *count = count.wrapping_add(1));
    }

    pub(crate) fn follow(&self, store: Store, after: Position, poll_every: Duration) -> Follower {
        Follower { store, after, growth: self.growth.subscribe(), poll_every }
    }
}

/// Reads the journal from a position on.
#[derive(Debug)]
pub struct Follower {
    store: Store,
    after: Position,
    growth: watch::Receiver<u64>,
    poll_every: Duration,
}

impl Follower {
    /// Waits for the next events and returns at least one. After an error, the next call continues at the same position.
    pub async fn next(&mut self) -> Result<Vec<JournalEntry>, StoreError> {
        loop {
            // Marked as seen before reading, so that growth during the read wakes us again.
            self.growth.borrow_and_update();
            let page = self.store.short_journal_page(self.after, PAGE_EVENTS).await?.rows;
            if let Some(last) = page.last() {
                self.after = last.position;
                return Ok(page);
            }
            // Notifications from other nodes may be lost, so also poll.
            drop(tokio::time::timeout(self.poll_every, self.growth.changed()).await);
        }
    }

    /// Everything up to this position was returned.
    pub fn position(&self) -> Position {
        self.after
    }
}
