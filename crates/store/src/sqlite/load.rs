//! Loads the working set of a batch from memory or from the file.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use rusqlite::Connection;
use tenure_core::flow::Candidate;
use tenure_core::limits::CANDIDATE_BYTES_MAX;

use crate::codec::{self, Interner, corrupt};
use crate::live::Live;
use crate::prelude::*;
use crate::reads::Statement;
use crate::sqlite::Writer;
use crate::sqlite::rows::{RowWriter, all, first, for_each, load_each};
use crate::tables::{self, TableReader, Take};
use crate::{Result, StoreError, records};

/// All live jobs, when the store is opened: ready ones only in the indexes, others completely up to a limit of bytes.
pub(super) fn live(connection: &Connection, names: &mut Interner) -> Result<Live> {
    let mut live = Live::bounded();
    let ready = Phase::Ready.as_str();
    for_each(connection, names, include_str!("sql/open_ready.sql"), [ready], |row| {
        live.put_ready(records::ready_job(row)?);
        Ok(())
    })?;
    for_each(connection, names, include_str!("sql/open.sql"), [ready], |row| {
        live.put(codec::job(row)?);
        Ok(())
    })?;
    live.open_flow(&all(connection, include_str!("sql/flow_records.sql"), [], records::flow_record)?);
    Ok(live)
}

pub(super) fn paused(connection: &Connection) -> Result<BTreeSet<QueueName>> {
    Ok(all(connection, include_str!("sql/paused.sql"), [], records::queue)?.into_iter().collect())
}

pub(super) fn last_position(connection: &Connection) -> Result<Position> {
    let last: i64 = connection.query_row(include_str!("sql/last_position.sql"), [], |row| row.get(0))?;
    Ok(Position(last as u64))
}

pub(super) fn job(connection: &Connection, id: JobId, names: &mut Interner) -> Result<Option<Arc<Job>>> {
    let mut found = None;
    for_each(connection, names, include_str!("sql/job.sql"), [id.0.as_bytes().as_slice()], |row| {
        found = Some(codec::job(row)?);
        Ok(())
    })?;
    Ok(found)
}

pub(super) fn account(connection: &Connection, user: &UserId) -> Result<Option<Account>> {
    first(connection, include_str!("sql/account.sql"), [user.as_str()], records::amounts)
}

pub(super) fn dead_letter(connection: &Connection, job: JobId) -> Result<Option<DeadLetter>> {
    let id = job.0.as_bytes().as_slice();
    first(connection, include_str!("sql/load_dead_letters.sql"), [id], records::dead_letter)
}

impl Writer {
    pub(super) fn load(&mut self, reads: &Reads, now: Now) -> Result<WorkingSet> {
        let mut set = WorkingSet { paused: self.paused.clone(), ..WorkingSet::default() };
        self.load_keyed(reads, &mut set)?;
        self.load_unique_records(reads, &mut set)?;
        let mut wanted = reads.jobs.clone();
        wanted.extend(set.keys.values().flat_map(|record| record.targets.iter().map(|(job, _)| *job)));
        let live = Arc::clone(&self.live);
        let mut live = live.lock().expect("no thread panics while holding the lock");
        let (mut read, mut bytes_left) = (HashMap::new(), CANDIDATE_BYTES_MAX);
        for (filter, claims) in &reads.claims {
            let candidates = loop {
                let mut candidates = live.claimable(filter, &self.paused, claims, now.at);
                if let Some(count) =
                    self.read_candidates(&candidates, &mut live, &mut read, &mut bytes_left)?
                {
                    if count < candidates.len() {
                        candidates.truncate(count);
                        set.cut_candidates.insert(filter.clone());
                    }
                    break candidates;
                }
            };
            wanted.extend(candidates.iter().map(|candidate| candidate.id));
            set.candidates.insert(filter.clone(), candidates);
        }
        while let Some(id) = wanted.pop_first() {
            let found = match live.get(id).or_else(|| read.get(&id)) {
                Some(job) => Some(Arc::clone(job)),
                None => job(&self.connection, id, &mut self.names)?,
            };
            let Some(job) = found else { continue };
            wanted.extend(job.spec.links.compensates.filter(|first| !set.jobs.contains_key(first)));
            if let Some(user) = job.spec.user_id.as_ref().filter(|_| job.spec.cost > 0) {
                self.load_account(user, &mut set)?;
            }
            set.jobs.insert(id, job);
        }
        set.flow = live.flow_view(reads, &set, self.position.0);
        Ok(set)
    }

    /// Reads the candidates that are only indexed, up to a limit of bytes but at least one, and returns their number. `None`
    /// if one of them is corrupt: it must not fail every claim, so it is logged, and excluded until the store is opened again.
    fn read_candidates(
        &mut self,
        candidates: &[Candidate],
        live: &mut Live,
        read: &mut HashMap<JobId, Arc<Job>>,
        bytes_left: &mut usize,
    ) -> Result<Option<usize>> {
        let mut all = true;
        for (index, &Candidate { id, .. }) in candidates.iter().enumerate() {
            if index > 0 && *bytes_left == 0 {
                return Ok(all.then_some(index));
            }
            if let Some(job) = live.get(id).or_else(|| read.get(&id)) {
                *bytes_left = bytes_left.saturating_sub(job.bytes());
                continue;
            }
            let gone = || corrupt("job_states", id, "the row of a live job is gone");
            match job(&self.connection, id, &mut self.names).and_then(|found| found.ok_or_else(gone)) {
                Ok(job) => {
                    *bytes_left = bytes_left.saturating_sub(job.bytes());
                    read.insert(id, job);
                }
                Err(error @ StoreError::Corrupt { .. }) => {
                    tracing::error!(job = %id, %error, "job excluded from claims");
                    live.remove(id);
                    all = false;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(all.then_some(candidates.len()))
    }

    /// The records of the unique keys of jobs that are amended, copied or deleted.
    fn load_unique_records(&mut self, reads: &Reads, set: &mut WorkingSet) -> Result<()> {
        for &id in &reads.unique_of {
            let live = self.live.lock().expect("no thread panics while holding the lock").get(id).cloned();
            let found = match live {
                Some(job) => Some(job),
                None => job(&self.connection, id, &mut self.names)?,
            };
            if let Some(record) = found.and_then(|job| reads.record_of(&job)) {
                self.load_key(record, set)?;
            }
        }
        Ok(())
    }

    fn load_key(&self, id: KeyId, set: &mut WorkingSet) -> Result<()> {
        let sql = include_str!("sql/load_key.sql");
        let record = first(&self.connection, sql, [id.0.as_slice()], |row| records::key(row, id))?;
        set.keys.extend(record.map(|record| (id, record)));
        Ok(())
    }

    fn load_keyed(&self, reads: &Reads, set: &mut WorkingSet) -> Result<()> {
        let connection = &self.connection;
        for id in &reads.keys {
            self.load_key(*id, set)?;
        }
        for user in &reads.accounts {
            self.load_account(user, set)?;
        }
        let mut tables = TableLoader { connection, set };
        tables::load(&mut tables, reads)
    }

    fn load_account(&self, user: &UserId, set: &mut WorkingSet) -> Result<()> {
        if !set.accounts.contains_key(user) {
            set.accounts.extend(account(&self.connection, user)?.map(|account| (user.clone(), account)));
        }
        Ok(())
    }
}

/// Adds the rows of a batch to its working set.
struct TableLoader<'c, 's> {
    connection: &'c Connection,
    set: &'s mut WorkingSet,
}

impl<'c> TableReader<'_> for TableLoader<'c, '_> {
    type Columns<K: Copy> = RowWriter<'c, K>;

    fn load<K: Copy>(
        &mut self,
        statement: Statement,
        keys: impl IntoIterator<Item = K>,
        columns: impl FnMut(&mut RowWriter<'c, K>),
        take: Take,
    ) -> Result<()> {
        load_each(self.connection, statement.sqlite, keys, columns, |row| take(self.set, row))
    }
}
