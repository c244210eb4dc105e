//! Whether a commit happened whose answer did not come.
//!
//! Each batch writes a row with an id of its own. Whoever is in doubt tries to write that row himself: if the batch
//! is still under way he waits for it; if it has committed the row is there; and if it has not, it never will, because
//! then the row is his. So the answer is certain, whatever happened to the server, its log or the connection.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use uuid::Uuid;

use super::Node;
use super::error::Fault;
use super::rows::get;
use super::statements::{COMMIT_DONE, FENCE_COMMIT};
use crate::StoreError;

/// How long the outcome of a commit is asked for.
const DOUBT_MAX: Duration = Duration::from_secs(30);
/// How long to wait before the outcome is asked for again.
const DOUBT_PAUSE: Duration = Duration::from_millis(100);
/// How many old rows one batch takes away.
const ANSWERED_MAX: usize = 16;

/// Rows of this node whose answers have come.
#[derive(Debug, Default)]
pub(super) struct Commits(Mutex<Vec<Uuid>>);

/// What one batch writes to be known by.
#[derive(Debug)]
pub(super) struct Mark {
    pub(super) id: Uuid,
    /// Rows that are not needed any more.
    pub(super) answered: Vec<Uuid>,
}

impl Commits {
    pub(super) fn mark(&self) -> Mark {
        let mut answered = self.answered();
        let rest = answered.len().saturating_sub(ANSWERED_MAX);
        Mark { id: Uuid::now_v7(), answered: answered.split_off(rest) }
    }

    /// The batch is not in doubt any more.
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

/// Finds out whether a commit happened. [`Fault::Lost`] means that it did not.
pub(super) async fn outcome(node: &Node, id: Uuid, why: String) -> Result<(), Fault> {
    tracing::warn!(%id, why, "the connection was lost during a commit; asking for its outcome");
    let since = Instant::now();
    while since.elapsed() < DOUBT_MAX {
        match fence(node, id).await {
            Ok(true) => return Ok(()),
            Ok(false) => return Err(Fault::Lost(why)),
            Err(fault) => tracing::debug!(%id, ?fault, "the outcome of a commit cannot be asked for now"),
        }
        tokio::time::sleep(DOUBT_PAUSE).await;
    }
    Err(Fault::Failed(StoreError::OutcomeUnknown(format!("batch {id}: {why}"))))
}

/// Whether the batch has committed; if not, it cannot any more.
async fn fence(node: &Node, id: Uuid) -> Result<bool, Fault> {
    let mut connection = node.readers.get().await?;
    connection.set_busy(true);
    connection.query_once(&FENCE_COMMIT, &[&id]).await?;
    let rows = connection.query_once(&COMMIT_DONE, &[&id]).await?;
    connection.set_busy(false);
    let row = rows.first().ok_or_else(|| crate::codec::corrupt("commits", id, "the row is not there"))?;
    Ok(get(row, 0)?)
}
