//! Reads for monitoring: gauges, leases, finished jobs, workers, API keys. None of them scans finished jobs.

use std::sync::Arc;

use tenure_core::api_key::ApiKey;
use tenure_core::id::WorkerId;
use tenure_core::job::Job;
use tenure_core::time::Timestamp;
use tenure_core::worker::WorkerRecord;
use tokio_postgres::Row;

use super::connection::Sql;
use super::read::{count, rows_max};
use super::rows::{self, get, optional_text, text};
use super::statements::{
    API_KEYS, FINISHED, LEASED, LIVE_COUNTS, OLDEST_READY, OPEN_DEAD_LETTERS, WAITING, WORKER, WORKERS,
};
use super::{Node, clock};
use crate::codec::Interner;
use crate::{Gauges, OldestReady, StoreError, WORKERS_MAX};

impl Node {
    pub(super) async fn gauges(&self) -> Result<Gauges, StoreError> {
        let now = self.now().await?.at.0;
        let jobs = self.ask_by_index(&LIVE_COUNTS).await?.iter().map(count).collect::<Result<_, _>>()?;
        let oldest_ready = self.ask_long(&OLDEST_READY, &[&now]).await?;
        let letters = self.ask_long(&OPEN_DEAD_LETTERS, &[]).await?;
        let letters = clock::one(&letters)?;
        Ok(Gauges {
            jobs,
            oldest_ready: oldest_ready.iter().map(oldest).collect::<Result<_, _>>()?,
            dead_letters: get::<i64>(letters, 0)? as u64,
            oldest_dead_letter: get::<Option<i64>>(letters, 1)?.map(Timestamp),
        })
    }

    pub(super) async fn waiting(&self, limit: usize) -> Result<Vec<Arc<Job>>, StoreError> {
        jobs(&self.ask(&WAITING, &[&rows_max(limit)]).await?)
    }

    pub(super) async fn leased(&self, limit: usize) -> Result<Vec<Arc<Job>>, StoreError> {
        jobs(&self.ask(&LEASED, &[&rows_max(limit)]).await?)
    }

    pub(super) async fn finished(&self, since: Timestamp, limit: usize) -> Result<Vec<Arc<Job>>, StoreError> {
        jobs(&self.ask(&FINISHED, &[&since.0, &rows_max(limit)]).await?)
    }

    pub(super) async fn api_keys(&self) -> Result<Vec<ApiKey>, StoreError> {
        self.ask(&API_KEYS, &[]).await?.iter().map(rows::api_key).collect()
    }

    pub(super) async fn workers(&self) -> Result<Vec<WorkerRecord>, StoreError> {
        self.ask(&WORKERS, &[&rows_max(WORKERS_MAX)]).await?.iter().map(worker_record).collect()
    }

    pub(super) async fn worker(&self, name: WorkerId) -> Result<Option<WorkerRecord>, StoreError> {
        self.ask(&WORKER, &[&name.as_str()]).await?.first().map(worker_record).transpose()
    }
}

impl Node {
    /// Runs a statement with sequential scans disabled.
    async fn ask_by_index(&self, sql: &'static Sql) -> Result<Vec<Row>, StoreError> {
        let mut connection = self.readers.get().await?;
        connection.set_busy(true);
        connection.batch("begin; set local enable_seqscan = off").await?;
        let rows = connection.query_long(sql, &[]).await?;
        connection.batch("commit").await?;
        connection.set_busy(false);
        Ok(rows)
    }
}

fn jobs(rows: &[Row]) -> Result<Vec<Arc<Job>>, StoreError> {
    let mut names = Interner::default();
    rows.iter().map(|row| rows::job(row, &mut names)).collect()
}

fn oldest(row: &Row) -> Result<OldestReady, StoreError> {
    Ok(OldestReady { queue: text(row, 0)?, job_type: text(row, 1)?, since: Timestamp(get(row, 2)?) })
}

fn worker_record(row: &Row) -> Result<WorkerRecord, StoreError> {
    Ok(WorkerRecord {
        name: text(row, 0)?,
        credential: optional_text(row, 1)?,
        seen_at: Timestamp(get(row, 2)?),
        connection: get(row, 3)?,
    })
}
