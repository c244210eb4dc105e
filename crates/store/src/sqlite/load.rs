//! Loads the working set of a batch from memory or from the file.

use std::collections::BTreeSet;
use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension as _};
use tenure_core::command::KeyId;
use tenure_core::credit::Account;
use tenure_core::dead_letter::DeadLetter;
use tenure_core::id::{JobId, Position, QueueName, UserId};
use tenure_core::job::Job;
use tenure_core::time::{Now, Timestamp};
use tenure_core::working_set::{KeyRecord, Reads, WorkingSet};

use crate::StoreError;
use crate::codec::{Interner, corrupt};
use crate::live::Live;
use crate::sqlite::rows::{amounts, fault, spec, state};
use crate::sqlite::{Writer, assets, watch};

/// All live jobs, when the store is opened.
pub(super) fn live(connection: &Connection, names: &mut Interner) -> Result<Live, StoreError> {
    let mut live = Live::default();
    let mut statement = connection.prepare(include_str!("sql/open.sql")).map_err(fault)?;
    let mut rows = statement.query([]).map_err(fault)?;
    while let Some(row) = rows.next().map_err(fault)? {
        live.put(Arc::new(decode(row, names)?));
    }
    Ok(live)
}

pub(super) fn decode(row: &rusqlite::Row<'_>, names: &mut Interner) -> Result<Job, StoreError> {
    let asked = Arc::new(spec(row, names).map_err(fault)?.decode()?);
    state(row, names).map_err(fault)?.decode(asked, names)
}

pub(super) fn paused(connection: &Connection) -> Result<BTreeSet<QueueName>, StoreError> {
    let mut statement = connection.prepare_cached(include_str!("sql/paused.sql")).map_err(fault)?;
    let rows = statement.query_map([], |row| row.get::<_, String>(0)).map_err(fault)?;
    rows.map(|queue| queue.map(Into::into).map_err(fault)).collect()
}

pub(super) fn last_position(connection: &Connection) -> Result<Position, StoreError> {
    let last: i64 =
        connection.query_row(include_str!("sql/last_position.sql"), [], |row| row.get(0)).map_err(fault)?;
    Ok(Position(last as u64))
}

pub(super) fn job(
    connection: &Connection,
    id: JobId,
    names: &mut Interner,
) -> Result<Option<Job>, StoreError> {
    let mut statement = connection.prepare_cached(include_str!("sql/job.sql")).map_err(fault)?;
    let mut rows = statement.query([id.0.as_bytes().as_slice()]).map_err(fault)?;
    rows.next().map_err(fault)?.map(|row| decode(row, names)).transpose()
}

pub(super) fn account(connection: &Connection, user: &UserId) -> Result<Option<Account>, StoreError> {
    let mut statement = connection.prepare_cached(include_str!("sql/account.sql")).map_err(fault)?;
    statement.query_row([user.as_str()], |row| amounts(row, 0)).optional().map_err(fault)
}

pub(super) fn dead_letter(connection: &Connection, job: JobId) -> Result<Option<DeadLetter>, StoreError> {
    let mut statement = connection.prepare_cached(include_str!("sql/dead_letter.sql")).map_err(fault)?;
    let found = statement.query_row([job.0.as_bytes().as_slice()], |row| row.get::<_, String>(0));
    let broken = |_| corrupt("dead_letters", job, "letter");
    found.optional().map_err(fault)?.map(|letter| serde_json::from_str(&letter).map_err(broken)).transpose()
}

fn key(connection: &Connection, id: KeyId) -> Result<Option<KeyRecord>, StoreError> {
    let mut statement = connection.prepare_cached(include_str!("sql/load_key.sql")).map_err(fault)?;
    let found = statement.query_row([id.0.as_slice()], |row| {
        Ok((
            row.get::<_, Option<[u8; 32]>>(0)?,
            row.get::<_, String>(1)?,
            row.get::<_, i64>(2)?,
            row.get::<_, i64>(3)?,
        ))
    });
    let Some((fingerprint, targets, created_at, expires_at)) = found.optional().map_err(fault)? else {
        return Ok(None);
    };
    let targets =
        serde_json::from_str(&targets).map_err(|_| corrupt("keys", format!("{id:?}"), "targets"))?;
    let (created_at, expires_at) = (Timestamp(created_at), Timestamp(expires_at));
    Ok(Some(KeyRecord { id, fingerprint, targets, created_at, expires_at }))
}

impl Writer {
    pub(super) fn load(&mut self, reads: &Reads, now: Now) -> Result<WorkingSet, StoreError> {
        let mut set = WorkingSet { paused: self.paused.clone(), ..WorkingSet::default() };
        self.load_keyed(reads, &mut set)?;
        let mut wanted = reads.jobs.clone();
        wanted.extend(set.keys.values().flat_map(|record| record.targets.iter().map(|(job, _)| *job)));
        let live = Arc::clone(&self.live);
        let mut live = live.lock().expect("no thread panics while holding the lock");
        for (filter, max) in &reads.claims {
            let candidates = live.claimable(filter, &self.paused, *max, now.at);
            wanted.extend(&candidates);
            set.candidates.insert(filter.clone(), candidates);
        }
        while let Some(id) = wanted.pop_first() {
            let found = match live.get(id) {
                Some(job) => Some(Arc::clone(job)),
                None => job(&self.connection, id, &mut self.names)?.map(Arc::new),
            };
            let Some(job) = found else { continue };
            wanted.extend(job.spec.links.compensates.filter(|first| !set.jobs.contains_key(first)));
            if let Some(user) = job.spec.user_id.as_ref().filter(|_| job.spec.cost > 0) {
                self.load_account(user, &mut set)?;
            }
            set.jobs.insert(id, job);
        }
        Ok(set)
    }

    fn load_keyed(&self, reads: &Reads, set: &mut WorkingSet) -> Result<(), StoreError> {
        for id in &reads.keys {
            set.keys.extend(key(&self.connection, *id)?.map(|record| (*id, record)));
        }
        for user in &reads.accounts {
            self.load_account(user, set)?;
        }
        for job in &reads.dead_letters {
            set.dead_letters.extend(dead_letter(&self.connection, *job)?.map(|letter| (*job, letter)));
        }
        for key in &reads.lifecycles {
            let mut statement =
                self.connection.prepare_cached(include_str!("sql/lifecycle.sql")).map_err(fault)?;
            let source = statement.query_row((key.name.as_str(), key.version), |row| row.get::<_, String>(0));
            set.lifecycles.extend(source.optional().map_err(fault)?.map(|source| (key.clone(), source)));
        }
        if reads.api_keys {
            let keys = watch::api_keys(&self.connection)?;
            set.api_keys = keys.into_iter().map(|key| (key.id.clone(), key)).collect();
        }
        assets::load(&self.connection, reads, set)?;
        self.load_automations(reads, set)
    }

    fn load_account(&self, user: &UserId, set: &mut WorkingSet) -> Result<(), StoreError> {
        if !set.accounts.contains_key(user) {
            set.accounts.extend(account(&self.connection, user)?.map(|account| (user.clone(), account)));
        }
        Ok(())
    }
}
