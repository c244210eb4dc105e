//! Resolves the outcome of a commit whose answer was lost.
//!
//! Each batch inserts a row with a unique id. To resolve a lost answer, the node inserts that row itself: if the batch is
//! still in progress, the insert waits for it; if it has committed, the row exists; if it has not, it never will, because
//! the row now exists. The result is certain whatever happened to the server or the connection.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use uuid::Uuid;

use super::Node;
use super::error::StatementFault;
use super::rows::{get, one};
use super::statements::{COMMIT_DONE, FENCE_COMMIT};

/// Delay between two queries of the outcome.
const DOUBT_PAUSE: Duration = Duration::from_millis(100);
/// How often an outcome that is not known yet is logged.
const LOG_EVERY: Duration = Duration::from_secs(10);
/// Old rows that one batch deletes.
const ANSWERED_MAX: usize = 16;

/// Rows of this node's batches whose answers have arrived.
#[derive(Debug, Default)]
pub(super) struct Commits(Mutex<Vec<Uuid>>);

/// The id that a batch writes.
#[derive(Debug)]
pub(super) struct Mark {
    pub(super) id: Uuid,
    /// Rows to delete.
    pub(super) answered: Vec<Uuid>,
}

impl Commits {
    pub(super) fn mark(&self) -> Mark {
        let mut answered = self.answered();
        let rest = answered.len().saturating_sub(ANSWERED_MAX);
        Mark { id: Uuid::now_v7(), answered: answered.split_off(rest) }
    }

    /// The outcome of the batch is known.
    pub(super) fn settle(&self, mark: Mark, committed: bool) {
        let mut answered = self.answered();
        if committed {
            answered.push(mark.id);
        } else {
            answered.extend(mark.answered);
        }
    }

    fn answered(&self) -> MutexGuard<'_, Vec<Uuid>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Determines whether a commit happened, as soon as the database answers. [`StatementFault::Lost`] means that it did not.
pub(super) async fn outcome(node: &Node, id: Uuid, why: String) -> Result<(), StatementFault> {
    tracing::warn!(%id, why, "connection lost during commit; resolving outcome");
    let (since, mut logged) = (Instant::now(), Instant::now());
    loop {
        let fault = match fence(node, id).await {
            Ok(true) => return Ok(()),
            Ok(false) => return Err(StatementFault::Lost(why)),
            Err(fault) => fault,
        };
        if logged.elapsed() > LOG_EVERY {
            logged = Instant::now();
            tracing::warn!(%id, ?fault, seconds = since.elapsed().as_secs(), "commit outcome not available yet");
        }
        tokio::time::sleep(DOUBT_PAUSE).await;
    }
}

/// Whether the batch has committed; if not, it no longer can.
async fn fence(node: &Node, id: Uuid) -> Result<bool, StatementFault> {
    let mut connection = node.readers.lookups.get().await?;
    connection.query_once(&FENCE_COMMIT, &[&id]).await?;
    let rows = connection.query_once(&COMMIT_DONE, &[&id]).await?;
    connection.release();
    Ok(get(one(&rows, &COMMIT_DONE)?, 0)?)
}
