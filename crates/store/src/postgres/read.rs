//! Reads: each is one statement on a pooled connection, outside of any transaction.

use std::borrow::Cow;

use tokio_postgres::Row;
use tokio_postgres::types::Type;

use super::connection::{Params, Sql, answered};
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

impl Database for Node {
    const DIALECT: Dialect = Dialect::Postgres;

    async fn rows<T: Send + 'static>(
        &self,
        sql: Cow<'static, str>,
        values: Vec<Bound>,
        decode: fn(&mut RowReader<'_>) -> Result<T>,
    ) -> Result<Vec<T>> {
        let (types, params): (Vec<Type>, Vec<Param<'_>>) = values.iter().map(bound).unzip();
        let params = borrowed(&params);
        let mut connection = self.readers.get().await?;
        let rows = answered(connection.ask_once(&sql, &params, &types)).await?;
        connection.release();
        decoded(&rows, decode)
    }
}

impl Backend for Node {
    fn transact(&self, reads: Reads, decide: Decide) -> BackendFuture<'_, Result<()>> {
        Box::pin(transact::transact(self, reads, decide))
    }

    fn read(&self, query: Query) -> BackendFuture<'_, Result<QueryAnswer>> {
        Box::pin(self.answer(query))
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
}

impl Node {
    queries!(answer_query);
}

impl Node {
    /// Runs a statement on a pooled connection.
    pub(super) async fn ask(&self, sql: &'static Sql, params: &Params<'_>) -> Result<Vec<Row>> {
        let mut connection = self.readers.get().await?;
        let rows = connection.query_once(sql, params).await?;
        connection.release();
        Ok(rows)
    }

    /// Runs a statement that reads whole tables, with a longer time limit.
    pub(super) async fn ask_long(&self, sql: &'static Sql, params: &Params<'_>) -> Result<Vec<Row>> {
        let mut connection = self.readers.get().await?;
        let rows = connection.query_long(sql, params).await?;
        connection.release();
        Ok(rows)
    }

    pub(super) async fn job(&self, id: JobId) -> Result<Option<Arc<Job>>> {
        Ok(decoded(&self.ask(&JOB, &[&id.0]).await?, codec::job)?.pop())
    }

    pub(super) async fn counts(&self) -> Result<Vec<Count>> {
        decoded(&self.ask_long(&COUNTS, &[]).await?, records::count)
    }

    pub(super) async fn due(&self, limit: usize) -> Result<Vec<JobId>> {
        let running = self.database_now().await?.running().0;
        let rows = self.ask(&DUE, &[&clock_slot(running), &running, &rows_max(limit)]).await?;
        decoded(&rows, records::job_id)
    }

    pub(super) async fn ready_jobs(&self, filters: Vec<ClaimFilter>, limit: usize) -> Result<Vec<ReadyJobs>> {
        let now = match self.clock.estimate() {
            Some(now) => now,
            None => self.database_now().await?.at.0,
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
