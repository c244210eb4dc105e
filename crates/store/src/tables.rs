//! The tables of both databases: their migrations, what a batch loads of them, and what it writes to them.
//!
//! Jobs, events, idempotency keys and accounts are on the path of every command, and each database has its own code for
//! them. Everything else is here once: a database only says how it runs a statement for a list of records.

use std::collections::BTreeSet;

use crate::Result;
use crate::codec::text;
use crate::migrate::{Migration, migrations};
use crate::prelude::*;
use crate::reads::{Statement, statement};
use crate::records::*;
use crate::row::{ColumnWriter, RowReader};

pub(crate) const SQLITE_MIGRATIONS: [Migration; 16] = migrations! {
    "sqlite" "0001_foundation" "0002_callers" "0003_assets" "0004_orders" "0005_nodes" "0006_connections" "0007_retention"
    "0008_rowids" "0009_audit_details" "0010_key_scopes" "0011_sessions" "0012_flow" "0013_flow_records"
    "0014_intake" "0015_statistics" "0016_audit_without_job"
};

pub(crate) const POSTGRES_MIGRATIONS: [Migration; 18] = migrations! {
    "postgres" "0001_foundation" "0002_commits" "0003_callers" "0004_assets" "0005_orders" "0006_nodes" "0007_connections"
    "0008_clock_ahead" "0009_audit_details" "0010_key_scopes" "0011_sessions" "0012_live_counts"
    "0013_flow" "0014_journal" "0015_flow_records" "0016_intake" "0017_statistics"
    "0018_audit_without_job"
};

/// Adds a row to the working set.
pub(crate) type Take = fn(&mut WorkingSet, &mut RowReader<'_>) -> Result<()>;

/// Loads rows for a batch.
pub(crate) trait TableReader<'a> {
    type Columns<K: Copy>: ColumnWriter<'a, K>;

    /// Runs a statement for keys, and passes each row to `take`.
    fn load<K: Copy>(
        &mut self,
        statement: Statement,
        keys: impl IntoIterator<Item = K>,
        columns: impl FnMut(&mut Self::Columns<K>),
        take: Take,
    ) -> Result<()>;
}

/// Writes rows of a batch.
pub(crate) trait TableWriter<'a> {
    type Columns<R: Copy>: ColumnWriter<'a, R>;

    /// Runs a statement for records.
    fn put<R: Copy>(
        &mut self,
        statement: Statement,
        records: impl IntoIterator<Item = R>,
        columns: impl FnMut(&mut Self::Columns<R>),
    ) -> Result<()>;
}

/// Loads what `reads` names.
pub(crate) fn load<'a>(tables: &mut impl TableReader<'a>, reads: &'a Reads) -> Result<()> {
    let all_keys = reads.api_keys.then_some(());
    tables.load(
        statement!("load_api_keys"),
        all_keys,
        |_| {},
        |set, row| {
            let key = api_key(row)?;
            set.api_keys.insert(key.id.clone(), key);
            Ok(())
        },
    )?;
    tables.load(statement!("load_automations"), &reads.automations, automation_id_columns, |set, row| {
        let found = automation(row)?;
        set.automations.insert(found.id(), found);
        Ok(())
    })?;
    tables.load(statement!("load_dead_letters"), &reads.dead_letters, job_id_columns, |set, row| {
        let letter = dead_letter(row)?;
        set.dead_letters.insert(letter.job_id, letter);
        Ok(())
    })?;
    tables.load(statement!("load_lifecycles"), &reads.lifecycles, lifecycle_ref_columns, |set, row| {
        set.lifecycles.extend([lifecycle(row)?]);
        Ok(())
    })?;
    tables.load(statement!("load_assets"), &reads.assets, job_id_columns, |set, row| {
        let found = asset(row)?;
        set.assets.entry(found.job_id).or_default().push(found);
        Ok(())
    })?;
    tables.load(statement!("load_intake_records"), &reads.intake_records, job_id_columns, |set, row| {
        let record = intake_record(row)?;
        set.intake_records.insert(record.id, record);
        Ok(())
    })?;
    tables.load(statement!("load_statistics"), &reads.statistics, period_id_columns, |set, row| {
        set.statistics.extend([period(row)?]);
        Ok(())
    })?;
    tables.load(statement!("load_garbage"), &reads.garbage, path_columns, |set, row| {
        set.garbage.insert(row.get()?, row.get()?);
        Ok(())
    })
}

/// The rows that existed when a batch began, which are updated. The others are inserted.
#[derive(Debug, Default)]
pub(crate) struct FoundRows {
    api_keys: BTreeSet<Name>,
    automations: BTreeSet<AutomationId>,
}

impl FoundRows {
    /// Of a working set that was just loaded.
    pub(crate) fn of(set: &WorkingSet) -> Self {
        Self {
            api_keys: set.api_keys.keys().cloned().collect(),
            automations: set.automations.keys().cloned().collect(),
        }
    }
}

/// Gives the ledgers of erased users to their aliases, and deletes their accounts: before accounts are written.
pub(crate) fn erase_users<'a>(tables: &mut impl TableWriter<'a>, changes: &'a Changes) -> Result<()> {
    let erased = &changes.erased_users;
    tables.put(statement!("erase_account"), erased.keys(), user_columns)?;
    tables.put(statement!("erase_ledger"), erased, alias_columns)
}

/// Writes everything but jobs, events, idempotency keys, accounts and the audit log.
pub(crate) fn write<'a>(
    tables: &mut impl TableWriter<'a>,
    set: &'a WorkingSet,
    found: &FoundRows,
) -> Result<()> {
    let changes = &set.changes;
    purge(tables, &changes.jobs.purged)?;
    let stays = |job: &JobId| !changes.jobs.purged.contains(job);
    let telemetry = changes.appended.telemetry.iter().filter(|line| stays(&line.job_id));
    tables.put(statement!("insert_telemetry"), telemetry, telemetry_columns)?;
    let logs = changes.appended.logs.iter().filter(|(job, _)| stays(job));
    tables.put(statement!("insert_log"), logs, log_columns)?;
    let letters = changes.upserted.dead_letters.iter().filter(|job| stays(job));
    let letters = letters.map(|job| &set.dead_letters[job]);
    tables.put(statement!("put_dead_letter"), letters, dead_letter_columns)?;
    tables.put(statement!("insert_ledger"), &changes.appended.ledger, ledger_columns)?;
    let queues = |paused| changes.upserted.queues.iter().filter(move |(_, now)| **now == paused);
    tables.put(statement!("pause_queue"), queues(true).map(|(queue, _)| queue), queue_columns)?;
    tables.put(statement!("resume_queue"), queues(false).map(|(queue, _)| queue), queue_columns)?;
    let lifecycles = changes.upserted.lifecycles.iter().map(|key| (key, set.lifecycles[key].as_str()));
    tables.put(statement!("insert_lifecycle"), lifecycles, lifecycle_columns)?;
    write_callers(tables, set, found)?;
    write_automations(tables, set, found)?;
    write_flow(tables, changes)?;
    write_nodes(tables, changes)?;
    let periods = changes.upserted.statistics.iter().map(|id| (id, &set.statistics[id]));
    tables.put(statement!("put_statistics"), periods, period_columns)?;
    write_assets(tables, changes)?;
    tables.put(statement!("insert_intake_record"), changes.intake.records.values(), intake_record_columns)?;
    prune(tables, changes.prune)
}

/// Deletes jobs and everything that belongs to them.
fn purge<'a>(tables: &mut impl TableWriter<'a>, jobs: &'a BTreeSet<JobId>) -> Result<()> {
    let statements = [
        statement!("discard_objects"),
        statement!("purge_assets"),
        statement!("purge_events"),
        statement!("purge_logs"),
        statement!("purge_telemetry"),
        statement!("purge_dead_letter"),
        statement!("purge_state"),
        statement!("purge_job"),
    ];
    statements.into_iter().try_for_each(|statement| tables.put(statement, jobs, job_id_columns))
}

/// API keys, sessions and workers.
fn write_callers<'a>(
    tables: &mut impl TableWriter<'a>,
    set: &'a WorkingSet,
    found: &FoundRows,
) -> Result<()> {
    let rows = &set.changes.upserted;
    let keys = rows.api_keys.iter().map(|id| &set.api_keys[id]);
    let (old, new): (Vec<&ApiKey>, Vec<_>) = keys.partition(|key| found.api_keys.contains(&key.id));
    tables.put(statement!("insert_api_key"), new, api_key_columns)?;
    tables.put(statement!("put_api_key"), old, |row| {
        row.with(|key| key.id.as_str())
            .with(|key| &key.digest[..])
            .with(|key| key.revoked_at)
            .with(|key| text(&*key.details));
    })?;
    tables.put(statement!("touch_api_key"), &rows.keys_used, key_use_columns)?;
    let begun = rows.sessions.iter().filter_map(|(digest, session)| Some((digest, session.as_ref()?)));
    tables.put(statement!("put_session"), begun, session_columns)?;
    let ended = rows.sessions.iter().filter(|(_, session)| session.is_none()).map(|(digest, _)| digest);
    tables.put(statement!("remove_session"), ended, name_columns)?;
    tables.put(statement!("put_worker"), rows.workers.values(), worker_columns)
}

fn write_automations<'a>(
    tables: &mut impl TableWriter<'a>,
    set: &'a WorkingSet,
    found: &FoundRows,
) -> Result<()> {
    let changed = &set.changes.upserted.automations;
    let kept = changed.iter().filter_map(|id| Some((id, set.automations.get(id)?)));
    let (old, new): (Vec<(&AutomationId, _)>, Vec<_>) =
        kept.partition(|(id, _)| found.automations.contains(*id));
    tables.put(statement!("insert_automation"), new, automation_columns)?;
    tables.put(statement!("put_automation"), old, automation_columns)?;
    let gone = changed.iter().filter(|id| !set.automations.contains_key(*id));
    tables.put(statement!("remove_automation"), gone, automation_id_columns)
}

/// Records of flow control.
fn write_flow<'a>(tables: &mut impl TableWriter<'a>, changes: &'a Changes) -> Result<()> {
    let records = &changes.upserted.flow;
    tables.put(statement!("put_flow_record"), records.values().flatten(), flow_record_columns)?;
    let removed = records.iter().filter(|(_, record)| record.is_none()).map(|(id, _)| id);
    tables.put(statement!("remove_flow_record"), removed, flow_record_id_columns)
}

/// Nodes, of which those that were not seen for long are deleted.
fn write_nodes<'a>(tables: &mut impl TableWriter<'a>, changes: &'a Changes) -> Result<()> {
    let nodes = &changes.upserted.nodes;
    tables.put(statement!("put_node"), nodes.values(), node_columns)?;
    let now = nodes.values().map(|node| node.seen_at).max();
    let unseen_since = now.map(|now| Timestamp(now.0 - limits::NODE_UNSEEN_MS_MAX as i64));
    tables.put(statement!("prune_nodes"), unseen_since, time_columns)
}

/// Garbage records first, then discarded assets, then new ones.
fn write_assets<'a>(tables: &mut impl TableWriter<'a>, changes: &'a Changes) -> Result<()> {
    let assets = &changes.assets;
    tables.put(statement!("put_garbage"), &assets.garbage, garbage_columns)?;
    tables.put(statement!("discard_objects"), assets.discarded.keys(), job_id_columns)?;
    tables.put(statement!("discard_assets"), &assets.discarded, discard_columns)?;
    let added = assets.added.iter().filter(|asset| !changes.jobs.purged.contains(&asset.job_id));
    tables.put(statement!("insert_asset"), added.clone(), asset_columns)?;
    let kept = added.filter(|asset| asset.stored && asset.discarded_at.is_none());
    let kept = kept.filter_map(|asset| asset.storage_path.as_ref());
    tables.put(statement!("forget_garbage"), kept.chain(&assets.forgotten), path_columns)
}

/// Deletes what has expired, a bounded number of rows at once.
fn prune<'a>(tables: &mut impl TableWriter<'a>, now: Option<Timestamp>) -> Result<()> {
    tables.put(statement!("prune_telemetry"), now, time_columns)?;
    tables.put(statement!("prune_keys"), now, time_columns)?;
    tables.put(statement!("prune_sessions"), now, time_columns)?;
    tables.put(statement!("prune_flow_records"), now, time_columns)?;
    tables.put(statement!("purge_refused_events"), now, time_columns)?;
    tables.put(statement!("prune_intake_records"), now, time_columns)?;
    tables.put(statement!("prune_statistics"), now, time_columns)?;
    let unseen_since = now.map(|now| Timestamp(now.0 - limits::WORKER_UNSEEN_MS_MAX as i64));
    tables.put(statement!("prune_workers"), unseen_since, time_columns)
}
