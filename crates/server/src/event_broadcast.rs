//! Broadcasts new events to all streams of this node. One follower reads the journal, however many streams there are. A
//! stream first reads the store from its cursor, then subscribes here; one that falls behind reads the store again.

use std::sync::Mutex;

use tenure_runtime::Runtime;
use tokio::sync::broadcast;

use crate::prelude::*;

/// Pages kept for slow subscribers; one that is further behind must read the store.
const PAGES_MAX: usize = 64;

/// Events in commit order, and the position they follow.
#[derive(Debug)]
pub(crate) struct EventPage {
    pub(crate) after: Position,
    pub(crate) events: Vec<JournalEntry>,
}

pub(crate) struct EventBroadcast {
    runtime: Runtime,
    sender: Mutex<Option<broadcast::WeakSender<Arc<EventPage>>>>,
}

impl EventBroadcast {
    pub(crate) fn new(runtime: Runtime) -> Self {
        Self { runtime, sender: Mutex::new(None) }
    }

    /// Subscribes to events committed from about now on. The first subscriber starts the follower at `after`; it ends
    /// with the last.
    pub(crate) fn subscribe(&self, after: Position) -> broadcast::Receiver<Arc<EventPage>> {
        let mut current = self.sender.lock().expect("the lock is never poisoned");
        if let Some(sender) = current.as_ref().and_then(broadcast::WeakSender::upgrade) {
            return sender.subscribe();
        }
        let (sender, receiver) = broadcast::channel(PAGES_MAX);
        *current = Some(sender.downgrade());
        tokio::spawn(follow(self.runtime.clone(), after, sender));
        receiver
    }
}

async fn follow(runtime: Runtime, after: Position, sender: broadcast::Sender<Arc<EventPage>>) {
    let mut follower = runtime.follow(after);
    loop {
        let after = follower.position();
        tokio::select! {
            page = follower.next() => match page {
                Ok(events) => {
                    if sender.send(Arc::new(EventPage { after, events })).is_err() {
                        return;
                    }
                }
                Err(error) => {
                    // Subscribers then read the store and report its error.
                    tracing::warn!(%error, "journal read failed");
                    return;
                }
            },
            () = sender.closed() => return,
        }
    }
}
