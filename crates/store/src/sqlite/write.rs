//! Writes the changes of a batch in one commit.
//!
//! A full disk rolls the batch back, and it may be tried again. After an I/O error of the commit the outcome is unknown:
//! after a restart the batch may be there or not. The store then refuses everything, and the process must end.

use std::sync::{Arc, MutexGuard};

use rusqlite::{CachedStatement, Connection, ErrorCode, params};
use tenure_core::working_set::Appended;

use crate::migrate::{Migration, pending};
use crate::prelude::*;
use crate::row::ColumnWriter as _;
use crate::sqlite::Writer;
use crate::sqlite::clock::{self, FileClock};
use crate::sqlite::rows::{RowWriter, put_each};
use crate::{Result, StoreError, codec, records};

const MIGRATIONS: [Migration; 11] = [
    Migration { number: 1, sql: include_str!("migrations/0001_foundation.sql") },
    Migration { number: 2, sql: include_str!("migrations/0002_callers.sql") },
    Migration { number: 3, sql: include_str!("migrations/0003_assets.sql") },
    Migration { number: 4, sql: include_str!("migrations/0004_orders.sql") },
    Migration { number: 5, sql: include_str!("migrations/0005_nodes.sql") },
    Migration { number: 6, sql: include_str!("migrations/0006_connections.sql") },
    Migration { number: 7, sql: include_str!("migrations/0007_retention.sql") },
    Migration { number: 8, sql: include_str!("migrations/0008_rowids.sql") },
    Migration { number: 9, sql: include_str!("migrations/0009_audit_details.sql") },
    Migration { number: 10, sql: include_str!("migrations/0010_key_scopes.sql") },
    Migration { number: 11, sql: include_str!("migrations/0011_sessions.sql") },
];

/// Interval of heartbeats that are written as part of batches.
const TELL_MS: i64 = 500;

/// Runs pending migrations under SQLite's write lock.
pub(super) fn migrate(connection: &mut Connection) -> Result<()> {
    let transaction = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    transaction.execute_batch(include_str!("sql/migrations.sql"))?;
    let done: Vec<(u32, String)> = {
        let mut statement = transaction.prepare(include_str!("sql/migrated.sql"))?;
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        rows.collect::<Result<_, _>>()?
    };
    for migration in pending(&MIGRATIONS, &done)? {
        transaction.execute_batch(migration.sql)?;
        let row = params![migration.number, migration.checksum()];
        transaction.execute(include_str!("sql/insert_migration.sql"), row)?;
    }
    Ok(transaction.commit()?)
}

impl Writer {
    /// Writes and commits; updates the live jobs only after the commit.
    pub(super) fn write(&mut self, set: WorkingSet, now: Now) -> Result<()> {
        let adds_work = set.adds_work();
        if adds_work && self.reserve.is_spent() {
            return Err(StoreError::Full);
        }
        let written = self.commit(&set, now);
        // Batches that finish work are written from the reserve.
        let written = match written {
            Err(StoreError::Full) if self.reserve.spend() && !adds_work => self.commit(&set, now),
            written => written,
        };
        written?;
        self.clock().beat();
        self.position = Position(self.position.0 + set.changes.appended.events.len() as u64);
        self.keep(set);
        Ok(())
    }

    fn commit(&mut self, set: &WorkingSet, now: Now) -> Result<()> {
        self.statement("begin immediate")?.execute([])?;
        if let Err(error) = self.write_rows(set, now) {
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

    fn write_rows(&self, set: &WorkingSet, now: Now) -> Result<()> {
        let changes = &set.changes;
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
        for (user, alias) in &changes.erased_users {
            self.statement(include_str!("sql/erase_account.sql"))?.execute([user.as_str()])?;
            self.statement(include_str!("sql/erase_ledger.sql"))?.execute([user.as_str(), alias.as_str()])?;
        }
        let Appended { telemetry, logs, ledger, audit, .. } = &changes.appended;
        self.put(include_str!("sql/insert_telemetry.sql"), telemetry, records::telemetry_columns)?;
        self.put(include_str!("sql/insert_log.sql"), logs, records::log_columns)?;
        self.put(include_str!("sql/insert_ledger.sql"), ledger, records::ledger_columns)?;
        self.put(include_str!("sql/insert_audit.sql"), audit, records::audit_columns)?;
        self.write_upserted(set)?;
        self.write_assets(changes)?;
        self.forget(changes)?;
        if TELL_MS <= now.at.0 - self.clock().told.0 {
            clock::tell(&self.connection, now)?;
            self.clock().told = now.at;
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

    fn write_upserted(&self, set: &WorkingSet) -> Result<()> {
        let rows = &set.changes.upserted;
        let accounts = rows.accounts.iter().map(|user| (user, set.accounts[user]));
        self.put(include_str!("sql/put_account.sql"), accounts, records::account_columns)?;
        let letters =
            rows.dead_letters.difference(&set.changes.jobs.purged).map(|job| &set.dead_letters[job]);
        self.put(include_str!("sql/put_dead_letter.sql"), letters, records::dead_letter_columns)?;
        let keys = rows.keys.iter().map(|key| &set.keys[key]);
        self.put(include_str!("sql/put_key.sql"), keys, records::key_columns)?;
        for (queue, paused) in &rows.queues {
            let sql = [include_str!("sql/resume_queue.sql"), include_str!("sql/pause_queue.sql")];
            self.statement(sql[usize::from(*paused)])?.execute([queue.as_str()])?;
        }
        let lifecycles = rows.lifecycles.iter().map(|key| (key, set.lifecycles[key].as_str()));
        self.put(include_str!("sql/insert_lifecycle.sql"), lifecycles, records::lifecycle_columns)?;
        let api_keys = rows.api_keys.iter().map(|key| &set.api_keys[key]);
        self.put(include_str!("sql/put_api_key.sql"), api_keys, records::api_key_columns)?;
        self.put(include_str!("sql/touch_api_key.sql"), &rows.keys_used, records::key_use_columns)?;
        let sessions = rows.sessions.iter().filter_map(|(digest, session)| Some((digest, session.as_ref()?)));
        self.put(include_str!("sql/put_session.sql"), sessions, records::session_columns)?;
        for (digest, _) in rows.sessions.iter().filter(|(_, session)| session.is_none()) {
            self.statement(include_str!("sql/remove_session.sql"))?.execute([digest.as_str()])?;
        }
        self.put(include_str!("sql/put_worker.sql"), rows.workers.values(), records::worker_columns)?;
        let automations = rows.automations.iter().filter_map(|id| Some((id, set.automations.get(id)?)));
        self.put(include_str!("sql/put_automation.sql"), automations, records::automation_columns)?;
        for (kind, name) in rows.automations.iter().filter(|id| !set.automations.contains_key(*id)) {
            let mut remove = self.statement(include_str!("sql/remove_automation.sql"))?;
            remove.execute((kind.as_str(), name.as_str()))?;
        }
        self.put(include_str!("sql/put_node.sql"), rows.nodes.values(), records::node_columns)?;
        if let Some(now) = rows.nodes.values().map(|node| node.seen_at.0).max() {
            let unseen_since = now - limits::NODE_UNSEEN_MS_MAX as i64;
            self.statement(include_str!("sql/prune_nodes.sql"))?.execute([unseen_since])?;
        }
        Ok(())
    }

    /// Executes a statement for each record.
    pub(super) fn put<'c, R: Copy>(
        &'c self,
        sql: &str,
        rows: impl IntoIterator<Item = R>,
        columns: impl FnMut(&mut RowWriter<'c, R>),
    ) -> Result<()> {
        put_each(&self.connection, sql, rows, columns, |_, _| Ok(()))
    }

    fn forget(&self, changes: &Changes) -> Result<()> {
        const PURGE: [&str; 8] = [
            include_str!("sql/discard_objects.sql"),
            include_str!("sql/purge_assets.sql"),
            include_str!("sql/purge_events.sql"),
            include_str!("sql/purge_logs.sql"),
            include_str!("sql/purge_telemetry.sql"),
            include_str!("sql/purge_dead_letter.sql"),
            include_str!("sql/purge_state.sql"),
            include_str!("sql/purge_job.sql"),
        ];
        for job in &changes.jobs.purged {
            for sql in PURGE {
                self.statement(sql)?.execute([job.0.as_bytes().as_slice()])?;
            }
        }
        if let Some(now) = changes.prune {
            self.statement(include_str!("sql/prune_telemetry.sql"))?.execute([now.0])?;
            self.statement(include_str!("sql/prune_keys.sql"))?.execute([now.0])?;
            self.statement(include_str!("sql/prune_sessions.sql"))?.execute([now.0])?;
            let unseen_since = now.0 - limits::WORKER_UNSEEN_MS_MAX as i64;
            self.statement(include_str!("sql/prune_workers.sql"))?.execute([unseen_since])?;
        }
        Ok(())
    }

    pub(super) fn clock(&self) -> MutexGuard<'_, FileClock> {
        self.clock.lock().expect("no thread panics while holding the lock")
    }

    pub(super) fn statement(&self, sql: &str) -> Result<CachedStatement<'_>> {
        Ok(self.connection.prepare_cached(sql)?)
    }

    /// Writes a heartbeat. Its commit can have an unknown outcome like any other.
    pub(super) fn heartbeat(&mut self) -> Result<()> {
        if let Some(doubt) = &self.doubt {
            return Err(StoreError::OutcomeUnknown(doubt.clone()));
        }
        // The lock is not held while the disk is written: others read the clock meanwhile.
        let (now, told) = {
            let mut clock = self.clock();
            (clock.now(), clock.told)
        };
        if now.at.0 - told.0 < TELL_MS {
            return Ok(());
        }
        clock::tell(&self.connection, now).map_err(|error| self.undo(error))?;
        let mut clock = self.clock();
        clock.told = now.at;
        clock.beat();
        Ok(())
    }

    /// The last heartbeat before the file is closed: the outage begins now.
    pub(super) fn close(mut self) {
        if self.doubt.is_none() {
            self.clock().told.0 = 0;
            if let Err(error) = self.heartbeat() {
                tracing::warn!(%error, "last heartbeat not written before close");
            }
        }
    }
}
