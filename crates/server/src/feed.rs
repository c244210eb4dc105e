//! All events, live: one follower of the journal for each node, whoever and however many listen. A listener catches up
//! from the store by its own cursor, and then is fed from here; one that falls behind catches up again.

use std::sync::{Arc, Mutex};

use tenure_core::id::Position;
use tenure_runtime::Runtime;
use tenure_store::{AnyStore, Journaled};
use tokio::sync::broadcast;

/// Pages that a slow listener may be behind before it must catch up from the store.
const PAGES_BEHIND: usize = 64;

/// Events in commit order, and the position after which they begin.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) after: Position,
    pub(crate) events: Vec<Journaled>,
}

pub(crate) struct Feed {
    runtime: Runtime<AnyStore>,
    live: Mutex<Option<broadcast::WeakSender<Arc<Page>>>>,
}

impl Feed {
    pub(crate) fn new(runtime: Runtime<AnyStore>) -> Self {
        Self { runtime, live: Mutex::new(None) }
    }

    /// Listens to what is committed from about now on; the first listener starts the follower, and it ends with the last.
    pub(crate) fn listen(&self, after: Position) -> broadcast::Receiver<Arc<Page>> {
        let mut live = self.live.lock().expect("nobody panics while starting the feed");
        if let Some(sender) = live.as_ref().and_then(broadcast::WeakSender::upgrade) {
            return sender.subscribe();
        }
        let (sender, receiver) = broadcast::channel(PAGES_BEHIND);
        *live = Some(sender.downgrade());
        tokio::spawn(follow(self.runtime.clone(), after, sender));
        receiver
    }
}

async fn follow(runtime: Runtime<AnyStore>, after: Position, sender: broadcast::Sender<Arc<Page>>) {
    let mut follower = runtime.follow(after);
    loop {
        let after = follower.position();
        tokio::select! {
            page = follower.next() => match page {
                Ok(events) => {
                    if sender.send(Arc::new(Page { after, events })).is_err() {
                        return;
                    }
                }
                Err(error) => {
                    tracing::warn!(%error, "the journal cannot be read");
                    // Whoever listens reads the store by itself and meets the same.
                    return;
                }
            },
            () = sender.closed() => return,
        }
    }
}
