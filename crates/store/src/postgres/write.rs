//! Writes the changes of a batch in one round trip: every statement and the commit are sent at once.
//!
//! Positions of events are assigned last, under a lock that ends with the commit, so that the order of positions is the
//! order of commits, and batches wait for each other only at the end.

use std::collections::BTreeSet;

use super::assets;
use super::commits::Mark;
use super::connection::{Connection, Sql, answered};
use super::error::StatementFault;
use super::load::Loaded;
use super::rows::{ColumnArrays, Param, borrowed};
use super::statements::*;
use crate::codec::{event_columns, spec_columns, state_columns, text};
use crate::prelude::*;
use crate::records::*;
use crate::row::{ColumnWriter, Int4};

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

/// Writes and commits the changes of `set`. [`StatementFault::Lost`] means that the outcome is unknown.
pub(super) async fn commit(
    connection: &Connection,
    set: &WorkingSet,
    loaded: &Loaded,
    mark: &Mark,
) -> Result<(), StatementFault> {
    let mark = vec![Box::new(mark.id) as Param<'_>, Box::new(mark.answered.clone())];
    // First, before the journal's lock is taken.
    let mut writes = vec![Write { sql: &INSERT_COMMIT, params: mark }];
    writes.extend(statements(set, loaded));
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
fn statements<'a>(set: &'a WorkingSet, loaded: &Loaded) -> Vec<Write<'a>> {
    let changes = &set.changes;
    let stays = |id: &JobId| !changes.jobs.purged.contains(id);
    let mut writes = Writes(Vec::new());
    writes.keys_and_accounts(set, loaded);
    writes.jobs(set, loaded);
    writes.purge(&changes.jobs.purged);
    let telemetry = changes.appended.telemetry.iter().filter(|line| stays(&line.job_id));
    writes.add(&INSERT_TELEMETRY, telemetry, telemetry_columns);
    writes.add(&INSERT_LOG, changes.appended.logs.iter().filter(|(job, _)| stays(job)), log_columns);
    writes.outside_jobs(set);
    writes.callers(set, loaded);
    assets::write(&mut writes, set);
    if let Some(now) = changes.prune {
        writes.push(&PRUNE_TELEMETRY, vec![Box::new(now.0)]);
        writes.push(&PRUNE_KEYS, vec![Box::new(now.0)]);
        writes.push(&PRUNE_SESSIONS, vec![Box::new(now.0)]);
        writes.push(&PRUNE_WORKERS, vec![Box::new(now.0 - limits::WORKER_UNSEEN_MS_MAX as i64)]);
    }
    if loaded.reading.needs_beat() {
        writes.push(&HEARTBEAT, vec![Box::new(loaded.reading.at), Box::new(loaded.reading.wall)]);
    }
    let mut events = changes.appended.events.iter().filter(|event| stays(&event.job_id)).peekable();
    if events.peek().is_some() || !changes.appended.audit.is_empty() {
        writes.push(&LOCK_JOURNAL, Vec::new());
        writes.add(&INSERT_AUDIT, &changes.appended.audit, audit_columns);
        writes.add(&INSERT_EVENT, events, event_columns);
    }
    writes.0
}

pub(super) struct Writes<'a>(Vec<Write<'a>>);

impl<'a> Writes<'a> {
    pub(super) fn push(&mut self, sql: &'static Sql, params: Vec<Param<'a>>) {
        self.0.push(Write { sql, params });
    }

    /// A statement for records, if there are any.
    pub(super) fn add<R: Copy>(
        &mut self,
        sql: &'static Sql,
        rows: impl IntoIterator<Item = R>,
        columns: impl FnOnce(&mut ColumnArrays<'a, R>),
    ) {
        let mut arrays = ColumnArrays { rows: rows.into_iter().collect(), params: Vec::new() };
        if !arrays.rows.is_empty() {
            columns(&mut arrays);
            self.push(sql, arrays.params);
        }
    }

    fn keys_and_accounts(&mut self, set: &'a WorkingSet, loaded: &Loaded) {
        let changed = set.changes.upserted.keys.iter().map(|key| &set.keys[key]);
        let (old, new): (Vec<&KeyRecord>, Vec<_>) =
            changed.partition(|record| loaded.found_keys.contains(&record.id));
        self.add(&INSERT_KEY, new, key_columns);
        self.add(&PUT_KEY, old, key_columns);
        let erased = &set.changes.erased_users;
        self.add(&ERASE_ACCOUNT, erased.keys(), |row| {
            row.with(UserId::as_str);
        });
        self.add(&ERASE_LEDGER, erased, |row| {
            row.with(|(user, _)| user.as_str()).with(|(_, alias)| alias.as_str());
        });
        let changed = set.changes.upserted.accounts.iter().map(|user| (user, set.accounts[user]));
        let exists = |user: &UserId| loaded.found_accounts.contains(user) && !erased.contains_key(user);
        let (old, new): (Vec<(&UserId, _)>, Vec<_>) = changed.partition(|(user, _)| exists(user));
        self.add(&INSERT_ACCOUNT, new, account_columns);
        self.add(&PUT_ACCOUNT, old, account_columns);
    }

    fn jobs(&mut self, set: &'a WorkingSet, loaded: &Loaded) {
        let changes = &set.changes.jobs;
        let created = changes.created.difference(&changes.purged).map(|id| &*set.jobs[id]);
        let updated = changes.updated.difference(&changes.purged).map(|id| &*set.jobs[id]);
        // Between transitions only lease, clocks, progress, cancel request, log count and `updated_at` change.
        let (held, moved): (Vec<&Job>, Vec<&Job>) =
            updated.partition(|job| loaded.jobs.get(&job.id()) == Some(&job.seq));
        self.add(&INSERT_JOB, created.clone().map(|job| &*job.spec), spec_columns);
        self.add(&INSERT_STATE, created, placed_columns);
        self.add(&UPDATE_STATE, moved, moved_columns);
        self.add(&UPDATE_HOLD, held, held_columns);
    }

    fn purge(&mut self, purged: &'a BTreeSet<JobId>) {
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
        for sql in tables {
            self.add(sql, purged, |row| {
                row.with(|job| job.0);
            });
        }
    }

    /// Dead letters, ledger, queues, lifecycles.
    fn outside_jobs(&mut self, set: &'a WorkingSet) {
        let (changes, rows) = (&set.changes, &set.changes.upserted);
        let letters = rows.dead_letters.difference(&changes.jobs.purged).map(|id| &set.dead_letters[id]);
        self.add(&PUT_DEAD_LETTER, letters, dead_letter_columns);
        self.add(&INSERT_LEDGER, &changes.appended.ledger, ledger_columns);
        for (sql, paused) in [(&PAUSE_QUEUE, true), (&RESUME_QUEUE, false)] {
            let queues = rows.queues.iter().filter(|(_, now)| **now == paused);
            self.add(sql, queues, |row| {
                row.with(|(queue, _)| queue.as_str());
            });
        }
        let lifecycles = rows.lifecycles.iter().map(|key| (key, set.lifecycles[key].as_str()));
        self.add(&INSERT_LIFECYCLE, lifecycles, lifecycle_columns);
    }

    /// API keys, sessions, workers, automations and nodes, of which expired ones are deleted.
    fn callers(&mut self, set: &'a WorkingSet, loaded: &Loaded) {
        let rows = &set.changes.upserted;
        let changed = rows.api_keys.iter().map(|id| &set.api_keys[id]);
        let (old, new): (Vec<&ApiKey>, Vec<_>) =
            changed.partition(|key| loaded.found_api_keys.contains(&key.id));
        self.add(&INSERT_API_KEY, new, api_key_columns);
        self.add(&PUT_API_KEY, old, |row| {
            row.with(|key| key.id.as_str())
                .with(|key| &key.digest[..])
                .with(|key| key.revoked_at)
                .with(|key| text(&key.details));
        });
        self.add(&TOUCH_API_KEY, &rows.keys_used, key_use_columns);
        let sessions = rows.sessions.iter().filter_map(|(digest, session)| Some((digest, session.as_ref()?)));
        self.add(&PUT_SESSION, sessions, session_columns);
        let ended = rows.sessions.iter().filter(|(_, session)| session.is_none());
        self.add(&REMOVE_SESSION, ended, |row| {
            row.with(|(digest, _)| digest.as_str());
        });
        self.add(&PUT_WORKER, rows.workers.values(), worker_columns);
        let kept = rows.automations.iter().filter_map(|id| Some((id, set.automations.get(id)?)));
        let (old, new): (Vec<(&AutomationId, _)>, Vec<_>) =
            kept.partition(|(id, _)| loaded.found_automations.contains(*id));
        self.add(&INSERT_AUTOMATION, new, automation_columns);
        self.add(&PUT_AUTOMATION, old, automation_columns);
        let gone = rows.automations.iter().filter(|id| !set.automations.contains_key(*id));
        self.add(&REMOVE_AUTOMATION, gone, |row| {
            row.with(|(kind, _)| kind.as_str()).with(|(_, name)| name.as_str());
        });
        self.add(&PUT_NODE, rows.nodes.values(), node_columns);
        if let Some(now) = rows.nodes.values().map(|node| node.seen_at.0).max() {
            self.push(&PRUNE_NODES, vec![Box::new(now - limits::NODE_UNSEEN_MS_MAX as i64)]);
        }
    }
}

/// The columns of `update_state`.
fn moved_columns<'a>(row: &mut impl ColumnWriter<'a, &'a Job>) {
    state_columns(row);
    row.with(indexed_clock).with(|job| job.phase == Phase::Ready);
}

/// The columns of `insert_state`, some of which are copied from the spec.
fn placed_columns<'a>(row: &mut impl ColumnWriter<'a, &'a Job>) {
    moved_columns(row);
    row.with(|job| job.spec.lifecycle.name.as_str())
        .with(|job| job.spec.job_type.as_str())
        .with(|job| job.spec.queue.as_str())
        .with(|job| Int4(job.spec.priority.into()));
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
