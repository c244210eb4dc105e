//! Writes the changes of a batch in one round trip: every statement and the commit are sent at once.
//!
//! Positions of events are assigned last, under a lock that ends with the commit, so that the order of positions is the
//! order of commits, and batches wait for each other only at the end.

use std::collections::BTreeMap;

use tenure_core::working_set::JobChanges;

use super::commits::Mark;
use super::connection::{Connection, Sql, answered};
use super::error::StatementFault;
use super::load::Loaded;
use super::rows::{ColumnArrays, Param, Request, borrowed};
use super::statements::*;
use crate::Result;
use crate::codec::{event_columns, spec_columns, state_columns, text};
use crate::prelude::*;
use crate::reads::Statement;
use crate::records::*;
use crate::row::{ColumnWriter, Int4};
use crate::tables::{self, TableWriter};

/// Clocks are indexed in steps of this size, so that most heartbeats do not change the index.
const CLOCK_SLOT_MS: i64 = 8192;

/// The indexed value of a clock.
pub(super) fn clock_slot(clock_at: i64) -> i64 {
    clock_at.div_euclid(CLOCK_SLOT_MS)
}

/// Writes and commits the changes of `set`. [`StatementFault::Lost`] means that the outcome is unknown.
pub(super) async fn commit(
    connection: &Connection,
    set: &WorkingSet,
    loaded: &Loaded,
    mark: &Mark,
) -> Result<(), StatementFault> {
    let mark = vec![Box::new(mark.id) as Param<'_>, Box::new(mark.answered.clone())];
    // First, before the journal's lock is taken.
    let mut writes = Writes::default();
    writes.push(&INSERT_COMMIT, mark);
    writes.changes(set, loaded)?;
    let writes = writes.0;
    connection.prepare(&writes.iter().map(|write| &write.sql).collect::<Vec<_>>()).await?;
    let params: Vec<_> = writes.iter().map(|write| borrowed(&write.params)).collect();
    let mut sent = Vec::with_capacity(writes.len());
    for (write, params) in writes.iter().zip(&params) {
        sent.push(connection.send(&write.sql, params));
    }
    let commit = connection.send_batch("commit");
    let all = async {
        for sent in sent {
            sent.await?;
        }
        commit.await
    };
    answered(all).await
}

#[derive(Default)]
struct Writes<'a>(Vec<Request<'a>>);

impl<'a> TableWriter<'a> for Writes<'a> {
    type Columns<R: Copy> = ColumnArrays<'a, R>;

    fn put<R: Copy>(
        &mut self,
        statement: Statement,
        records: impl IntoIterator<Item = R>,
        columns: impl FnMut(&mut ColumnArrays<'a, R>),
    ) -> Result<()> {
        self.0.extend(ColumnArrays::of(records, columns).map(|arrays| arrays.request(statement.postgres)));
        Ok(())
    }
}

impl<'a> Writes<'a> {
    /// In lock order: keys, accounts, the rest, the clock, the journal.
    fn changes(&mut self, set: &'a WorkingSet, loaded: &'a Loaded) -> Result<()> {
        let changes = &set.changes;
        self.keys_and_accounts(set, loaded)?;
        self.jobs(set, loaded);
        self.add(&INSERT_LIVE_COUNTS, live_count_changes(set, loaded), |row| {
            for column in 0..4 {
                row.with(|(key, _)| key[column]);
            }
            row.with(|(_, change)| change);
        });
        tables::write(self, set, &loaded.found)?;
        if changes.prune.is_some() {
            self.push(&MERGE_LIVE_COUNTS, Vec::new());
        }
        if loaded.reading.needs_beat() {
            self.push(&HEARTBEAT, vec![Box::new(loaded.reading.at), Box::new(loaded.reading.wall)]);
        }
        let stays = |event: &&Event| !changes.jobs.purged.contains(&event.job_id);
        let mut events = changes.appended.events.iter().filter(stays).peekable();
        if events.peek().is_some() || !changes.appended.audit.is_empty() {
            self.push(&LOCK_JOURNAL, Vec::new());
            self.add(&INSERT_AUDIT, &changes.appended.audit, audit_columns);
            self.add(&INSERT_EVENT, events, event_columns);
        }
        Ok(())
    }

    fn push(&mut self, sql: &Sql, params: Vec<Param<'a>>) {
        self.0.push(Request { sql: sql.clone(), params });
    }

    /// A statement for records, if there are any.
    fn add<R: Copy>(
        &mut self,
        sql: &Sql,
        rows: impl IntoIterator<Item = R>,
        columns: impl FnOnce(&mut ColumnArrays<'a, R>),
    ) {
        if let Some(arrays) = ColumnArrays::of(rows, columns) {
            self.push(sql, arrays.params);
        }
    }

    fn keys_and_accounts(&mut self, set: &'a WorkingSet, loaded: &Loaded) -> Result<()> {
        let changed = set.changes.upserted.keys.iter().map(|key| &set.keys[key]);
        let (old, new): (Vec<&KeyRecord>, Vec<_>) =
            changed.partition(|record| loaded.found_keys.contains(&record.id));
        self.add(&INSERT_KEY, new, key_columns);
        self.add(&PUT_KEY, old, key_columns);
        tables::erase_users(self, &set.changes)?;
        let erased = &set.changes.erased_users;
        let changed = set.changes.upserted.accounts.iter().map(|user| (user, set.accounts[user]));
        let exists = |user: &UserId| loaded.found_accounts.contains(user) && !erased.contains_key(user);
        let (old, new): (Vec<(&UserId, _)>, Vec<_>) = changed.partition(|(user, _)| exists(user));
        self.add(&INSERT_ACCOUNT, new, account_columns);
        self.add(&PUT_ACCOUNT, old, account_columns);
        Ok(())
    }

    fn jobs(&mut self, set: &'a WorkingSet, loaded: &Loaded) {
        let changes = &set.changes.jobs;
        let created = changes.created.difference(&changes.purged).map(|id| &*set.jobs[id]);
        let updated = changes.updated.difference(&changes.purged).map(|id| &*set.jobs[id]);
        // Between transitions only lease, clocks, progress, cancel request, log count and `updated_at` change.
        let (held, moved): (Vec<&Job>, Vec<&Job>) =
            updated.partition(|job| loaded.jobs.get(&job.id()).is_some_and(|locked| locked.seq == job.seq));
        self.add(&INSERT_JOB, created.clone().map(|job| &*job.spec), spec_columns);
        self.add(&INSERT_STATE, created, placed_columns);
        self.add(&UPDATE_STATE, moved, moved_columns);
        self.add(&UPDATE_HOLD, held, held_columns);
    }
}

/// By how many the unfinished jobs of each lifecycle, type, queue and state become more or fewer.
fn live_count_changes<'a>(set: &'a WorkingSet, loaded: &'a Loaded) -> BTreeMap<[&'a str; 4], i64> {
    let JobChanges { created, updated, purged } = &set.changes.jobs;
    let mut changes = BTreeMap::new();
    for id in created.union(updated).chain(purged.difference(updated)) {
        let Some(job) = set.jobs.get(id) else { continue };
        let before = loaded.jobs.get(id).and_then(|locked| locked.state.as_deref());
        let is_live = job.times.completed_at.is_none() && !purged.contains(id);
        let after = is_live.then(|| job.state.as_str());
        let (spec, moved) = (&job.spec, before != after);
        for (state, change) in [(before, -1), (after, 1)].into_iter().filter(|_| moved) {
            let Some(state) = state else { continue };
            let key = [spec.lifecycle.name.as_str(), spec.job_type.as_str(), spec.queue.as_str(), state];
            *changes.entry(key).or_default() += change;
        }
    }
    changes.retain(|_, change| *change != 0);
    changes
}

/// The columns of `update_state`.
fn moved_columns<'a>(row: &mut impl ColumnWriter<'a, &'a Job>) {
    state_columns(row);
    row.with(indexed_clock).with(|job| job.phase == Phase::Ready).with(|job| Int4(job.priority().into()));
}

/// The columns of `insert_state`, some of which are copied from the spec.
fn placed_columns<'a>(row: &mut impl ColumnWriter<'a, &'a Job>) {
    moved_columns(row);
    row.with(|job| job.spec.lifecycle.name.as_str())
        .with(|job| job.spec.job_type.as_str())
        .with(|job| job.spec.queue.as_str());
}

/// The columns of `update_hold`.
fn held_columns<'a>(row: &mut impl ColumnWriter<'a, &'a Job>) {
    row.with(|job| job.id().0)
        .with(|job| job.clocks.timeout)
        .with(|job| job.clocks.due)
        .with(Job::next_clock)
        .with(|job| job.lease.as_deref().map(text))
        .with(|job| job.output.progress.as_deref().map(text))
        .with(|job| job.cancel.as_deref().map(text))
        .with(|job| job.output.log_count)
        .with(indexed_clock)
        .with(|job| job.times.updated_at);
}

fn indexed_clock(job: &Job) -> Option<i64> {
    job.next_clock().map(|deadline| clock_slot(deadline.0))
}
