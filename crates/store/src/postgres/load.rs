//! Loads the working set of a batch in one round trip, under the journal's lock: the journal after the position that this node
//! knows, and what is not in its memory. So the batch decides on the present state of every job.
//!
//! Rows that loaded rows refer to are read afterwards, under the same lock.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tenure_core::intake::IntakePlace;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::Node;
use super::claim;
use super::clock::Reading;
use super::connection::{Connection, Rows, Sent};
use super::error::StatementFault;
use super::follow::{self, Present, Progress, TailRequests};
use super::memory::Followed;
use super::rows::{ColumnArrays, Request, borrowed, decoded, for_each};
use super::statements::{
    BEGIN, LOAD_ACCOUNTS, LOAD_INTAKE, LOAD_KEYS, LOAD_REFERENCED, LOCK_JOURNAL, NOW_BATCH,
};
use super::tail::{TAIL_BYTES_MAX, TAIL_ROWS_MAX};
use crate::codec::{self, Interner};
use crate::prelude::*;
use crate::reads::Statement;
use crate::row::RowReader;
use crate::tables::{self, FoundRows, TableReader, Take};
use crate::{Result, records};

/// The loaded rows, and which of them exist.
#[derive(Debug, Default)]
pub(super) struct Loaded {
    pub(super) set: WorkingSet,
    pub(super) reading: Reading,
    /// The end of the journal when the batch began.
    pub(super) position: i64,
    /// The jobs as they were.
    pub(super) before: BTreeMap<JobId, Arc<Job>>,
    /// Existing rows, which are updated instead of inserted.
    pub(super) found_accounts: BTreeSet<UserId>,
    pub(super) found_keys: BTreeSet<KeyId>,
    pub(super) found: FoundRows,
    /// Jobs that were read from their rows.
    pub(super) rows: BTreeMap<JobId, Arc<Job>>,
    /// Jobs whose rows were asked for.
    asked: BTreeSet<JobId>,
}

/// The result of a load.
pub(super) enum Load {
    Done(Box<Loaded>),
    /// No node ran for a while, which has to be recorded first.
    Outage(Reading),
    /// The memory of this node is too far behind the journal to follow it within a batch, or has changed meanwhile.
    Behind,
    /// It cannot follow from its position.
    Lost,
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

/// Begins a transaction, takes the journal's lock, and loads `reads` and the rows that they refer to.
pub(super) async fn load(
    connection: &Connection,
    node: &Node,
    reads: &Reads,
) -> Result<Load, StatementFault> {
    let (progress, mut loaded) = first(connection, node, reads).await?;
    match progress {
        Progress::More => return Ok(Load::Behind),
        Progress::Lost => return Ok(Load::Lost),
        Progress::Present if loaded.reading.is_outage() => return Ok(Load::Outage(loaded.reading)),
        Progress::Present => loaded.reading = node.clock.seen(loaded.reading),
    }
    claim::candidates(connection, node, reads, &mut loaded).await?;
    let candidates = loaded.set.candidates.values().flatten().map(|candidate| candidate.id);
    let chosen = candidates.chain(reads.jobs.iter().copied()).collect();
    loaded.fill(connection, node, chosen).await?;
    loaded.unique_records(connection, reads).await?;
    loaded.referenced(connection, node).await?;
    loaded.payers(connection).await?;
    if let Some(memory) = node.memory().as_ref() {
        loaded.set.flow = memory.live.flow_view(reads, &loaded.set, loaded.position as u64);
    }
    loaded.before = loaded.set.jobs.clone();
    loaded.found_keys = loaded.set.keys.keys().copied().collect();
    loaded.found_accounts = loaded.set.accounts.keys().cloned().collect();
    loaded.found = FoundRows::of(&loaded.set);
    // A memory that was replaced may be older than the records that this batch has followed.
    let is_same = node.followed().is_some_and(|followed| followed.position == loaded.position);
    Ok(if is_same { Load::Done(loaded) } else { Load::Behind })
}

/// The first round trip, and whether the memory is of the present after it.
async fn first(
    connection: &Connection,
    node: &Node,
    reads: &Reads,
) -> Result<(Progress, Box<Loaded>), StatementFault> {
    let Some((followed, unknown)) = unknown_jobs(node, reads) else {
        return Ok((Progress::More, Box::default()));
    };
    let tail_params: [&Value; 3] = [&followed.position, &TAIL_ROWS_MAX, &TAIL_BYTES_MAX];
    let key_ids: Vec<Uuid> = reads.keys.iter().map(|key| Uuid::from_bytes(key.0)).collect();
    let unknown_ids: Vec<Uuid> = unknown.iter().map(|id| id.0).collect();
    let users: Vec<String> = reads.accounts.iter().map(ToString::to_string).collect();
    let (keys, jobs, accounts): ([&Value; 1], [&Value; 1], [&Value; 1]) =
        ([&key_ids], [&unknown_ids], [&users]);
    let (transactions, numbers): (Vec<i64>, Vec<i64>) =
        reads.intake.iter().map(|place| (place.transaction, place.number)).unzip();
    let intake_params: [&Value; 2] = [&transactions, &numbers];
    let mut tables = TableLoads::default();
    tables::load(&mut tables, reads)?;
    let table_params: Vec<_> = tables.0.iter().map(|load| borrowed(&load.request.params)).collect();

    let begin = connection.send_begin(BEGIN);
    let lock = connection.send(&LOCK_JOURNAL, &[]);
    let now = connection.send(&NOW_BATCH, &[]);
    let tail = TailRequests::send(connection, &tail_params);
    let keys = (!key_ids.is_empty()).then(|| connection.send(&LOAD_KEYS, &keys));
    let jobs = (!unknown_ids.is_empty()).then(|| connection.send(&LOAD_REFERENCED, &jobs));
    let accounts = (!users.is_empty()).then(|| connection.send(&LOAD_ACCOUNTS, &accounts));
    let intake = (!reads.intake.is_empty()).then(|| connection.send(&LOAD_INTAKE, &intake_params));
    let rows = tables.0.iter().zip(&table_params);
    let rows: Vec<_> = rows.map(|(load, params)| connection.send(&load.request.sql, params)).collect();

    begin.await?;
    lock.await?;
    let present = Present::of(&now.await?)?;
    let mut loaded = Box::new(Loaded { reading: present.reading, asked: unknown, ..Loaded::default() });
    let tail = tail.receive().await?;
    for_each(&rows_of(keys).await?, &mut Interner::default(), |row| loaded.take_key(row))?;
    let jobs = decoded(&rows_of(jobs).await?, codec::job)?;
    loaded.rows.extend(jobs.into_iter().map(|job| (job.id(), job)));
    loaded.set.accounts.extend(decoded(&rows_of(accounts).await?, records::account)?);
    for_each(&rows_of(intake).await?, &mut Interner::default(), |row| {
        loaded.set.intake.insert(IntakePlace { transaction: row.get()?, number: row.get()? });
        Ok(())
    })?;
    for (load, rows) in tables.0.iter().zip(rows) {
        for_each(&rows.await?, &mut Interner::default(), |row| (load.take)(&mut loaded.set, row))?;
    }
    let progress = follow::apply(connection, node, followed, &present, tail).await?;
    loaded.set.paused = present.paused;
    loaded.position = node.followed().unwrap_or(followed).position;
    Ok((progress, loaded))
}

/// What this node knows of the journal, and the jobs of a batch that are not in its memory; `None` if it knows nothing yet.
fn unknown_jobs(node: &Node, reads: &Reads) -> Option<(Followed, BTreeSet<JobId>)> {
    let memory = node.memory();
    let memory = memory.as_ref()?;
    let unknown = reads.jobs.iter().filter(|id| memory.get(**id).is_none());
    Some((memory.followed(), unknown.copied().collect()))
}

async fn rows_of(sent: Option<Sent<'_, Rows>>) -> Rows {
    match sent {
        Some(sent) => sent.await,
        None => Ok(Vec::new()),
    }
}

impl Loaded {
    fn take_key(&mut self, row: &mut RowReader<'_>) -> Result<()> {
        let id = KeyId(row.get::<Uuid>()?.into_bytes());
        self.set.keys.insert(id, records::key(row, id)?);
        Ok(())
    }

    /// Adds jobs to the working set: from memory, from rows that were read, or by reading their rows.
    async fn fill(
        &mut self,
        connection: &Connection,
        node: &Node,
        wanted: BTreeSet<JobId>,
    ) -> Result<(), StatementFault> {
        let missing = self.fill_from_memory(node, wanted);
        if missing.is_empty() {
            return Ok(());
        }
        self.asked.extend(&missing);
        let ids: Vec<Uuid> = missing.iter().map(|id| id.0).collect();
        let jobs = decoded(&connection.query(&LOAD_REFERENCED, &[&ids]).await?, codec::job)?;
        self.set.jobs.extend(jobs.into_iter().map(|job| (job.id(), job)));
        Ok(())
    }

    /// Returns the jobs whose rows have to be read.
    fn fill_from_memory(&mut self, node: &Node, wanted: BTreeSet<JobId>) -> BTreeSet<JobId> {
        let memory = node.memory();
        let mut missing = BTreeSet::new();
        for id in wanted {
            let known = memory.as_ref().and_then(|memory| memory.get(id)).or_else(|| self.rows.get(&id));
            match known {
                Some(job) => {
                    self.set.jobs.insert(id, Arc::clone(job));
                }
                None if self.asked.contains(&id) => {}
                None => {
                    missing.insert(id);
                }
            }
        }
        missing
    }

    /// The records of the unique keys of jobs that are amended, copied or deleted.
    async fn unique_records(&mut self, connection: &Connection, reads: &Reads) -> Result<(), StatementFault> {
        let records = self.set.jobs.values().filter_map(|job| reads.record_of(job));
        let wanted: BTreeSet<KeyId> = records.filter(|id| !self.set.keys.contains_key(id)).collect();
        let wanted: Vec<Uuid> = wanted.into_iter().map(|id| Uuid::from_bytes(id.0)).collect();
        if wanted.is_empty() {
            return Ok(());
        }
        let rows = connection.query(&LOAD_KEYS, &[&wanted]).await?;
        Ok(for_each(&rows, &mut Interner::default(), |row| self.take_key(row))?)
    }

    /// Jobs that keys name or loaded jobs compensate.
    async fn referenced(&mut self, connection: &Connection, node: &Node) -> Result<(), StatementFault> {
        loop {
            let set = &self.set;
            let targets = set.keys.values().flat_map(|record| record.targets.iter().map(|(job, _)| *job));
            let firsts = set.jobs.values().filter_map(|job| job.spec.links.compensates);
            let wanted = targets.chain(firsts).filter(|id| !set.jobs.contains_key(id));
            let wanted: BTreeSet<JobId> = wanted.filter(|id| !self.asked.contains(id)).collect();
            if wanted.is_empty() {
                return Ok(());
            }
            self.fill(connection, node, wanted).await?;
        }
    }

    /// The accounts of all jobs with a cost.
    async fn payers(&mut self, connection: &Connection) -> Result<(), StatementFault> {
        let set = &self.set;
        let users: BTreeSet<&UserId> = set.jobs.values().filter_map(|job| payer(job)).collect();
        let users = users.into_iter().filter(|user| !set.accounts.contains_key(*user));
        let users: Vec<String> = users.map(ToString::to_string).collect();
        if users.is_empty() {
            return Ok(());
        }
        let rows = connection.query(&LOAD_ACCOUNTS, &[&users]).await?;
        self.set.accounts.extend(decoded(&rows, records::account)?);
        Ok(())
    }
}

/// The user whose account the job changes.
fn payer(job: &Job) -> Option<&UserId> {
    job.spec.user_id.as_ref().filter(|_| job.spec.cost > 0)
}
