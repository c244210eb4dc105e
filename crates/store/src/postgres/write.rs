//! Writes the changes of a batch in one round trip: every statement and the commit are sent at once.
//!
//! A commit appends: events, changes without an event, and the rows of finished jobs. The rows of some unfinished jobs are saved
//! with it.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use tenure_core::flow::FlowRecord;
use tenure_core::working_set::JobChanges;

use super::commits::Mark;
use super::connection::{Connection, Rows, Sql, answered};
use super::error::StatementFault;
use super::job_change::job_change_columns;
use super::load::Loaded;
use super::memory::Saving;
use super::rows::{ColumnArrays, Param, Request, borrowed, get, one};
use super::statements::*;
use crate::Result;
use crate::codec::{event_columns, spec_columns, state_columns, text};
use crate::prelude::*;
use crate::reads::Statement;
use crate::records::*;
use crate::row::{ColumnWriter, Int4};
use crate::tables::{self, TableWriter};

/// Writes and commits the changes of `set`; returns its last record of the journal. [`StatementFault::Lost`] means that the outcome
/// is unknown.
pub(super) async fn commit(
    connection: &Connection,
    set: &WorkingSet,
    loaded: &Loaded,
    saving: &Saving,
    mark: &Mark,
) -> Result<Option<(i64, JobId)>, StatementFault> {
    let mut writes = Writes::default();
    writes.push(&INSERT_COMMIT, vec![Box::new(mark.id), Box::new(mark.answered.clone())]);
    writes.saved(saving);
    let last = writes.changes(set, loaded)?;
    writes.push(&END_POSITION, Vec::new());
    let end = writes.send(connection, "commit").await?;
    let end = get(one(&end, &END_POSITION)?, 0)?;
    Ok(last.map(|job| (end, job)))
}

/// Saves jobs within a transaction that continues.
pub(super) async fn save(connection: &Connection, saving: &Saving) -> Result<(), StatementFault> {
    let mut writes = Writes::default();
    writes.saved(saving);
    writes.send(connection, "").await.map(drop)
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
    /// Sends every statement and `last` at once; returns the rows of the last statement.
    async fn send(self, connection: &Connection, last: &str) -> Rows {
        let writes = self.0;
        connection.prepare(&writes.iter().map(|write| &write.sql).collect::<Vec<_>>()).await?;
        let params: Vec<_> = writes.iter().map(|write| borrowed(&write.params)).collect();
        let mut sent = Vec::with_capacity(writes.len());
        for (write, params) in writes.iter().zip(&params) {
            sent.push(connection.send(&write.sql, params));
        }
        let last = connection.send_batch(last);
        let all = async {
            let mut rows = Vec::new();
            for sent in sent {
                rows = sent.await?;
            }
            last.await?;
            Ok(rows)
        };
        answered(all).await
    }

    /// The rows of unfinished jobs, and how far all of them are saved.
    fn saved(&mut self, saving: &'a Saving) {
        self.add(&PUT_STATE, saving.jobs.iter().map(|job| &**job), saved_columns);
        if let Some(position) = saving.position {
            self.push(&SAVE_POSITION, vec![Box::new(position)]);
        }
    }

    /// Returns the job of the last record of the journal.
    fn changes(&mut self, set: &'a WorkingSet, loaded: &'a Loaded) -> Result<Option<JobId>> {
        let changes = &set.changes;
        self.keys_and_accounts(set, loaded)?;
        self.jobs(set);
        self.add(&REMOVE_INTAKE, &changes.intake.taken, |row| {
            row.with(|place| place.transaction).with(|place| place.number);
        });
        tables::write(self, set, &loaded.found)?;
        if changes.upserted.flow.values().any(|record| !matches!(record, Some(FlowRecord::Level(..)))) {
            self.push(&CHANGE_FLOW, Vec::new());
        }
        if let Some(now) = changes.prune {
            self.push(&PRUNE_CHANGES, vec![Box::new(now.0)]);
        }
        if loaded.reading.needs_heartbeat() {
            self.push(&HEARTBEAT, vec![Box::new(loaded.reading.at), Box::new(loaded.reading.wall)]);
        }
        let stays = |event: &&Event| !changes.jobs.purged.contains(&event.job_id);
        self.add(&INSERT_AUDIT, &changes.appended.audit, audit_columns);
        let events: Vec<&Event> = changes.appended.events.iter().filter(stays).collect();
        let without_event: Vec<_> = changes_without_event(set, &loaded.before).collect();
        let last = without_event.last().map(|(job, _)| *job).or(events.last().map(|event| event.job_id));
        self.add(&INSERT_EVENT, events, event_columns);
        self.add(&INSERT_JOB_CHANGE, without_event, job_change_columns);
        Ok(last)
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

    /// Requests, and the rows of jobs that are finished.
    fn jobs(&mut self, set: &'a WorkingSet) {
        let changes = &set.changes.jobs;
        let created = changes.created.difference(&changes.purged).map(|id| &*set.jobs[id]);
        let updated = changes.updated.difference(&changes.purged).map(|id| &*set.jobs[id]);
        self.add(&INSERT_JOB, created.clone().map(|job| &*job.spec), spec_columns);
        self.add(&PUT_STATE, created.chain(updated).filter(|job| job.phase.is_final()), saved_columns);
    }
}

/// The unfinished jobs that differ from the fold of their events, and the deleted ones.
fn changes_without_event<'a>(
    set: &'a WorkingSet,
    before: &'a BTreeMap<JobId, Arc<Job>>,
) -> impl Iterator<Item = (JobId, Option<&'a Job>)> {
    let mut events: HashMap<JobId, Vec<&Event>> = HashMap::new();
    for event in set.changes.appended.events.iter().filter(|event| event.seq.is_some()) {
        events.entry(event.job_id).or_default().push(event);
    }
    let JobChanges { created, updated, purged } = &set.changes.jobs;
    let differs = move |job: &&'a Job| match (before.get(&job.id()), events.get(&job.id())) {
        (Some(before), None) => **before != **job,
        (before, events) => {
            let mut folded = before.map_or_else(|| Job::blank(Arc::clone(&job.spec)), |job| Job::clone(job));
            events.into_iter().flatten().for_each(|event| folded.evolve(event));
            folded != **job
        }
    };
    let unfinished = created.iter().chain(updated).filter(|id| !purged.contains(id)).map(|id| &*set.jobs[id]);
    let changed = unfinished.filter(|job| !job.phase.is_final()).filter(differs);
    changed.map(|job| (job.id(), Some(job))).chain(purged.iter().map(|id| (*id, None)))
}

/// The columns of `put_state`, some of which are copied from the spec.
fn saved_columns<'a>(row: &mut impl ColumnWriter<'a, &'a Job>) {
    state_columns(row);
    row.with(|job| Int4(job.priority().into()))
        .with(|job| job.spec.lifecycle.name.as_str())
        .with(|job| job.spec.job_type.as_str())
        .with(|job| job.spec.queue.as_str())
        .with(|job| Some(job.flow()).filter(|flow| !flow.is_empty()).map(text));
}
