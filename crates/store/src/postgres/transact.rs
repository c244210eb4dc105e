//! One batch: load, decide, write; repeated after a conflict with another batch.

use std::collections::BTreeSet;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::Duration;

use super::Node;
use super::claim_index;
use super::clock::{self, Reading};
use super::commits;
use super::error::StatementFault;
use super::load::{self, Loaded};
use super::pool::Pooled;
use super::write;
use crate::prelude::*;
use crate::{Decide, ReadyJobs, StoreError};

/// Attempts of a batch before it fails with a conflict.
const TRIES_MAX: u32 = 10;
/// Attempts on new connections before the store counts as unavailable.
const LOST_MAX: u32 = 2;

/// The result of one attempt.
enum Try {
    Done,
    /// The decision changed rows that were not locked: repeat with these among the reads.
    Widen(Box<Reads>),
    /// An outage was recorded, and the clock must be read again.
    Outage,
}

pub(super) async fn transact(node: &Node, mut reads: Reads, mut decide: Decide) -> Result<(), StoreError> {
    let (mut tries, mut losses) = (0, 0);
    while tries < TRIES_MAX {
        match once(node, &reads, &mut decide).await {
            Ok(Try::Done) => return Ok(()),
            Ok(Try::Widen(wider)) => reads = *wider,
            Ok(Try::Outage) => continue,
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

async fn once(node: &Node, reads: &Reads, decide: &mut Decide) -> Result<Try, StatementFault> {
    let mut connection = node.writers.get().await?;
    connection.warm_up().await?;
    let loaded = match load::load(&connection, node, reads).await {
        Ok(loaded) => loaded,
        Err(fault) => return Err(give_up(connection, fault).await),
    };
    if loaded.reading.is_outage() {
        roll_back(&mut connection).await?;
        clock::count_outage(&connection, loaded.reading).await?;
        return Ok(Try::Outage);
    }
    let (loaded, set, now) = present(node, loaded);
    let mut set = set;
    decide(&mut set, now.now());
    if set.changes.is_empty() {
        roll_back(&mut connection).await?;
        return Ok(Try::Done);
    }
    if let Some(wider) = wider(reads, &set, &loaded) {
        roll_back(&mut connection).await?;
        return Ok(Try::Widen(Box::new(wider)));
    }
    let mark = node.commits.mark();
    let committed = match write::commit(&connection, &set, &loaded, &mark).await {
        Ok(()) => {
            connection.release();
            Ok(())
        }
        Err(StatementFault::Lost(why)) => {
            drop(connection);
            commits::outcome(node, mark.id, why).await
        }
        Err(fault) => Err(give_up(connection, fault).await),
    };
    node.commits.settle(mark, committed.is_ok());
    committed?;
    remember(node, &set, &loaded);
    Ok(Try::Done)
}

/// The working set, and the time of the batch: never before the last update of its jobs.
fn present(node: &Node, mut loaded: Loaded) -> (Loaded, WorkingSet, Reading) {
    let set = std::mem::take(&mut loaded.set);
    let last = set.jobs.values().map(|job| job.times.updated_at.0).max().unwrap_or_default();
    let reading = node.clock.seen(loaded.reading);
    let reading = Reading { at: reading.at.max(last), ..reading };
    loaded.reading = reading;
    (loaded, set, reading)
}

/// The reads extended by the rows that were changed without a lock, if any.
fn wider(reads: &Reads, set: &WorkingSet, loaded: &Loaded) -> Option<Reads> {
    let changes = &set.changes;
    let touched = changes.jobs.updated.iter().chain(&changes.jobs.purged).copied();
    let touched = touched.chain(changes.appended.events.iter().map(|event| event.job_id));
    let touched = touched.chain(changes.appended.logs.iter().map(|(job, _)| *job));
    let loose = |id: &JobId| !changes.jobs.created.contains(id) && !loaded.jobs.contains_key(id);
    let jobs: BTreeSet<JobId> = touched.filter(loose).collect();
    let accounts: BTreeSet<UserId> =
        changes.upserted.accounts.difference(&loaded.accounts).cloned().collect();
    let keys: BTreeSet<KeyId> = changes.upserted.keys.difference(&reads.keys).copied().collect();
    if jobs.is_empty() && accounts.is_empty() && keys.is_empty() {
        return None;
    }
    let mut wider = reads.clone();
    wider.jobs.extend(jobs);
    wider.accounts.extend(accounts);
    wider.keys.extend(keys);
    Some(wider)
}

/// Updates the node's caches after a commit.
fn remember(node: &Node, set: &WorkingSet, loaded: &Loaded) {
    let changes = &set.changes;
    for candidates in loaded.candidates.values() {
        for (slot, upto) in
            claim_index::taken(candidates.iter().filter_map(|id| set.jobs.get(id)).map(|job| &**job))
        {
            node.claim_index.emptied(&slot, upto);
        }
    }
    let changed = changes.jobs.created.iter().chain(&changes.jobs.updated).map(|id| &set.jobs[id]);
    for job in changed.filter(|job| job.phase == Phase::Ready) {
        node.claim_index.put(job);
    }
    for id in &changes.jobs.purged {
        node.specs.forget(*id);
    }
    // The jobs of a queue that was resumed are not known here.
    let resumed = changes.upserted.queues.values().any(|paused| !paused);
    if resumed || !changes.appended.events.is_empty() {
        let ready = ReadyJobs::of_commit(set, Timestamp(loaded.reading.at));
        node.notifications.wrote((!resumed).then_some(ready));
    }
}

/// Rolls back a transaction.
async fn roll_back(connection: &mut Pooled) -> Result<(), StatementFault> {
    connection.batch("rollback").await?;
    connection.release();
    Ok(())
}

/// Rolls back a failed transaction, so that its connection can be reused.
async fn give_up(mut connection: Pooled, fault: StatementFault) -> StatementFault {
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
