//! Writes the changes of a batch in one commit.
//!
//! A full disk rolls the batch back, and it may be tried again. After an I/O error of the commit the outcome is unknown:
//! after a restart the batch may be there or not. The store then refuses everything, and the process must end.

use std::sync::Arc;

use rusqlite::{CachedStatement, Connection, ErrorCode, params};
use tenure_core::id::{JobId, Position};
use tenure_core::limits;
use tenure_core::time::Now;
use tenure_core::working_set::{Changes, WorkingSet};

use crate::StoreError;
use crate::codec::{EventRow, SpecRow, StateRow, text};
use crate::migrate::{Migration, pending};
use crate::sqlite::Writer;
use crate::sqlite::rows::fault;

const MIGRATIONS: [Migration; 6] = [
    Migration { number: 1, sql: include_str!("migrations/0001_foundation.sql") },
    Migration { number: 2, sql: include_str!("migrations/0002_callers.sql") },
    Migration { number: 3, sql: include_str!("migrations/0003_assets.sql") },
    Migration { number: 4, sql: include_str!("migrations/0004_orders.sql") },
    Migration { number: 5, sql: include_str!("migrations/0005_nodes.sql") },
    Migration { number: 6, sql: include_str!("migrations/0006_connections.sql") },
];

/// Interval of heartbeats that are written as part of batches.
const TELL_MS: i64 = 500;

/// Runs pending migrations under SQLite's write lock.
pub(super) fn migrate(connection: &mut Connection) -> Result<(), StoreError> {
    let transaction =
        connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate).map_err(fault)?;
    transaction.execute_batch(include_str!("sql/migrations.sql")).map_err(fault)?;
    let done: Vec<(u32, String)> = {
        let mut statement = transaction.prepare(include_str!("sql/migrated.sql")).map_err(fault)?;
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).map_err(fault)?;
        rows.collect::<Result<_, _>>().map_err(fault)?
    };
    for migration in pending(&MIGRATIONS, &done)? {
        transaction.execute_batch(migration.sql).map_err(fault)?;
        let row = params![migration.number, migration.checksum()];
        transaction.execute(include_str!("sql/insert_migration.sql"), row).map_err(fault)?;
    }
    transaction.commit().map_err(fault)
}

fn id(job: &JobId) -> &[u8] {
    job.0.as_bytes().as_slice()
}

impl Writer {
    /// Writes and commits; updates the live jobs only after the commit.
    pub(super) fn write(&mut self, set: WorkingSet, now: Now) -> Result<(), StoreError> {
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
        self.position = Position(self.position.0 + set.changes.appended.events.len() as u64);
        self.keep(set);
        Ok(())
    }

    fn commit(&mut self, set: &WorkingSet, now: Now) -> Result<(), StoreError> {
        self.statement("begin immediate")?.execute([]).map_err(fault)?;
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

    fn write_rows(&self, set: &WorkingSet, now: Now) -> Result<(), StoreError> {
        let changes = &set.changes;
        self.write_jobs(set)?;
        let mut insert = self.statement(include_str!("sql/insert_event.sql"))?;
        for (position, event) in (self.position.0 + 1..).zip(&changes.appended.events) {
            insert_event(&mut insert, position, &EventRow::encode(event))?;
        }
        if !changes.appended.events.is_empty() {
            let last = self.position.0 + changes.appended.events.len() as u64;
            self.statement(include_str!("sql/advance_position.sql"))?
                .execute([last as i64])
                .map_err(fault)?;
        }
        self.write_output(changes)?;
        self.write_money(set)?;
        self.write_keyed(set)?;
        self.write_callers(set)?;
        self.write_assets(changes)?;
        self.write_automations(set)?;
        self.write_nodes(set)?;
        self.forget(changes)?;
        let mut clock = self.clock.lock().expect("no thread panics while holding the lock");
        if TELL_MS <= now.at.0 - clock.told.0 {
            clock.tell(&self.connection, now.at)?;
            clock.told = now.at;
        }
        Ok(())
    }

    /// Specs and states.
    fn write_jobs(&self, set: &WorkingSet) -> Result<(), StoreError> {
        let changes = &set.changes;
        let mut insert = self.statement(include_str!("sql/insert_job.sql"))?;
        let mut begin = self.statement(include_str!("sql/insert_state.sql"))?;
        for job in changes.jobs.created.iter().map(|id| &set.jobs[id]) {
            insert_spec(&mut insert, &SpecRow::encode(&job.spec))?;
            put_state(&mut begin, &StateRow::encode(job))?;
        }
        let mut go_on = self.statement(include_str!("sql/update_live.sql"))?;
        let mut end = self.statement(include_str!("sql/update_state.sql"))?;
        for job in changes.jobs.updated.difference(&changes.jobs.purged).map(|id| &set.jobs[id]) {
            let update = if job.times.completed_at.is_none() { &mut go_on } else { &mut end };
            put_state(update, &StateRow::encode(job))?;
        }
        Ok(())
    }

    fn write_output(&self, changes: &Changes) -> Result<(), StoreError> {
        let mut insert = self.statement(include_str!("sql/insert_telemetry.sql"))?;
        for line in &changes.appended.telemetry {
            let (worker, fence, signal) = (line.worker.as_str(), line.fence.0 as i64, text(&line.signal));
            let row = params![id(&line.job_id), line.ts.0, worker, fence, signal, line.keep_until.0];
            insert.execute(row).map_err(fault)?;
        }
        let mut insert = self.statement(include_str!("sql/insert_log.sql"))?;
        for (job, line) in &changes.appended.logs {
            let (stream, level) = (line.stream.as_str(), line.level.as_str());
            insert
                .execute(params![id(job), line.n as i64, line.ts.0, stream, level, line.text])
                .map_err(fault)?;
        }
        Ok(())
    }

    fn write_money(&self, set: &WorkingSet) -> Result<(), StoreError> {
        let mut put = self.statement(include_str!("sql/put_account.sql"))?;
        for user in &set.changes.upserted.accounts {
            let account = set.accounts[user];
            let [granted, reserved, spent] =
                [account.granted, account.reserved, account.spent].map(|n| n as i64);
            put.execute(params![user.as_str(), granted, reserved, spent]).map_err(fault)?;
        }
        let mut insert = self.statement(include_str!("sql/insert_ledger.sql"))?;
        for line in &set.changes.appended.ledger {
            let (user, kind, job) = (line.user_id.as_str(), line.kind.as_str(), line.job_id.as_ref().map(id));
            insert
                .execute(params![line.ts.0, user, kind, line.amount as i64, job, line.reason])
                .map_err(fault)?;
        }
        let mut insert = self.statement(include_str!("sql/insert_audit.sql"))?;
        for line in &set.changes.appended.audit {
            let (action, actor, job) = (line.action.as_str(), &*line.actor.0, line.job_id.as_ref().map(id));
            insert.execute(params![line.ts.0, action, actor, job, line.reason]).map_err(fault)?;
        }
        Ok(())
    }

    fn write_keyed(&self, set: &WorkingSet) -> Result<(), StoreError> {
        let changes = &set.changes;
        let mut put = self.statement(include_str!("sql/put_dead_letter.sql"))?;
        for job in changes.upserted.dead_letters.difference(&changes.jobs.purged) {
            let letter = &set.dead_letters[job];
            let stage = letter.stage.map(crate::codec::stage_text);
            let row = params![
                id(job),
                letter.created_at.0,
                letter.reason_code.as_str(),
                stage,
                letter.dismissed.is_some(),
                text(letter)
            ];
            put.execute(row).map_err(fault)?;
        }
        let mut put = self.statement(include_str!("sql/put_key.sql"))?;
        for key in &changes.upserted.keys {
            let record = &set.keys[key];
            let fingerprint = record.fingerprint.as_ref().map(<[u8; 32]>::as_slice);
            let (created_at, expires_at) = (record.created_at.0, record.expires_at.0);
            let row = params![key.0.as_slice(), fingerprint, text(&record.targets), created_at, expires_at];
            put.execute(row).map_err(fault)?;
        }
        for (queue, paused) in &changes.upserted.queues {
            let sql = if *paused {
                include_str!("sql/pause_queue.sql")
            } else {
                include_str!("sql/resume_queue.sql")
            };
            self.statement(sql)?.execute([queue.as_str()]).map_err(fault)?;
        }
        let mut insert = self.statement(include_str!("sql/insert_lifecycle.sql"))?;
        for key in &changes.upserted.lifecycles {
            insert.execute(params![key.name.as_str(), key.version, set.lifecycles[key]]).map_err(fault)?;
        }
        Ok(())
    }

    fn write_callers(&self, set: &WorkingSet) -> Result<(), StoreError> {
        let changes = &set.changes;
        if !changes.upserted.api_keys.is_empty() {
            let mut put = self.statement(include_str!("sql/put_api_key.sql"))?;
            for key in changes.upserted.api_keys.iter().map(|key| &set.api_keys[key]) {
                let (role, user) = (key.role.as_str(), key.user_id.as_deref());
                let (digest, by) = (key.digest.as_slice(), &*key.created_by.0);
                let (created_at, revoked_at) = (key.created_at.0, key.revoked_at.map(|at| at.0));
                let row = params![key.id.as_str(), role, user, digest, created_at, by, revoked_at];
                put.execute(row).map_err(fault)?;
            }
        }
        if !changes.upserted.workers.is_empty() {
            let mut put = self.statement(include_str!("sql/put_worker.sql"))?;
            for worker in changes.upserted.workers.values() {
                let credential = worker.credential.as_deref();
                let connection = worker.connection.map(uuid::Uuid::into_bytes);
                let row = params![worker.name.as_str(), credential, worker.seen_at.0, connection];
                put.execute(row).map_err(fault)?;
            }
        }
        Ok(())
    }

    fn forget(&self, changes: &Changes) -> Result<(), StoreError> {
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
                self.statement(sql)?.execute([id(job)]).map_err(fault)?;
            }
        }
        if let Some(now) = changes.prune {
            self.statement(include_str!("sql/prune_telemetry.sql"))?.execute([now.0]).map_err(fault)?;
            self.statement(include_str!("sql/prune_keys.sql"))?.execute([now.0]).map_err(fault)?;
            let unseen_since = now.0 - limits::WORKER_UNSEEN_MS_MAX as i64;
            self.statement(include_str!("sql/prune_workers.sql"))?.execute([unseen_since]).map_err(fault)?;
        }
        Ok(())
    }

    pub(super) fn statement(&self, sql: &str) -> Result<CachedStatement<'_>, StoreError> {
        self.connection.prepare_cached(sql).map_err(fault)
    }

    /// Writes a heartbeat. Its commit can have an unknown outcome like any other.
    pub(super) fn heartbeat(&mut self) -> Result<(), StoreError> {
        if let Some(doubt) = &self.doubt {
            return Err(StoreError::OutcomeUnknown(doubt.clone()));
        }
        let told = {
            let mut clock = self.clock.lock().expect("no thread panics while holding the lock");
            let now = clock.now();
            if now.at.0 - clock.told.0 < TELL_MS {
                return Ok(());
            }
            clock.tell(&self.connection, now.at).map(|()| clock.told = now.at)
        };
        told.map_err(|error| self.undo(error))
    }

    /// The last heartbeat before the file is closed: the outage begins now.
    pub(super) fn close(mut self) {
        if self.doubt.is_none() {
            self.clock.lock().expect("no thread panics while holding the lock").told.0 = 0;
            if let Err(error) = self.heartbeat() {
                tracing::warn!(%error, "last heartbeat not written before close");
            }
        }
    }
}

fn insert_spec(insert: &mut CachedStatement<'_>, row: &SpecRow) -> Result<(), StoreError> {
    let bytes = |id: &Option<uuid::Uuid>| id.map(|id| id.as_bytes().to_vec());
    let inserted = insert.execute(params![
        row.id.as_bytes().as_slice(),
        row.job_type.as_str(),
        row.lifecycle.as_str(),
        row.lifecycle_version,
        row.queue.as_str(),
        row.user_id.as_deref(),
        row.priority,
        row.max_attempts,
        row.cost,
        row.payload.as_str(),
        row.created_at,
        row.correlation_id.as_deref(),
        row.traceparent.as_deref(),
        row.idempotency_key.as_deref(),
        bytes(&row.retry_of),
        bytes(&row.compensates),
    ]);
    inserted.map(drop).map_err(fault)
}

/// For inserts and updates: both statements number the columns alike.
fn put_state(put: &mut CachedStatement<'_>, row: &StateRow) -> Result<(), StoreError> {
    let changed = put.execute(params![
        row.id.as_bytes().as_slice(),
        row.state.as_str(),
        row.phase.as_str(),
        row.outcome.as_deref(),
        row.seq,
        row.attempt,
        row.retry_count,
        row.fence,
        row.run_at,
        row.timeout_at,
        row.due_at,
        row.clock_at,
        row.updated_at,
        row.claimed_at,
        row.started_at,
        row.completed_at,
        row.entered,
        row.worker.as_deref(),
        row.lease,
        row.last_lease,
        row.error,
        row.result.as_ref().map(tenure_core::json::Json::as_str),
        row.checkpoint.as_ref().map(tenure_core::json::Json::as_str),
        row.progress,
        row.cancel,
        row.log_count,
    ]);
    match changed.map_err(fault)? {
        1 => Ok(()),
        _ => Err(crate::codec::corrupt("job_states", row.id, "the row of a live job is gone")),
    }
}

fn insert_event(insert: &mut CachedStatement<'_>, position: u64, row: &EventRow) -> Result<(), StoreError> {
    let inserted = insert.execute(params![
        position as i64,
        row.job_id.as_bytes().as_slice(),
        row.seq,
        row.name.as_str(),
        row.trigger,
        row.from_state.as_deref(),
        row.to_state.as_str(),
        row.attempt,
        row.ts,
        row.actor.as_str(),
        row.cause.as_deref(),
        row.facts,
    ]);
    inserted.map(drop).map_err(fault)
}
