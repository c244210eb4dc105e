//! Reads for monitoring: gauges, leases, workers, API keys. Those about live jobs are answered from memory.

use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension as _};
use tenure_core::api_key::ApiKey;
use tenure_core::id::WorkerId;
use tenure_core::job::Job;
use tenure_core::time::Timestamp;
use tenure_core::worker::WorkerRecord;

use crate::codec::Interner;
use crate::live::Live;
use crate::sqlite::read::all;
use crate::sqlite::rows::{api_key, fault, worker_seen};
use crate::sqlite::{SqliteStore, load};
use crate::{Gauges, StoreError, WORKERS_MAX};

impl SqliteStore {
    /// Reads the live jobs. A read-only store loads them for each call.
    pub(super) async fn look<T>(&self, look: impl FnOnce(&mut Live) -> T) -> Result<T, StoreError> {
        if self.0.tasks.is_some() {
            return Ok(look(&mut self.live()));
        }
        let live = self.read(|connection| load::live(connection, &mut Interner::default()));
        Ok(look(&mut live.await?))
    }

    pub(super) async fn watched(&self) -> Result<Gauges, StoreError> {
        let now = self.now_blocking().at;
        let (dead_letters, oldest_dead_letter) = self.read(open_dead_letters).await?;
        let (jobs, oldest_ready) = self.look(|live| (live.counts(), live.oldest_ready(now))).await?;
        Ok(Gauges { jobs, oldest_ready, dead_letters, oldest_dead_letter })
    }
}

fn open_dead_letters(connection: &Connection) -> Result<(u64, Option<Timestamp>), StoreError> {
    let mut statement =
        connection.prepare_cached(include_str!("sql/open_dead_letters.sql")).map_err(fault)?;
    let counted = statement.query_row([], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, Option<i64>>(1)?)));
    counted.map(|(count, oldest)| (count as u64, oldest.map(Timestamp))).map_err(fault)
}

pub(super) fn finished(
    connection: &Connection,
    since: Timestamp,
    limit: usize,
) -> Result<Vec<Arc<Job>>, StoreError> {
    let mut names = Interner::default();
    all(connection, include_str!("sql/finished.sql"), (since.0, limit as i64), |row| {
        load::decode(row, &mut names).map(Arc::new)
    })
}

pub(super) fn api_keys(connection: &Connection) -> Result<Vec<ApiKey>, StoreError> {
    all(connection, include_str!("sql/api_keys.sql"), [], |row| api_key(row).map_err(fault))
}

pub(super) fn workers(connection: &Connection) -> Result<Vec<WorkerRecord>, StoreError> {
    all(connection, include_str!("sql/workers.sql"), [WORKERS_MAX as i64], |row| {
        worker_seen(row).map_err(fault)
    })
}

pub(super) fn worker(connection: &Connection, name: &WorkerId) -> Result<Option<WorkerRecord>, StoreError> {
    let mut statement = connection.prepare_cached(include_str!("sql/worker.sql")).map_err(fault)?;
    statement.query_row([name.as_str()], worker_seen).optional().map_err(fault)
}
