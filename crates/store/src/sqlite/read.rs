//! Reads: on separate connections, a few statements each, never across an await.

use std::borrow::Cow;

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ToSql, params_from_iter};

use super::*;
use crate::codec::Interner;
use crate::list::Bound;
use crate::pages::PageSize;
use crate::query::queries;
use crate::reads::{Database, Dialect, FromRows, answer_query, read_by};
use crate::row::RowReader;
use crate::sqlite::rows::{all, first};
use crate::*;

/// The page caches of the connections, as `pragmas.sql` and `connect_reader` set them, and the parts of the memory of the process that
/// each may have.
const WRITER_CACHE_KIB: usize = 32 << 10;
const READER_CACHE_KIB: usize = 8 << 10;
const WRITER_SHARE: usize = 16;
const READER_SHARE: usize = 64;

impl SqliteStore {
    /// Runs a read on a separate connection, off the async threads.
    pub(super) async fn on_reader<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let shared = Arc::clone(&self.0);
        let run = async move {
            let _permit = shared.permits.acquire().await.expect("the permits are never closed");
            let lender = Arc::clone(&shared);
            let done = tokio::task::spawn_blocking(move || {
                let lent = lender.readers.lock().expect("no thread panics while holding the lock").pop();
                let connection = lent.map_or_else(|| lender.files.connect_reader(), Ok)?;
                let running = lender.reads.enter();
                let found = read(&connection);
                drop(running);
                lender.readers.lock().expect("no thread panics while holding the lock").push(connection);
                found
            });
            done.await.map_err(|panic| StoreError::Statement(panic.to_string()))?
        };
        run.await
    }

    /// Reads the live jobs. A read-only store loads them for each call.
    async fn look<T>(&self, look: impl FnOnce(&mut Live) -> T) -> Result<T> {
        if self.0.tasks.is_some() {
            return Ok(look(&mut self.live()));
        }
        let live = self.on_reader(|connection| load::live(connection, &mut Interner::default()));
        Ok(look(&mut live.await?))
    }
}

impl Database for SqliteStore {
    const DIALECT: Dialect = Dialect::Sqlite;

    async fn rows<T: Send + 'static>(
        &self,
        sql: Cow<'static, str>,
        values: Vec<Bound>,
        decode: fn(&mut RowReader<'_>) -> Result<T>,
    ) -> Result<Vec<T>> {
        self.on_reader(move |connection| all(connection, &sql, params_from_iter(values), decode)).await
    }

    async fn now(&self) -> Result<Now> {
        Ok(self.now_blocking())
    }
}

/// The number of dead letters that are not dismissed, and the time of the oldest.
fn open_dead_letters(connection: &Connection) -> Result<(u64, Option<Timestamp>)> {
    let counted =
        first(connection, include_str!("sql/open_dead_letters.sql"), [], |row| Ok((row.get()?, row.get()?)));
    Ok(counted?.unwrap_or_default())
}

impl ToSql for Bound {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
            Self::Number(number) => ValueRef::Integer(*number),
            Self::Id(id) => ValueRef::Blob(id.as_bytes()),
            Self::Flag(flag) => ValueRef::Integer((*flag).into()),
        }))
    }
}

impl Backend for SqliteStore {
    fn transact(&self, reads: Reads, decide: Decide) -> BackendFuture<'_, Result<()>> {
        Box::pin(self.on_writer(move |writer| writer.transact(&reads, decide)))
    }

    fn read(&self, query: Query) -> BackendFuture<'_, Result<QueryAnswer>> {
        Box::pin(self.answer(query))
    }

    fn now(&self) -> BackendFuture<'_, Result<Now>> {
        Box::pin(async { Ok(self.now_blocking()) })
    }

    fn heartbeat(&self) -> BackendFuture<'_, Result<()>> {
        Box::pin(self.on_writer(Writer::heartbeat))
    }

    fn remote_commit(&self) -> BackendFuture<'_, Option<Vec<ReadyJobs>>> {
        Box::pin(std::future::pending())
    }

    fn limit_memory(&self, process_bytes: usize) {
        self.live().limit_memory(process_bytes);
        let limit = move |connection: &Connection, kib_max: usize, share: usize| {
            let kib = kib_max.min((process_bytes / share) >> 10) as i64;
            if let Err(error) = connection.pragma_update(None, "cache_size", -kib) {
                tracing::warn!(%error, "page cache not limited");
            }
        };
        if let Some(tasks) = &self.0.tasks {
            // A writer that has ended needs no memory.
            drop(
                tasks.send(Box::new(move |writer| limit(&writer.connection, WRITER_CACHE_KIB, WRITER_SHARE))),
            );
        }
        for reader in &*self.0.readers.lock().expect("no thread panics while holding the lock") {
            limit(reader, READER_CACHE_KIB, READER_SHARE);
        }
    }

    fn properties(&self) -> Properties {
        Properties { kind: StoreKind::Sqlite, parallel_batches: 1, is_shared: false }
    }
}

impl SqliteStore {
    queries!(answer_query);

    async fn job(&self, id: JobId) -> Result<Option<Arc<Job>>> {
        if let Some(job) = self.live().get(id).cloned() {
            return Ok(Some(job));
        }
        self.on_reader(move |connection| load::job(connection, id, &mut Interner::default())).await
    }

    async fn counts(&self) -> Result<Vec<Count>> {
        self.rows(include_str!("sql/counts.sql").into(), vec![], records::count).await
    }

    async fn gauges(&self) -> Result<Gauges> {
        let now = self.now_blocking().at;
        let (dead_letters, oldest_dead_letter) = self.on_reader(open_dead_letters).await?;
        let (jobs, oldest_ready) = self.look(|live| (live.counts(), live.oldest_ready(now))).await?;
        Ok(Gauges { jobs, oldest_ready, dead_letters, oldest_dead_letter })
    }

    async fn waiting(&self, after: Option<JobId>, limit: usize) -> Result<Vec<Arc<Job>>> {
        let found = self.look(|live| live.waiting(after, limit)).await?;
        self.completed(found).await
    }

    async fn leased(
        &self,
        worker: Option<WorkerId>,
        after: Option<JobId>,
        limit: usize,
    ) -> Result<Vec<Arc<Job>>> {
        let found = self.look(|live| live.leased(worker.as_ref(), after, limit)).await?;
        self.completed(found).await
    }

    /// The first jobs, as many as a page may have. Reads those that are not in memory. One that was deleted meanwhile is left
    /// out.
    async fn completed(&self, found: Vec<(JobId, Option<Arc<Job>>)>) -> Result<Vec<Arc<Job>>> {
        let mut size = PageSize::new(found.len());
        if found.iter().all(|(_, job)| job.is_some()) {
            let jobs = found.into_iter().filter_map(|(_, job)| job);
            return Ok(jobs.take_while(|job| size.take(job.bytes())).collect());
        }
        self.on_reader(move |connection| {
            let (mut names, mut jobs) = (Interner::default(), Vec::new());
            for (id, job) in found {
                let read = match job {
                    Some(job) => Some(job),
                    None => load::job(connection, id, &mut names)?,
                };
                let Some(job) = read else { continue };
                if !size.take(job.bytes()) {
                    break;
                }
                jobs.push(job);
            }
            Ok(jobs)
        })
        .await
    }

    async fn due(&self, limit: usize) -> Result<DueJobs> {
        let running = self.now_blocking().running();
        self.look(|live| live.due(running, limit)).await
    }

    async fn ready_jobs(&self, awaited: Vec<AwaitedJobs>, limit: usize) -> Result<Vec<ReadyJobs>> {
        let paused = self.rows(include_str!("sql/paused.sql").into(), vec![], records::queue).await?;
        let paused = paused.into_iter().collect();
        let now = self.now_blocking().at;
        Ok(self.live().ready_jobs(&awaited, &paused, limit, now))
    }

    async fn resources(&self, filter: ResourceFilter) -> Result<Vec<ResourceReport>> {
        let now = self.now_blocking().at;
        self.look(|live| live.resources(&filter, now)).await
    }

    async fn sequences(&self, filter: SequenceFilter) -> Result<Vec<SequenceReport>> {
        self.look(|live| live.sequences(&filter)).await
    }

    async fn waits(&self, id: JobId) -> Result<Vec<WaitReport>> {
        let Some(job) = self.job(id).await? else { return Ok(Vec::new()) };
        let now = self.now_blocking().at;
        self.look(|live| live.waits(&job, now)).await
    }

    async fn scan(&self, after: Option<JobId>, limit: usize) -> Result<Vec<Scanned>> {
        self.on_reader(move |connection| scan::jobs(connection, after, limit)).await
    }

    async fn scan_accounts(&self, after: Option<UserId>, limit: usize) -> Result<Vec<AccountSums>> {
        self.on_reader(move |connection| scan::accounts(connection, after.as_ref(), limit)).await
    }

    async fn orphans(&self, limit: usize) -> Result<Vec<String>> {
        self.on_reader(move |connection| scan::orphans(connection, limit)).await
    }
}
