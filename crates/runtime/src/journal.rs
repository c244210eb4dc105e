//! Followers: read the journal from a cursor, wait for it to grow, repeat. A follower is only ever woken, never fed, so
//! catching up and following live are the same code, and nothing can be missed between the two.

use std::time::Duration;

use tenure_core::id::Position;
use tenure_store::{JournalEntry, Store, StoreError};
use tokio::sync::watch;

/// Events in one page.
const PAGE_EVENTS: usize = 500;

/// Tells followers that there may be more to read.
#[derive(Debug)]
pub(crate) struct Journal {
    growth: watch::Sender<u64>,
}

impl Journal {
    pub(crate) fn new() -> Self {
        Self { growth: watch::Sender::new(0) }
    }

    pub(crate) fn grew(&self) {
        self.growth.send_modify(|count| *count = count.wrapping_add(1));
    }

    pub(crate) fn follow<S: Store>(&self, store: S, after: Position, poll_every: Duration) -> Follower<S> {
        Follower { store, after, growth: self.growth.subscribe(), poll_every }
    }
}

/// Reads the journal from a position, for ever.
#[derive(Debug)]
pub struct Follower<S> {
    store: S,
    after: Position,
    growth: watch::Receiver<u64>,
    poll_every: Duration,
}

impl<S: Store> Follower<S> {
    /// The next events, at least one; waits for them. After an error the same call reads on where it stood.
    pub async fn next(&mut self) -> Result<Vec<JournalEntry>, StoreError> {
        loop {
            // Marked as seen before reading: what grows while we read wakes us again.
            self.growth.borrow_and_update();
            let page = self.store.events(self.after, PAGE_EVENTS).await?;
            if let Some(last) = page.last() {
                self.after = last.position;
                return Ok(page);
            }
            // Other nodes may write without our being told: look again after a while in any case.
            drop(tokio::time::timeout(self.poll_every, self.growth.changed()).await);
        }
    }

    /// Where it stands: everything up to here was returned.
    pub fn position(&self) -> Position {
        self.after
    }
}
