//! One batch: load, decide, write. One batch of all nodes at a time is between its load and its commit, so that it decides on the
//! present state of every job.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::Duration;

use tenure_core::working_set::JobChanges;

use super::Node;
use super::clock;
use super::commits;
use super::error::StatementFault;
use super::follow;
use super::load::{self, Load, Loaded};
use super::memory::{SaveLimit, Saving};
use super::pool::Pooled;
use super::write;
use crate::prelude::*;
use crate::{Decide, ReadyJobs, StoreError};

/// Attempts of a batch before it fails with a conflict.
const TRIES_MAX: u32 = 10;
/// Attempts on new connections before the store counts as unavailable.
const LOST_MAX: u32 = 2;
/// Unsaved jobs that a batch saves.
const SAVE_WITH_BATCH: SaveLimit = SaveLimit { all: false, jobs_max: 256 };
/// Unsaved jobs that are saved at once before a listing.
const SAVE_BEFORE_LISTING: SaveLimit = SaveLimit { all: true, jobs_max: 1000 };

/// The result of one attempt.
enum Try {
    Done,
    /// The decision changed rows that were not loaded: repeat with these among the reads.
    Widen(Box<Reads>),
    /// An outage was recorded, and the clock must be read again, or this node had to follow the journal.
    Again,
}

pub(super) async fn transact(node: &Node, reads: Reads, mut decide: Decide) -> Result<(), StoreError> {
    run(node, reads, &mut decide, SAVE_WITH_BATCH).await
}

/// Saves unfinished jobs whose first unsaved change is some seconds old.
pub(super) async fn save_stale(node: &Node) -> Result<(), StoreError> {
    run(node, Reads::default(), &mut nothing(), SAVE_WITH_BATCH).await
}

/// Saves every unfinished job as of a moment after the call, so that `job_states` can be listed.
pub(super) async fn save_all(node: &Node) -> Result<(), StoreError> {
    follow::catch_up(node).await?;
    let Some(position) = node.memory().as_ref().map(|memory| memory.position) else { return Ok(()) };
    while node.memory().as_ref().is_some_and(|memory| memory.has_unsaved(position)) {
        run(node, Reads::default(), &mut nothing(), SAVE_BEFORE_LISTING).await?;
    }
    Ok(())
}

fn nothing() -> Decide {
    Box::new(|_, _| {})
}

async fn run(node: &Node, mut reads: Reads, decide: &mut Decide, limit: SaveLimit) -> Result<(), StoreError> {
    let (mut tries, mut losses) = (0, 0);
    while tries < TRIES_MAX {
        match once(node, &reads, decide, limit).await {
            Ok(Try::Done) => return Ok(()),
            Ok(Try::Widen(wider)) => reads = *wider,
            Ok(Try::Again) => continue,
            Err(StatementFault::Conflict(why)) => {
                tracing::debug!(tries, why, "batch repeated after a conflict");
                pause(tries).await;
            }
            Err(StatementFault::Lost(why)) if losses == LOST_MAX => return Err(StoreError::Unavailable(why)),
            Err(StatementFault::Lost(why)) => {
                tracing::debug!(why, "batch moved to another connection");
                losses += 1;
            }
            Err(StatementFault::Moved) => node.writers.drop_prepared_statements(),
            Err(StatementFault::Failed(error)) => return Err(error),
        }
        tries += 1;
    }
    Err(StoreError::Conflict(tries))
}

/// A transaction under the journal's lock, and what it has loaded.
pub(super) type Begun = (Pooled, Box<Loaded>);

/// Begins a transaction under the journal's lock. `None` if an outage was recorded or this node had to follow the journal: repeat.
pub(super) async fn begin(node: &Node, reads: &Reads) -> Result<Option<Begun>, StatementFault> {
    let mut connection = node.writers.get().await?;
    connection.warm_up().await?;
    let loaded = match load::load(&connection, node, reads).await {
        Ok(Load::Done(loaded)) => loaded,
        Ok(Load::Outage(reading)) => {
            roll_back(&mut connection).await?;
            clock::count_outage(&connection, reading).await?;
            return Ok(None);
        }
        Ok(Load::Behind) => {
            roll_back(&mut connection).await?;
            drop(connection);
            follow::catch_up(node).await?;
            return Ok(None);
        }
        Ok(Load::Lost) => {
            roll_back(&mut connection).await?;
            drop(connection);
            follow::open_again(node).await?;
            return Ok(None);
        }
        Err(fault) => return Err(give_up(connection, fault).await),
    };
    Ok(Some((connection, loaded)))
}

async fn once(
    node: &Node,
    reads: &Reads,
    decide: &mut Decide,
    limit: SaveLimit,
) -> Result<Try, StatementFault> {
    let Some((mut connection, mut loaded)) = begin(node, reads).await? else { return Ok(Try::Again) };
    let mut set = present(&mut loaded);
    decide(&mut set, loaded.reading.now());
    let Some(saving) = saving(node, loaded.position, limit, &set.changes.jobs) else {
        roll_back(&mut connection).await?;
        return Ok(Try::Again);
    };
    if set.changes.is_empty() && saving.jobs.is_empty() {
        roll_back(&mut connection).await?;
        return Ok(Try::Done);
    }
    if let Some(wider) = wider(reads, &set, &loaded) {
        roll_back(&mut connection).await?;
        return Ok(Try::Widen(Box::new(wider)));
    }
    let mark = node.commits.mark();
    let committed = match write::commit(&connection, &set, &loaded, &saving, &mark).await {
        Ok(end) => {
            connection.release();
            Ok(end)
        }
        Err(StatementFault::Lost(why)) => {
            drop(connection);
            commits::outcome(node, mark.id, why).await.map(|()| None)
        }
        Err(fault) => Err(give_up(connection, fault).await),
    };
    node.commits.settle(mark, committed.is_ok());
    remember(node, &set, &loaded, &saving, committed?);
    Ok(Try::Done)
}

/// The working set. The time of the batch is never before the last update of its jobs.
fn present(loaded: &mut Loaded) -> WorkingSet {
    let set = std::mem::take(&mut loaded.set);
    let last = set.jobs.values().map(|job| job.times.updated_at.0).max().unwrap_or_default();
    loaded.reading.at = loaded.reading.at.max(last);
    set
}

/// The reads extended by the rows that were changed without having been loaded, if any.
fn wider(reads: &Reads, set: &WorkingSet, loaded: &Loaded) -> Option<Reads> {
    let changed = &set.changes.upserted;
    let accounts = changed.accounts.iter().filter(|user| !loaded.found_accounts.contains(*user));
    let accounts: Vec<&UserId> = accounts.filter(|user| !reads.accounts.contains(*user)).collect();
    let keys = changed.keys.iter().filter(|key| !loaded.found_keys.contains(key));
    let keys: Vec<&KeyId> = keys.filter(|key| !reads.keys.contains(key)).collect();
    if accounts.is_empty() && keys.is_empty() {
        return None;
    }
    let mut wider = reads.clone();
    wider.accounts.extend(accounts.into_iter().cloned());
    wider.keys.extend(keys.into_iter().copied());
    Some(wider)
}

/// What a commit that began at `began` saves. `None` if the memory was replaced since by an older one: its jobs must not overwrite
/// rows that are newer.
pub(super) fn saving(node: &Node, began: i64, limit: SaveLimit, changed: &JobChanges) -> Option<Saving> {
    let memory = node.memory();
    let memory = memory.as_ref().filter(|memory| memory.position == began)?;
    Some(memory.saving(limit, changed))
}

/// Updates the memory of this node after a commit, and notifies the others. Without its last record, which a
/// lost answer had, the memory follows the journal.
fn remember(node: &Node, set: &WorkingSet, loaded: &Loaded, saving: &Saving, end: Option<(i64, JobId)>) {
    if let Some(memory) = node.memory().as_mut() {
        if let Some(end) = end {
            memory.committed(set, loaded.position, end);
        }
        memory.saved(saving, loaded.position);
    }
    let changes = &set.changes;
    // Which jobs a resumed queue or flow control admits is not known here.
    let admits_others = ReadyJobs::admits_others(set);
    if admits_others || !changes.appended.events.is_empty() {
        let ready = ReadyJobs::of_commit(set, Timestamp(loaded.reading.at));
        node.notifications.wrote((!admits_others).then_some(ready));
    }
}

/// Commits a transaction that has only saved jobs.
pub(super) async fn commit(mut connection: Pooled) -> Result<(), StatementFault> {
    connection.batch("commit").await?;
    connection.release();
    Ok(())
}

/// Rolls back a transaction.
pub(super) async fn roll_back(connection: &mut Pooled) -> Result<(), StatementFault> {
    connection.batch("rollback").await?;
    connection.release();
    Ok(())
}

/// Rolls back a failed transaction, so that its connection can be reused.
pub(super) async fn give_up(mut connection: Pooled, fault: StatementFault) -> StatementFault {
    match fault {
        StatementFault::Lost(_) | StatementFault::Moved => fault,
        StatementFault::Conflict(_) | StatementFault::Failed(_) => match roll_back(&mut connection).await {
            Ok(()) | Err(_) => fault,
        },
    }
}

/// Exponential, with jitter.
async fn pause(tries: u32) {
    let most_ms = 5_u64 << tries.min(6);
    let chance = RandomState::new().build_hasher().finish();
    tokio::time::sleep(Duration::from_millis(1 + chance % most_ms)).await;
}
