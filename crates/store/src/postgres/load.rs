//! Loads the working set of a batch in one round trip: everything in `Reads` is queried at once and locked in an order that
//! is the same for all batches: keys, jobs, candidates (skipping locked ones), accounts, API keys, automations.
//!
//! Rows that loaded rows refer to are read afterwards without a lock. A batch that changes one of them, which is rare, is
//! run again with it among its reads, and so in lock order. Hence two batches never deadlock.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use tokio_postgres::Row;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::Node;
use super::claim::{self, Search};
use super::clock::{Reading, one};
use super::connection::{Connection, Rows, Sent};
use super::error::StatementFault;
use super::rows::{ColumnArrays, Request, borrowed, decoded, for_each, get};
use super::statements::{
    BEGIN, LOAD_ACCOUNTS, LOAD_JOB_STATES, LOAD_JOBS, LOAD_KEYS, LOAD_REFERENCED, LOAD_REFERENCED_ACCOUNTS,
    LOAD_UNIQUE_RECORDS, NOW_BATCH,
};
use crate::codec::{self, Interner, corrupt};
use crate::prelude::*;
use crate::reads::Statement;
use crate::row::RowReader;
use crate::tables::{self, FoundRows, TableReader, Take};
use crate::{Result, records};

/// The loaded rows, and which of them are locked.
#[derive(Debug, Default)]
pub(super) struct Loaded {
    pub(super) set: WorkingSet,
    pub(super) reading: Reading,
    /// The locked jobs as they were.
    pub(super) jobs: HashMap<JobId, Locked>,
    /// Accounts that are locked or do not exist.
    pub(super) accounts: BTreeSet<UserId>,
    /// Existing rows, which are updated instead of inserted.
    pub(super) found_accounts: BTreeSet<UserId>,
    pub(super) found_keys: BTreeSet<KeyId>,
    pub(super) found: FoundRows,
    pub(super) candidates: BTreeMap<ClaimFilter, Vec<JobId>>,
}

/// What a write needs to know of a job before the batch.
#[derive(Debug)]
pub(super) struct Locked {
    pub(super) seq: u32,
    /// `None` if the job is finished.
    pub(super) state: Option<StateName>,
}

type Value = dyn ToSql + Sync;

/// The rows of a batch besides jobs, idempotency keys and accounts.
#[derive(Default)]
struct TableLoads<'a>(Vec<TableLoad<'a>>);

struct TableLoad<'a> {
    request: Request<'a>,
    take: Take,
}

impl<'a> TableReader<'a> for TableLoads<'a> {
    type Columns<K: Copy> = ColumnArrays<'a, K>;

    fn load<K: Copy>(
        &mut self,
        statement: Statement,
        keys: impl IntoIterator<Item = K>,
        columns: impl FnMut(&mut ColumnArrays<'a, K>),
        take: Take,
    ) -> Result<()> {
        let arrays = ColumnArrays::of(keys, columns);
        self.0.extend(arrays.map(|arrays| TableLoad { request: arrays.request(statement.postgres), take }));
        Ok(())
    }
}

/// The parameters of the first round trip.
struct LoadParams {
    keys: Vec<Uuid>,
    jobs: Vec<Uuid>,
    /// Specs that were cached when the batch began. The batch keeps them, since the cache may evict them at any time.
    cached: HashMap<JobId, Arc<Spec>>,
    /// Jobs whose specs were not cached.
    uncached: Vec<Uuid>,
    users: Vec<String>,
}

impl LoadParams {
    fn of(node: &Node, reads: &Reads) -> Self {
        let mut users: BTreeSet<&str> = reads.accounts.iter().map(|it| &**it).collect();
        let cached = reads.jobs.iter().filter_map(|id| Some((*id, node.specs.get(*id)?)));
        let cached: HashMap<JobId, Arc<Spec>> = cached.collect();
        for spec in cached.values().filter(|spec| spec.cost > 0) {
            users.extend(spec.user_id.as_deref());
        }
        Self {
            keys: reads.keys.iter().map(|key| Uuid::from_bytes(key.0)).collect(),
            jobs: reads.jobs.iter().map(|id| id.0).collect(),
            uncached: reads.jobs.iter().filter(|id| !cached.contains_key(id)).map(|id| id.0).collect(),
            users: users.into_iter().map(str::to_owned).collect(),
            cached,
        }
    }
}

/// Begins a transaction and loads `reads` and the rows that they refer to.
pub(super) async fn load(
    connection: &Connection,
    node: &Node,
    reads: &Reads,
) -> Result<Loaded, StatementFault> {
    let searches = claim::searches(connection, node, reads).await?;
    let (mut loaded, short) = first(connection, node, reads, searches).await?;
    if loaded.reading.is_outage() {
        return Ok(loaded);
    }
    claim::again(connection, node, reads, &short, &mut loaded).await?;
    load_unique_records(connection, reads, &mut loaded).await?;
    load_referenced(connection, &mut loaded).await?;
    loaded.found = FoundRows::of(&loaded.set);
    Ok(loaded)
}

/// The first round trip. Also returns the claims that found too few jobs.
async fn first(
    connection: &Connection,
    node: &Node,
    reads: &Reads,
    searches: Vec<Search>,
) -> Result<(Loaded, Vec<ClaimFilter>), StatementFault> {
    let mut params = LoadParams::of(node, reads);
    let cached = std::mem::take(&mut params.cached);
    let keys: [&Value; 1] = [&params.keys];
    let jobs: [&Value; 1] = [&params.jobs];
    let uncached: [&Value; 1] = [&params.uncached];
    let accounts: [&Value; 2] = [&params.users, &params.uncached];
    let mut tables = TableLoads::default();
    tables::load(&mut tables, reads)?;
    let table_params: Vec<_> = tables.0.iter().map(|load| borrowed(&load.request.params)).collect();

    let begin = connection.send_begin(BEGIN);
    let now = connection.send(&NOW_BATCH, &[]);
    let keys = (!params.keys.is_empty()).then(|| connection.send(&LOAD_KEYS, &keys));
    let states = (!params.jobs.is_empty()).then(|| connection.send(&LOAD_JOB_STATES, &jobs));
    let specs = (!params.uncached.is_empty()).then(|| connection.send(&LOAD_JOBS, &uncached));
    let claims: Vec<_> = searches.iter().map(|search| search.send(connection)).collect();
    let has_accounts = !params.users.is_empty() || !params.uncached.is_empty();
    let accounts = has_accounts.then(|| connection.send(&LOAD_ACCOUNTS, &accounts));
    let rows = tables.0.iter().zip(&table_params);
    let rows: Vec<_> = rows.map(|(load, params)| connection.send(&load.request.sql, params)).collect();

    begin.await?;
    let mut loading = Loading::begin(node, &now.await?)?;
    loading.keys(&rows_of(keys).await?)?;
    let states = rows_of(states).await?;
    let specs = loading.specs(cached, &rows_of(specs).await?)?;
    loading.states(&specs, &states)?;
    let mut short = Vec::new();
    for (search, sent) in searches.iter().zip(claims) {
        let found = loading.candidates(search, &rows_of(sent).await?)?;
        let is_short = search.is_short(found, loading.loaded.reading.at);
        short.extend(is_short.then(|| search.filter.clone()));
    }
    loading.accounts(reads, &rows_of(accounts).await?)?;
    for (load, rows) in tables.0.iter().zip(rows) {
        for_each(&rows.await?, &mut loading.names, |row| (load.take)(&mut loading.loaded.set, row))?;
    }
    Ok((loading.loaded, short))
}

async fn rows_of(sent: Option<Sent<'_, Rows>>) -> Rows {
    match sent {
        Some(sent) => sent.await,
        None => Ok(Vec::new()),
    }
}

/// Decodes rows into the working set.
struct Loading<'a> {
    node: &'a Node,
    names: Interner,
    loaded: Loaded,
}

impl<'a> Loading<'a> {
    fn begin(node: &'a Node, rows: &[Row]) -> Result<Self> {
        let row = one(rows)?;
        let paused: Vec<&str> = get(row, 4)?;
        let set =
            WorkingSet { paused: paused.into_iter().map(Into::into).collect(), ..WorkingSet::default() };
        let loaded = Loaded { set, reading: Reading::of(row)?, ..Loaded::default() };
        Ok(Self { node, names: Interner::default(), loaded })
    }

    fn keys(&mut self, rows: &[Row]) -> Result<()> {
        for_each(rows, &mut self.names, |row| self.loaded.take_key(row))
    }

    /// Adds the specs that were read to those that were cached, and to the cache.
    fn specs(
        &mut self,
        mut specs: HashMap<JobId, Arc<Spec>>,
        rows: &[Row],
    ) -> Result<HashMap<JobId, Arc<Spec>>> {
        for_each(rows, &mut self.names, |row| {
            let spec = Arc::new(codec::spec(row)?);
            self.node.specs.put(&spec);
            specs.insert(spec.id, spec);
            Ok(())
        })?;
        Ok(specs)
    }

    fn states(&mut self, specs: &HashMap<JobId, Arc<Spec>>, rows: &[Row]) -> Result<()> {
        for_each(rows, &mut self.names, |row| {
            let id = JobId(row.get()?);
            let spec = specs.get(&id).ok_or_else(|| corrupt("jobs", id, "the row is not there"))?;
            self.loaded.lock(Arc::new(codec::state(row, Arc::clone(spec))?));
            Ok(())
        })
    }

    fn candidates(&mut self, search: &Search, rows: &[Row]) -> Result<usize> {
        claim::take(self.node, &mut self.loaded, search, rows, &mut self.names)
    }

    fn accounts(&mut self, reads: &Reads, rows: &[Row]) -> Result<()> {
        let loaded = &mut self.loaded;
        let owners = reads.jobs.iter().filter_map(|id| loaded.set.jobs.get(id)).filter_map(|job| payer(job));
        loaded.accounts = owners.chain(reads.accounts.iter()).cloned().collect();
        for (user, account) in decoded(rows, records::account)? {
            loaded.found_accounts.insert(user.clone());
            loaded.set.accounts.insert(user, account);
        }
        Ok(())
    }
}

impl Loaded {
    fn take_key(&mut self, row: &mut RowReader<'_>) -> Result<()> {
        let id = KeyId(row.get::<Uuid>()?.into_bytes());
        self.found_keys.insert(id);
        self.set.keys.insert(id, records::key(row, id)?);
        Ok(())
    }

    /// Adds a locked job.
    pub(super) fn lock(&mut self, job: Arc<Job>) {
        let state = job.times.completed_at.is_none().then(|| job.state.clone());
        self.jobs.insert(job.id(), Locked { seq: job.seq, state });
        self.set.jobs.insert(job.id(), job);
    }
}

/// The user whose account the job changes.
pub(super) fn payer(job: &Job) -> Option<&UserId> {
    job.spec.user_id.as_ref().filter(|_| job.spec.cost > 0)
}

/// The records of the unique keys of jobs that are amended, copied or deleted.
async fn load_unique_records(
    connection: &Connection,
    reads: &Reads,
    loaded: &mut Loaded,
) -> Result<(), StatementFault> {
    let records = loaded.set.jobs.values().filter_map(|job| reads.record_of(job));
    let wanted: BTreeSet<KeyId> = records.filter(|id| !loaded.found_keys.contains(id)).collect();
    let wanted: Vec<Uuid> = wanted.into_iter().map(|id| Uuid::from_bytes(id.0)).collect();
    if wanted.is_empty() {
        return Ok(());
    }
    let rows = connection.query(&LOAD_UNIQUE_RECORDS, &[&wanted]).await?;
    for_each(&rows, &mut Interner::default(), |row| loaded.take_key(row))?;
    Ok(())
}

/// Jobs that keys name or loaded jobs compensate; then the accounts of all jobs with a cost.
async fn load_referenced(connection: &Connection, loaded: &mut Loaded) -> Result<(), StatementFault> {
    let mut params = BTreeSet::new();
    loop {
        let set = &loaded.set;
        let targets = set.keys.values().flat_map(|record| record.targets.iter().map(|(job, _)| *job));
        let firsts = set.jobs.values().filter_map(|job| job.spec.links.compensates);
        let wanted = targets.chain(firsts).filter(|id| !set.jobs.contains_key(id));
        let wanted: Vec<Uuid> = wanted.filter(|id| params.insert(*id)).map(|id| id.0).collect();
        if wanted.is_empty() {
            break;
        }
        let found = decoded(&connection.query(&LOAD_REFERENCED, &[&wanted]).await?, codec::job)?;
        loaded.set.jobs.extend(found.into_iter().map(|job| (job.id(), job)));
    }
    let users: BTreeSet<&UserId> = loaded.set.jobs.values().filter_map(|job| payer(job)).collect();
    let users = users.into_iter().filter(|user| !loaded.accounts.contains(*user));
    let users: Vec<String> = users.map(ToString::to_string).collect();
    if users.is_empty() {
        return Ok(());
    }
    let rows = connection.query(&LOAD_REFERENCED_ACCOUNTS, &[&users]).await?;
    loaded.set.accounts.extend(decoded(&rows, records::account)?);
    Ok(())
}
