//! Writes the changes of a batch in one round trip: every statement and the commit are sent at once.
//!
//! Positions of events are assigned last, under a lock that ends with the commit, so that the order of positions is the
//! order of commits, and batches wait for each other only at the end.

use tenure_core::api_key::ApiKey;
use tenure_core::event::{AuditLine, LogLine, Telemetry};
use tenure_core::id::{JobId, UserId};
use tenure_core::job::Job;
use tenure_core::lifecycle::Phase;
use tenure_core::limits;
use tenure_core::worker::WorkerRecord;
use tenure_core::working_set::{KeyRecord, WorkingSet};
use uuid::Uuid;

use super::assets;
use super::automations;
use super::commits::Mark;
use super::connection::{Connection, Sql, answered};
use super::error::StatementFault;
use super::load::Loaded;
use super::nodes;
use super::rows::{Columns, Param, borrowed};
use super::statements::*;
use crate::codec::{EventRow, SpecRow, StateRow, stage_text, text};

/// Clocks are indexed in steps of this size, so that most heartbeats do not change the index.
const CLOCK_SLOT_MS: i64 = 8192;

/// The indexed value of a clock.
pub(super) fn clock_slot(clock_at: i64) -> i64 {
    clock_at.div_euclid(CLOCK_SLOT_MS)
}

struct Write<'a> {
    sql: &'static Sql,
    params: Vec<Param<'a>>,
}

struct Changed<'a> {
    created: Vec<SpecRow>,
    /// Each with its spec, some columns of which are copied to the state.
    placed: Vec<(StateRow, &'a Job)>,
    moved: Vec<StateRow>,
    held: Vec<StateRow>,
    events: Vec<EventRow>,
    telemetry: Vec<&'a Telemetry>,
    logs: Vec<&'a (JobId, LogLine)>,
    purged: Vec<Uuid>,
}

impl<'a> Changed<'a> {
    fn of(set: &'a WorkingSet, loaded: &Loaded) -> Self {
        let changes = &set.changes;
        let stays = |id: &&JobId| !changes.jobs.purged.contains(*id);
        let created: Vec<&Job> = changes.jobs.created.iter().filter(stays).map(|id| &*set.jobs[id]).collect();
        let updated = changes.jobs.updated.iter().filter(stays).map(|id| &*set.jobs[id]);
        // Between transitions only lease, clocks, progress, cancel request and log count change.
        let (held, moved): (Vec<&Job>, Vec<&Job>) =
            updated.partition(|job| loaded.jobs.get(&job.id()) == Some(&job.seq));
        Self {
            created: created.iter().map(|job| SpecRow::encode(&job.spec)).collect(),
            placed: created.iter().map(|job| (StateRow::encode(job), *job)).collect(),
            moved: moved.into_iter().map(StateRow::encode).collect(),
            held: held.into_iter().map(StateRow::encode).collect(),
            events: changes
                .appended
                .events
                .iter()
                .filter(|event| stays(&&event.job_id))
                .map(EventRow::encode)
                .collect(),
            telemetry: changes.appended.telemetry.iter().filter(|line| stays(&&line.job_id)).collect(),
            logs: changes.appended.logs.iter().filter(|(job, _)| stays(&job)).collect(),
            purged: changes.jobs.purged.iter().map(|id| id.0).collect(),
        }
    }
}

/// Writes and commits the changes of `set`. [`StatementFault::Lost`] means that the outcome is unknown.
pub(super) async fn commit(
    connection: &Connection,
    set: &WorkingSet,
    loaded: &Loaded,
    mark: &Mark,
) -> Result<(), StatementFault> {
    let changed = Changed::of(set, loaded);
    let mark = vec![Box::new(mark.id) as Param<'_>, Box::new(mark.answered.clone())];
    // First, before the journal's lock is taken.
    let mut writes = vec![Write { sql: &INSERT_COMMIT, params: mark }];
    writes.extend(statements(set, loaded, &changed));
    connection.prepare(&writes.iter().map(|write| write.sql).collect::<Vec<_>>()).await?;
    let params: Vec<_> = writes.iter().map(|write| borrowed(&write.params)).collect();
    let mut sent = Vec::with_capacity(writes.len());
    for (write, params) in writes.iter().zip(&params) {
        sent.push(connection.send(write.sql, params));
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

/// In lock order: keys, accounts, the rest, the clock, the journal.
fn statements<'a>(set: &'a WorkingSet, loaded: &Loaded, changed: &'a Changed<'a>) -> Vec<Write<'a>> {
    let mut writes = Writes(Vec::new());
    writes.keys(set, loaded);
    writes.accounts(set, loaded);
    writes.add(&INSERT_JOB, &changed.created, specs);
    writes.add(&INSERT_STATE, &changed.placed, placed);
    writes.add(&UPDATE_STATE, &changed.moved, |rows| states(Columns::of(rows), |row| row).params());
    writes.add(&UPDATE_HOLD, &changed.held, held);
    writes.purge(&changed.purged);
    writes.add(&INSERT_TELEMETRY, &changed.telemetry, telemetry);
    writes.add(&INSERT_LOG, &changed.logs, logs);
    writes.outside_jobs(set);
    writes.callers(set, loaded);
    assets::write(&mut writes, set);
    if let Some(now) = set.changes.prune {
        writes.push(&PRUNE_TELEMETRY, vec![Box::new(now.0)]);
        writes.push(&PRUNE_KEYS, vec![Box::new(now.0)]);
        writes.push(&PRUNE_WORKERS, vec![Box::new(now.0 - limits::WORKER_UNSEEN_MS_MAX as i64)]);
    }
    if loaded.reading.needs_beat() {
        writes.push(&HEARTBEAT, vec![Box::new(loaded.reading.at)]);
    }
    if !changed.events.is_empty() || !set.changes.appended.audit.is_empty() {
        writes.push(&LOCK_JOURNAL, Vec::new());
        writes.add(&INSERT_AUDIT, &set.changes.appended.audit, audit);
        writes.add(&INSERT_EVENT, &changed.events, events);
    }
    writes.0
}

pub(super) struct Writes<'a>(Vec<Write<'a>>);

impl<'a> Writes<'a> {
    pub(super) fn push(&mut self, sql: &'static Sql, params: Vec<Param<'a>>) {
        self.0.push(Write { sql, params });
    }

    fn add<R>(&mut self, sql: &'static Sql, rows: &'a [R], columns: impl FnOnce(&'a [R]) -> Vec<Param<'a>>) {
        if !rows.is_empty() {
            self.push(sql, columns(rows));
        }
    }

    fn keys(&mut self, set: &'a WorkingSet, loaded: &Loaded) {
        let changed = set.changes.upserted.keys.iter().map(|key| &set.keys[key]);
        let (old, new): (Vec<_>, Vec<_>) = changed.partition(|record| loaded.found_keys.contains(&record.id));
        for (sql, records) in [(&INSERT_KEY, new), (&PUT_KEY, old)] {
            if !records.is_empty() {
                self.push(sql, keys(&records));
            }
        }
    }

    fn accounts(&mut self, set: &'a WorkingSet, loaded: &Loaded) {
        let (old, new): (Vec<&UserId>, Vec<&UserId>) =
            set.changes.upserted.accounts.iter().partition(|user| loaded.found_accounts.contains(*user));
        for (sql, users) in [(&INSERT_ACCOUNT, new), (&PUT_ACCOUNT, old)] {
            let amounts = |amount: fn(&tenure_core::credit::Account) -> u64| -> Param<'a> {
                Box::new(users.iter().map(|user| amount(&set.accounts[*user]) as i64).collect::<Vec<_>>())
            };
            if !users.is_empty() {
                let names: Param<'a> = Box::new(users.iter().map(|user| user.as_str()).collect::<Vec<_>>());
                let (granted, reserved) =
                    (amounts(|account| account.granted), amounts(|account| account.reserved));
                self.push(sql, vec![names, granted, reserved, amounts(|account| account.spent)]);
            }
        }
    }

    fn purge(&mut self, purged: &'a Vec<Uuid>) {
        let tables = [
            &DISCARD_OBJECTS,
            &PURGE_ASSETS,
            &PURGE_EVENTS,
            &PURGE_LOGS,
            &PURGE_TELEMETRY,
            &PURGE_DEAD_LETTER,
            &PURGE_STATE,
            &PURGE_JOB,
        ];
        for sql in tables.into_iter().filter(|_| !purged.is_empty()) {
            self.push(sql, vec![Box::new(purged)]);
        }
    }

    /// Dead letters, ledger, queues, lifecycles.
    fn outside_jobs(&mut self, set: &'a WorkingSet) {
        let changes = &set.changes;
        let letters: Vec<_> = changes
            .upserted
            .dead_letters
            .difference(&changes.jobs.purged)
            .map(|id| &set.dead_letters[id])
            .collect();
        if !letters.is_empty() {
            let columns: [Param<'a>; 6] = [
                Box::new(letters.iter().map(|letter| letter.job_id.0).collect::<Vec<_>>()),
                Box::new(letters.iter().map(|letter| letter.created_at.0).collect::<Vec<_>>()),
                Box::new(letters.iter().map(|letter| letter.reason_code.as_str()).collect::<Vec<_>>()),
                Box::new(letters.iter().map(|letter| letter.stage.map(stage_text)).collect::<Vec<_>>()),
                Box::new(letters.iter().map(|letter| letter.dismissed.is_some()).collect::<Vec<_>>()),
                Box::new(letters.iter().map(text).collect::<Vec<_>>()),
            ];
            self.push(&PUT_DEAD_LETTER, columns.into());
        }
        self.add(&INSERT_LEDGER, &changes.appended.ledger, ledger);
        let queues = |paused: bool| changes.upserted.queues.iter().filter(move |(_, now)| **now == paused);
        for (sql, paused) in [(&PAUSE_QUEUE, true), (&RESUME_QUEUE, false)] {
            let names: Vec<&str> = queues(paused).map(|(queue, _)| queue.as_str()).collect();
            if !names.is_empty() {
                self.push(sql, vec![Box::new(names)]);
            }
        }
        if !changes.upserted.lifecycles.is_empty() {
            let files = &changes.upserted.lifecycles;
            let columns: [Param<'a>; 3] = [
                Box::new(files.iter().map(|key| key.name.as_str()).collect::<Vec<_>>()),
                Box::new(files.iter().map(|key| key.version as i32).collect::<Vec<_>>()),
                Box::new(files.iter().map(|key| set.lifecycles[key].as_str()).collect::<Vec<_>>()),
            ];
            self.push(&INSERT_LIFECYCLE, columns.into());
        }
    }

    /// API keys, workers, nodes and automations.
    fn callers(&mut self, set: &'a WorkingSet, loaded: &Loaded) {
        let changed = set.changes.upserted.api_keys.iter().map(|id| &set.api_keys[id]);
        let (old, new): (Vec<&ApiKey>, Vec<&ApiKey>) =
            changed.partition(|key| loaded.found_api_keys.contains(&key.id));
        if !new.is_empty() {
            self.push(&INSERT_API_KEY, api_keys(&new));
        }
        if !old.is_empty() {
            let ids: Param<'a> = Box::new(old.iter().map(|key| key.id.as_str()).collect::<Vec<_>>());
            let revoked = old.iter().map(|key| key.revoked_at.map(|at| at.0)).collect::<Vec<_>>();
            self.push(&PUT_API_KEY, vec![ids, Box::new(revoked)]);
        }
        let workers: Vec<&WorkerRecord> = set.changes.upserted.workers.values().collect();
        if !workers.is_empty() {
            self.push(&PUT_WORKER, worker_records(&workers));
        }
        for (sql, params) in
            automations::writes(set, &loaded.found_automations).into_iter().chain(nodes::writes(set))
        {
            self.push(sql, params);
        }
    }
}

fn api_keys<'a>(keys: &[&'a ApiKey]) -> Vec<Param<'a>> {
    vec![
        Box::new(keys.iter().map(|key| key.id.as_str()).collect::<Vec<_>>()),
        Box::new(keys.iter().map(|key| key.role.as_str()).collect::<Vec<_>>()),
        Box::new(keys.iter().map(|key| key.user_id.as_deref()).collect::<Vec<_>>()),
        Box::new(keys.iter().map(|key| &key.digest[..]).collect::<Vec<_>>()),
        Box::new(keys.iter().map(|key| key.created_at.0).collect::<Vec<_>>()),
        Box::new(keys.iter().map(|key| &*key.created_by.0).collect::<Vec<_>>()),
        Box::new(keys.iter().map(|key| key.revoked_at.map(|at| at.0)).collect::<Vec<_>>()),
    ]
}

fn worker_records<'a>(workers: &[&'a WorkerRecord]) -> Vec<Param<'a>> {
    vec![
        Box::new(workers.iter().map(|worker| worker.name.as_str()).collect::<Vec<_>>()),
        Box::new(workers.iter().map(|worker| worker.credential.as_deref()).collect::<Vec<_>>()),
        Box::new(workers.iter().map(|worker| worker.seen_at.0).collect::<Vec<_>>()),
        Box::new(workers.iter().map(|worker| worker.connection).collect::<Vec<_>>()),
    ]
}

fn keys<'a>(records: &[&'a KeyRecord]) -> Vec<Param<'a>> {
    vec![
        Box::new(records.iter().map(|record| Uuid::from_bytes(record.id.0)).collect::<Vec<_>>()),
        Box::new(
            records
                .iter()
                .map(|record| record.fingerprint.as_ref().map(|bytes| &bytes[..]))
                .collect::<Vec<_>>(),
        ),
        Box::new(records.iter().map(|record| text(&record.targets)).collect::<Vec<_>>()),
        Box::new(records.iter().map(|record| record.created_at.0).collect::<Vec<_>>()),
        Box::new(records.iter().map(|record| record.expires_at.0).collect::<Vec<_>>()),
    ]
}

fn specs(rows: &[SpecRow]) -> Vec<Param<'_>> {
    let columns = Columns::of(rows)
        .with(|row| row.id)
        .with(|row| row.job_type.as_str())
        .with(|row| row.lifecycle.as_str())
        .with(|row| row.lifecycle_version as i32)
        .with(|row| row.queue.as_str())
        .with(|row| row.user_id.as_deref())
        .with(|row| row.priority as i32)
        .with(|row| row.max_attempts as i32)
        .with(|row| row.cost)
        .with(|row| row.payload.as_str())
        .with(|row| row.created_at)
        .with(|row| row.correlation_id.as_deref())
        .with(|row| row.traceparent.as_deref())
        .with(|row| row.idempotency_key.as_deref())
        .with(|row| row.retry_of)
        .with(|row| row.compensates);
    columns.params()
}

/// The columns of `update_state`.
fn states<'a, R>(
    columns: Columns<'a, R>,
    state: impl Fn(&'a R) -> &'a StateRow + Copy + 'a,
) -> Columns<'a, R> {
    columns
        .with(move |row| state(row).id)
        .with(move |row| state(row).state.as_str())
        .with(move |row| state(row).phase.as_str())
        .with(move |row| state(row).outcome.as_deref())
        .with(move |row| state(row).seq as i32)
        .with(move |row| state(row).attempt as i32)
        .with(move |row| state(row).retry_count as i32)
        .with(move |row| state(row).fence)
        .with(move |row| state(row).run_at)
        .with(move |row| state(row).timeout_at)
        .with(move |row| state(row).due_at)
        .with(move |row| state(row).clock_at)
        .with(move |row| state(row).updated_at)
        .with(move |row| state(row).claimed_at)
        .with(move |row| state(row).started_at)
        .with(move |row| state(row).completed_at)
        .with(move |row| state(row).entered.as_str())
        .with(move |row| state(row).worker.as_deref())
        .with(move |row| state(row).lease.as_deref())
        .with(move |row| state(row).last_lease.as_deref())
        .with(move |row| state(row).error.as_deref())
        .with(move |row| state(row).result.as_ref().map(tenure_core::json::Json::as_str))
        .with(move |row| state(row).checkpoint.as_ref().map(tenure_core::json::Json::as_str))
        .with(move |row| state(row).progress.as_deref())
        .with(move |row| state(row).cancel.as_deref())
        .with(move |row| state(row).log_count)
        .with(move |row| state(row).clock_at.map(clock_slot))
        .with(move |row| state(row).phase == Phase::Ready.as_str())
}

fn placed<'a>(rows: &'a [(StateRow, &'a Job)]) -> Vec<Param<'a>> {
    let columns = states(Columns::of(rows), |row| &row.0)
        .with(|row| row.1.spec.lifecycle.name.as_str())
        .with(|row| row.1.spec.job_type.as_str())
        .with(|row| row.1.spec.queue.as_str())
        .with(|row| row.1.spec.priority);
    columns.params()
}

fn held(rows: &[StateRow]) -> Vec<Param<'_>> {
    let columns = Columns::of(rows)
        .with(|row| row.id)
        .with(|row| row.timeout_at)
        .with(|row| row.due_at)
        .with(|row| row.clock_at)
        .with(|row| row.lease.as_deref())
        .with(|row| row.progress.as_deref())
        .with(|row| row.cancel.as_deref())
        .with(|row| row.log_count)
        .with(|row| row.clock_at.map(clock_slot));
    columns.params()
}

fn events(rows: &[EventRow]) -> Vec<Param<'_>> {
    let columns = Columns::of(rows)
        .with(|row| row.job_id)
        .with(|row| row.seq.map(|seq| seq as i32))
        .with(|row| row.name.as_str())
        .with(|row| row.trigger.as_str())
        .with(|row| row.from_state.as_deref())
        .with(|row| row.to_state.as_str())
        .with(|row| row.attempt as i32)
        .with(|row| row.ts)
        .with(|row| row.actor.as_str())
        .with(|row| row.cause.as_deref())
        .with(|row| row.facts.as_str());
    columns.params()
}

fn telemetry<'a>(rows: &'a [&'a Telemetry]) -> Vec<Param<'a>> {
    let columns = Columns::of(rows)
        .with(|row| row.job_id.0)
        .with(|row| row.ts.0)
        .with(|row| row.worker.as_str())
        .with(|row| row.fence.0 as i64)
        .with(|row| text(&row.signal))
        .with(|row| row.keep_until.0);
    columns.params()
}

fn logs<'a>(rows: &'a [&'a (JobId, LogLine)]) -> Vec<Param<'a>> {
    let columns = Columns::of(rows)
        .with(|(job, _)| job.0)
        .with(|(_, line)| line.n as i64)
        .with(|(_, line)| line.ts.0)
        .with(|(_, line)| line.stream.as_str())
        .with(|(_, line)| line.level.as_str())
        .with(|(_, line)| line.text.as_str());
    columns.params()
}

fn ledger(rows: &[tenure_core::credit::LedgerLine]) -> Vec<Param<'_>> {
    let columns = Columns::of(rows)
        .with(|line| line.ts.0)
        .with(|line| line.user_id.as_str())
        .with(|line| line.kind.as_str())
        .with(|line| line.amount as i64)
        .with(|line| line.job_id.map(|id| id.0))
        .with(|line| line.reason.as_deref());
    columns.params()
}

fn audit(rows: &[AuditLine]) -> Vec<Param<'_>> {
    let columns = Columns::of(rows)
        .with(|line| line.ts.0)
        .with(|line| line.action.as_str())
        .with(|line| &*line.actor.0)
        .with(|line| line.job_id.map(|id| id.0))
        .with(|line| line.reason.as_deref());
    columns.params()
}
