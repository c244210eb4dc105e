//! Writes the changes of a batch in one commit.
//!
//! A full disk rolls the batch back, and it may be tried again. After an I/O error of the commit the outcome is unknown:
//! after a restart the batch may be there or not. The store then refuses everything, and the process must end.

use std::sync::{Arc, MutexGuard};

use rusqlite::{CachedStatement, Connection, ErrorCode, params};

use crate::migrate::pending;
use crate::prelude::*;
use crate::reads::Statement;
use crate::row::ColumnWriter as _;
use crate::sqlite::Writer;
use crate::sqlite::clock::{self, FileClock};
use crate::sqlite::rows::{RowWriter, put_each};
use crate::tables::{self, FoundRows, SQLITE_MIGRATIONS, TableWriter};
use crate::{Result, StoreError, codec, records};

/// Interval of heartbeats that are written as part of batches.
const HEARTBEAT_MS: i64 = 500;

/// Runs pending migrations under SQLite's write lock.
pub(super) fn migrate(connection: &mut Connection) -> Result<()> {
    let transaction = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    transaction.execute_batch(include_str!("sql/migrations.sql"))?;
    let done: Vec<(u32, String)> = {
        let mut statement = transaction.prepare(include_str!("sql/migrated.sql"))?;
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        rows.collect::<Result<_, _>>()?
    };
    for migration in pending(&SQLITE_MIGRATIONS, &done)? {
        transaction.execute_batch(migration.sql)?;
        let row = params![migration.number, migration.checksum()];
        transaction.execute(include_str!("sql/insert_migration.sql"), row)?;
    }
    Ok(transaction.commit()?)
}

impl Writer {
    /// Writes and commits; updates the live jobs only after the commit.
    pub(super) fn write(&mut self, set: WorkingSet, found: &FoundRows, now: Now) -> Result<()> {
        let adds_work = set.adds_work();
        if adds_work && self.reserve.is_spent() {
            return Err(StoreError::Full);
        }
        let written = self.commit(&set, found, now);
        // Batches that finish work are written from the reserve.
        let written = match written {
            Err(StoreError::Full) if self.reserve.spend() && !adds_work => self.commit(&set, found, now),
            written => written,
        };
        written?;
        self.clock().heartbeat();
        self.position = Position(self.position.0 + set.changes.appended.events.len() as u64);
        self.keep(set);
        Ok(())
    }

    fn commit(&mut self, set: &WorkingSet, found: &FoundRows, now: Now) -> Result<()> {
        self.statement("begin immediate")?.execute([])?;
        if let Err(error) = self.write_rows(set, found, now) {
            return Err(self.undo(error));
        }
        let committed = self.connection.prepare_cached("commit").and_then(|mut commit| commit.execute([]));
        if let Err(error) = committed {
            // The commit frame is written last, so a full disk means that nothing was committed.
            let full = error.sqlite_error_code() == Some(ErrorCode::DiskFull);
            let meaning = if full { StoreError::Full } else { StoreError::OutcomeUnknown(error.to_string()) };
            return Err(self.undo(meaning));
        }
        Ok(())
    }

    /// Rolls back. If that fails, the state of the file is unknown.
    fn undo(&mut self, error: StoreError) -> StoreError {
        let rolled_back =
            self.connection.is_autocommit() || self.connection.execute_batch("rollback").is_ok();
        let error = if rolled_back { error } else { StoreError::OutcomeUnknown(error.to_string()) };
        if let StoreError::OutcomeUnknown(doubt) = &error {
            self.doubt = Some(doubt.clone());
        }
        error
    }

    fn keep(&mut self, set: WorkingSet) {
        let mut live = self.live.lock().expect("no thread panics while holding the lock");
        live.flow_committed(&set);
        for id in set.changes.jobs.created.iter().chain(&set.changes.jobs.updated) {
            live.put(Arc::clone(&set.jobs[id]));
        }
        for id in &set.changes.jobs.purged {
            live.remove(*id);
        }
        for (queue, paused) in set.changes.upserted.queues {
            if paused {
                self.paused.insert(queue)
            } else {
                self.paused.remove(&queue)
            };
        }
    }

    fn write_rows(&self, set: &WorkingSet, found: &FoundRows, now: Now) -> Result<()> {
        let changes = &set.changes;
        let mut tables = self;
        tables::erase_users(&mut tables, changes)?;
        let accounts = changes.upserted.accounts.iter().map(|user| (user, set.accounts[user]));
        self.put(include_str!("sql/put_account.sql"), accounts, records::account_columns)?;
        let keys = changes.upserted.keys.iter().map(|key| &set.keys[key]);
        self.put(include_str!("sql/put_key.sql"), keys, records::key_columns)?;
        self.write_jobs(set)?;
        let mut position = self.position;
        self.put(include_str!("sql/insert_event.sql"), &changes.appended.events, |row| {
            position.0 += 1;
            row.with(|_| position);
            codec::event_columns(row);
        })?;
        if position != self.position {
            self.statement(include_str!("sql/advance_position.sql"))?.execute([position.0 as i64])?;
        }
        tables::write(&mut tables, set, found)?;
        self.put(include_str!("sql/insert_audit.sql"), &changes.appended.audit, records::audit_columns)?;
        if HEARTBEAT_MS <= now.at.0 - self.clock().heartbeat_at.0 {
            clock::write_heartbeat(&self.connection, now)?;
            self.clock().heartbeat_at = now.at;
        }
        Ok(())
    }

    /// Specs and states.
    fn write_jobs(&self, set: &WorkingSet) -> Result<()> {
        let changes = &set.changes.jobs;
        let created = changes.created.iter().map(|id| &*set.jobs[id]);
        let specs = created.clone().map(|job| &*job.spec);
        self.put(include_str!("sql/insert_job.sql"), specs, codec::spec_columns)?;
        self.put(include_str!("sql/insert_state.sql"), created, |row| {
            codec::state_columns(row);
            row.with(|job| job.spec.lifecycle.name.as_str());
        })?;
        let updated = changes.updated.difference(&changes.purged).map(|id| &*set.jobs[id]);
        let is_live = |job: &&Job| job.times.completed_at.is_none();
        self.update_states(include_str!("sql/update_live.sql"), updated.clone().filter(is_live))?;
        self.update_states(include_str!("sql/update_state.sql"), updated.filter(|job| !is_live(job)))
    }

    fn update_states<'a>(&self, sql: &str, jobs: impl Iterator<Item = &'a Job>) -> Result<()> {
        put_each(&self.connection, sql, jobs, codec::state_columns, |job, changed| match changed {
            1 => Ok(()),
            _ => Err(codec::corrupt("job_states", job.id(), "the row of a live job is gone")),
        })
    }

    /// Executes a statement for each record.
    fn put<'c, R: Copy>(
        &'c self,
        sql: &str,
        rows: impl IntoIterator<Item = R>,
        columns: impl FnMut(&mut RowWriter<'c, R>),
    ) -> Result<()> {
        put_each(&self.connection, sql, rows, columns, |_, _| Ok(()))
    }

    pub(super) fn clock(&self) -> MutexGuard<'_, FileClock> {
        self.clock.lock().expect("no thread panics while holding the lock")
    }

    fn statement(&self, sql: &str) -> Result<CachedStatement<'_>> {
        Ok(self.connection.prepare_cached(sql)?)
    }

    /// Writes a heartbeat. Its commit can have an unknown outcome like any other.
    pub(super) fn heartbeat(&mut self) -> Result<()> {
        if let Some(doubt) = &self.doubt {
            return Err(StoreError::OutcomeUnknown(doubt.clone()));
        }
        // The lock is not held while the disk is written: others read the clock meanwhile.
        let (now, heartbeat_at) = {
            let mut clock = self.clock();
            (clock.now(), clock.heartbeat_at)
        };
        if now.at.0 - heartbeat_at.0 < HEARTBEAT_MS {
            return Ok(());
        }
        clock::write_heartbeat(&self.connection, now).map_err(|error| self.undo(error))?;
        let mut clock = self.clock();
        clock.heartbeat_at = now.at;
        clock.heartbeat();
        Ok(())
    }

    /// The last heartbeat before the file is closed: the outage begins now.
    pub(super) fn close(mut self) {
        if self.doubt.is_none() {
            self.clock().heartbeat_at.0 = 0;
            if let Err(error) = self.heartbeat() {
                tracing::warn!(%error, "last heartbeat not written before close");
            }
        }
    }
}

impl<'c> TableWriter<'_> for &'c Writer {
    type Columns<R: Copy> = RowWriter<'c, R>;

    fn put<R: Copy>(
        &mut self,
        statement: Statement,
        records: impl IntoIterator<Item = R>,
        columns: impl FnMut(&mut RowWriter<'c, R>),
    ) -> Result<()> {
        Writer::put(self, statement.sqlite, records, columns)
    }
}
