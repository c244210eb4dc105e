//! Reads outside of batches, each in a read-only transaction that the server ends after a time limit.
//!
//! Reads of different cost use different connections, so that slow listings delay neither the clock nor heartbeats, keys and
//! claims, nor readers of the journal.

use std::borrow::Cow;
use std::time::Duration;

use tokio_postgres::Row;
use tokio_postgres::types::Type;

use super::connection::{Params, Sql};
use super::rows::{Param, borrowed, decoded};
use super::statements::*;
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

/// While one batch is in the database, the next is put together and the callers of the last are answered.
const PREPARED_BATCHES: usize = 2;

/// Connections of each pool.
const LOOKUPS: u32 = 4;
const LISTINGS: u32 = 4;
const JOURNAL: u32 = 2;
const INTAKE: u32 = 1;
const SCANS: u32 = 2;
/// Those of all pools for reads.
pub(crate) const READ_CONNECTIONS_MAX: u32 = LOOKUPS + LISTINGS + JOURNAL + INTAKE + SCANS;

/// Connections for reads, besides the one for batches.
#[derive(Debug)]
pub(super) struct ReadPools {
    /// For what every batch, claim or request may need: the clock, heartbeats, keys, outcomes of commits, rows by their keys.
    pub(super) lookups: Pool,
    listings: Pool,
    /// For readers of the journal, which listings must not delay.
    journal: Pool,
    /// For the intake: its first page may take minutes.
    intake: Pool,
    scans: Pool,
}

impl ReadPools {
    pub(super) fn new(pool: impl Fn(usize) -> Pool) -> Self {
        let pool = |connections: u32| pool(connections as usize);
        Self {
            lookups: pool(LOOKUPS),
            listings: pool(LISTINGS),
            journal: pool(JOURNAL),
            intake: pool(INTAKE),
            scans: pool(SCANS),
        }
    }
}

/// A node as a query uses it: with the connections for the query's cost.
pub(super) struct Reader<'a> {
    pub(super) node: &'a Node,
    pub(super) pool: &'a Pool,
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
            | Query::Notes { .. }
            | Query::Logs { .. }
            | Query::Telemetry { .. }
            | Query::LastTelemetry { .. }
            | Query::Statistics { .. }
            | Query::Ledger { .. }
            | Query::LedgerBefore { .. }
            | Query::Accounts { .. }
            | Query::Audit { .. }
            | Query::AuditBefore { .. }
            | Query::AuditWithoutJob { .. }
            | Query::Assets { .. }
            | Query::AssetGarbage { .. }
            | Query::Refusals { .. }
            | Query::Workers { .. }
            | Query::HasExpired { .. } => (&pools.listings, READ_MAX),
            Query::Events { .. } => (&pools.journal, READ_MAX),
            // Rows by their keys, small tables, and what is in memory.
            Query::Job { .. }
            | Query::Due { .. }
            | Query::ReadyJobs { .. }
            | Query::Resources { .. }
            | Query::Sequences { .. }
            | Query::Waits { .. }
            | Query::JournalEnd { .. }
            | Query::Account { .. }
            | Query::Automations { .. }
            | Query::DueAutomations { .. }
            | Query::Nodes { .. }
            | Query::Paused { .. }
            | Query::Lifecycles { .. }
            | Query::ApiKeys { .. }
            | Query::Session { .. }
            | Query::Asset { .. }
            | Query::IntakeRecord { .. }
            | Query::Worker { .. } => (&pools.lookups, READ_MAX),
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
        Box::pin(async move {
            if let Query::List { .. } | Query::DeadLetters { .. } | Query::Orphans { .. } = query {
                transact::save_all(self).await?;
            }
            Reader::of(self, &query).answer(query).await
        })
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

    fn intake(&self, cursor: IntakeCursor) -> BackendFuture<'_, Result<IntakePage>> {
        Box::pin(async move { intake::page(&self.readers.intake, &cursor).await })
    }

    fn pending_request(&self, id: JobId) -> BackendFuture<'_, Result<Option<PendingRequest>>> {
        Box::pin(async move {
            let mut connection = self.readers.lookups.get().await?;
            let rows = connection.query_once(&PENDING_REQUEST, &[&id.0]).await?;
            connection.release();
            Ok(decoded(&rows, records::pending_request)?.pop())
        })
    }

    fn properties(&self) -> Properties {
        Properties { kind: StoreKind::Postgres, parallel_batches: PREPARED_BATCHES, is_shared: true }
    }

    fn reload(&self) -> Result<ApplyReload> {
        self.server.reload()
    }

    fn limit_memory(&self, process_bytes: usize) {
        self.process_bytes.store(process_bytes, Ordering::Relaxed);
        if let Some(memory) = self.memory().as_mut() {
            memory.limit_memory(process_bytes);
        }
    }
}

impl Reader<'_> {
    queries!(answer_query);
}

impl Reader<'_> {
    /// From memory if it is unfinished, else its row, which does not change any more.
    pub(super) async fn job(&self, id: JobId) -> Result<Option<Arc<Job>>> {
        let known = |node: &Node| node.memory().as_ref().and_then(|memory| memory.get(id).cloned());
        if known(self.node).is_none()
            && let Some(job) = self.row(id).await?
            && job.phase.is_final()
        {
            return Ok(Some(job));
        }
        follow::catch_up(self.node).await?;
        match known(self.node) {
            Some(job) => Ok(Some(job)),
            None => self.row(id).await,
        }
    }

    async fn row(&self, id: JobId) -> Result<Option<Arc<Job>>> {
        Ok(decoded(&self.ask(&JOB, &[&id.0]).await?, codec::job)?.pop())
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
