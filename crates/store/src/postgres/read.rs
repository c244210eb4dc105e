//! Reads outside of batches, each in a read-only transaction that the server ends after a time limit.
//!
//! Reads of different cost use different connections, so that slow listings delay neither the clock nor heartbeats, keys and
//! claims.

use std::borrow::Cow;
use std::time::Duration;

use tokio_postgres::Row;
use tokio_postgres::types::Type;

use super::connection::{Params, Sql, answered_within, begin_within};
use super::pool::Pooled;
use super::rows::{Param, borrowed, decoded};
use super::statements::*;
use super::write::clock_slot;
use super::*;
use crate::list::Bound;
use crate::query::queries;
use crate::reads::{Database, Dialect, FromRows, answer_query, read_by};
use crate::row::RowReader;

/// A row limit as a parameter.
pub(super) fn rows_max(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

/// Time limit of a look-up or a listing in the database.
const READ_MAX: Duration = Duration::from_secs(5);
/// Time limit of a statement that reads whole tables.
const SCAN_MAX: Duration = Duration::from_mins(10);

/// Connections for reads, besides one for each batch worker.
#[derive(Debug)]
pub(super) struct ReadPools {
    /// For what every batch, claim or request may need: the clock, heartbeats, keys, outcomes of commits, rows by their keys.
    pub(super) lookups: Pool,
    listings: Pool,
    scans: Pool,
}

impl ReadPools {
    pub(super) fn new(pool: impl Fn(usize) -> Pool) -> Self {
        Self { lookups: pool(4), listings: pool(4), scans: pool(2) }
    }
}

/// A node as a query uses it: with the connections for the query's cost.
pub(super) struct Reader<'a> {
    pub(super) node: &'a Node,
    pool: &'a Pool,
    most: Duration,
}

impl<'a> Reader<'a> {
    fn of(node: &'a Node, query: &Query) -> Self {
        let pools = &node.readers;
        let (pool, most) = match query {
            Query::Counts { .. }
            | Query::Gauges { .. }
            | Query::Scan { .. }
            | Query::ScanAccounts { .. }
            | Query::Orphans { .. } => (&pools.scans, SCAN_MAX),
            Query::List { .. }
            | Query::NthOlder { .. }
            | Query::DeadLetters { .. }
            | Query::Leased { .. }
            | Query::Waiting { .. }
            | Query::Finished { .. }
            | Query::CompletedBetween { .. }
            | Query::History { .. }
            | Query::Logs { .. }
            | Query::Telemetry { .. }
            | Query::Ledger { .. }
            | Query::LedgerBefore { .. }
            | Query::Accounts { .. }
            | Query::Audit { .. }
            | Query::AuditBefore { .. }
            | Query::Assets { .. }
            | Query::AssetGarbage { .. } => (&pools.listings, READ_MAX),
            _ => (&pools.lookups, READ_MAX),
        };
        Self { node, pool, most }
    }

    /// Runs a statement.
    pub(super) async fn ask(&self, sql: &'static Sql, params: &Params<'_>) -> Result<Vec<Row>> {
        self.ask_typed(sql.text, params, &sql.types).await
    }

    async fn ask_typed(&self, sql: &str, params: &Params<'_>, types: &[Type]) -> Result<Vec<Row>> {
        let mut connection = self.pool.get().await?;
        let rows = connection.query_within(self.most, "begin read only", sql, params, types).await?;
        connection.release();
        Ok(rows)
    }

    /// A connection on which all statements see the same snapshot, until [`Snapshot::end`].
    pub(super) async fn snapshot(&self) -> Result<Snapshot> {
        let connection = self.pool.get().await?;
        let begin = begin_within(self.most, "begin isolation level repeatable read, read only");
        connection.batch(&begin).await?;
        Ok(Snapshot { connection, most: self.most })
    }
}

/// A read-only transaction.
pub(super) struct Snapshot {
    connection: Pooled,
    most: Duration,
}

impl Snapshot {
    pub(super) async fn ask(&self, sql: &'static Sql, params: &Params<'_>) -> Result<Vec<Row>> {
        let ask = self.connection.ask_once(sql.text, params, &sql.types);
        Ok(answered_within(self.most, ask).await?)
    }

    pub(super) async fn end(mut self) -> Result<()> {
        self.connection.batch("commit").await?;
        self.connection.release();
        Ok(())
    }
}

impl Database for Reader<'_> {
    const DIALECT: Dialect = Dialect::Postgres;

    async fn rows<T: Send + 'static>(
        &self,
        sql: Cow<'static, str>,
        values: Vec<Bound>,
        decode: fn(&mut RowReader<'_>) -> Result<T>,
    ) -> Result<Vec<T>> {
        let (types, params): (Vec<Type>, Vec<Param<'_>>) = values.iter().map(bound).unzip();
        let rows = self.ask_typed(&sql, &borrowed(&params), &types).await?;
        decoded(&rows, decode)
    }

    async fn now(&self) -> Result<Now> {
        self.node.database_now().await
    }
}

impl Backend for Node {
    fn transact(&self, reads: Reads, decide: Decide) -> BackendFuture<'_, Result<()>> {
        Box::pin(transact::transact(self, reads, decide))
    }

    fn read(&self, query: Query) -> BackendFuture<'_, Result<QueryAnswer>> {
        Box::pin(async move { Reader::of(self, &query).answer(query).await })
    }

    fn now(&self) -> BackendFuture<'_, Result<Now>> {
        Box::pin(self.database_now())
    }

    fn heartbeat(&self) -> BackendFuture<'_, Result<()>> {
        Box::pin(async { Ok(self.record_heartbeat().await?) })
    }

    fn remote_commit(&self) -> BackendFuture<'_, Option<Vec<ReadyJobs>>> {
        Box::pin(self.notifications.remote_commit())
    }

    fn properties(&self) -> Properties {
        let parallel_batches = self.parallel_batches;
        Properties { kind: StoreKind::Postgres, parallel_batches, is_shared: true }
    }

    fn reload(&self) -> Result<ApplyReload> {
        self.server.reload()
    }
}

impl Reader<'_> {
    queries!(answer_query);
}

impl Reader<'_> {
    pub(super) async fn job(&self, id: JobId) -> Result<Option<Arc<Job>>> {
        Ok(decoded(&self.ask(&JOB, &[&id.0]).await?, codec::job)?.pop())
    }

    pub(super) async fn counts(&self) -> Result<Vec<Count>> {
        decoded(&self.ask(&COUNTS, &[]).await?, records::count)
    }

    pub(super) async fn due(&self, limit: usize) -> Result<Vec<JobId>> {
        let running = self.node.database_now().await?.running().0;
        let rows = self.ask(&DUE, &[&clock_slot(running), &running, &rows_max(limit)]).await?;
        decoded(&rows, records::job_id)
    }

    pub(super) async fn ready_jobs(&self, filters: Vec<ClaimFilter>, limit: usize) -> Result<Vec<ReadyJobs>> {
        let now = match self.node.clock.estimate() {
            Some(now) => now,
            None => self.node.database_now().await?.at.0,
        };
        // The statement finds what one of the filters may admit; a filter without queues or types admits any.
        let queues: Option<Vec<_>> = filters.iter().map(|filter| filter.queues.as_ref()).collect();
        let queues =
            queues.map(|queues| queues.into_iter().flatten().map(QueueName::as_str).collect::<Vec<_>>());
        let types: Option<Vec<_>> = filters.iter().map(|filter| filter.types.as_ref()).collect();
        let types = types.map(|types| types.into_iter().flatten().map(TypeName::as_str).collect::<Vec<_>>());
        let rows = self.ask(&READY_JOBS, &[&now, &rows_max(limit), &queues, &types]).await?;
        let slots = decoded(&rows, |row| {
            let (queue, job_type) = (row.name()?, row.name()?);
            Ok(ReadyJobs { queue, job_type, claimable: row.get::<u64>()? as usize, next_run: row.get()? })
        })?;
        let is_admitted =
            |slot: &ReadyJobs| filters.iter().any(|filter| filter.admits(&slot.queue, &slot.job_type));
        Ok(slots.into_iter().filter(is_admitted).collect())
    }
}

/// A filter value as a driver parameter.
fn bound(value: &Bound) -> (Type, Param<'_>) {
    match value {
        Bound::Text(text) => (Type::TEXT, Box::new(text)),
        Bound::Number(number) => (Type::INT8, Box::new(number)),
        Bound::Id(id) => (Type::UUID, Box::new(id)),
        Bound::Flag(flag) => (Type::BOOL, Box::new(flag)),
    }
}
