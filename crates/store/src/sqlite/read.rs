//! Reads: on separate connections, a few statements each, never across an await.

use std::sync::Arc;

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, Params, Row, ToSql, params, params_from_iter};
use tenure_core::api_key::ApiKey;
use tenure_core::asset::{Asset, AssetId};
use tenure_core::automation::{Automation, AutomationKind};
use tenure_core::command::ClaimFilter;
use tenure_core::credit::{Account, LedgerLine};
use tenure_core::dead_letter::DeadLetter;
use tenure_core::event::{AuditLine, Event, LogLine, Telemetry};
use tenure_core::id::{Fence, JobId, LifecycleName, Position, QueueName, UserId, WorkerId};
use tenure_core::job::{Job, LifecycleRef, Links};
use tenure_core::limits::AUTOMATIONS_MAX;
use tenure_core::node::NodeRecord;
use tenure_core::query::{DeadLetterFilter, JobFilter, Page};
use tenure_core::time::{Now, Timestamp};
use tenure_core::worker::WorkerRecord;
use tenure_core::working_set::{Reads, WorkingSet};
use uuid::Uuid;

use crate::codec::{Interner, corrupt};
use crate::list::{self, Bound};
use crate::sqlite::rows::{account, audit_line, event, fault, ledger_line, name, uuid};
use crate::sqlite::{SqliteStore, assets, automations, load, nodes, scan, watch};
use crate::{Count, Gauges, JournalEntry, Scanned, Store, StoreError};

impl SqliteStore {
    /// Runs a read on a separate connection, off the async threads.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let shared = Arc::clone(&self.0);
        let run = async move {
            let _permit = shared.permits.acquire().await.expect("the permits are never closed");
            let lender = Arc::clone(&shared);
            let done = tokio::task::spawn_blocking(move || {
                let lent = lender.readers.lock().expect("no thread panics while holding the lock").pop();
                let connection = lent.map_or_else(|| lender.files.connect_reader(), Ok)?;
                let found = read(&connection);
                lender.readers.lock().expect("no thread panics while holding the lock").push(connection);
                found
            });
            done.await.map_err(|panic| StoreError::Statement(panic.to_string()))?
        };
        run.await
    }
}

pub(super) fn all<T>(
    connection: &Connection,
    sql: &str,
    values: impl Params,
    mut each: impl FnMut(&Row<'_>) -> Result<T, StoreError>,
) -> Result<Vec<T>, StoreError> {
    let mut statement = connection.prepare_cached(sql).map_err(fault)?;
    let mut rows = statement.query(values).map_err(fault)?;
    let mut found = Vec::new();
    while let Some(row) = rows.next().map_err(fault)? {
        found.push(each(row)?);
    }
    Ok(found)
}

pub(super) fn history(connection: &Connection, id: JobId) -> Result<Vec<Event>, StoreError> {
    let mut names = Interner::default();
    let sql = include_str!("sql/history.sql");
    all(connection, sql, [id.0.as_bytes().as_slice()], |row| event(row, &mut names).map_err(fault)?.decode())
}

fn journaled(row: &Row<'_>, names: &mut Interner) -> Result<JournalEntry, StoreError> {
    let event = event(row, names).map_err(fault)?.decode()?;
    let text = |column| row.get::<_, Option<String>>(column).map_err(fault);
    let links = Links {
        correlation_id: text(16)?.map(Into::into),
        traceparent: text(17)?.map(Into::into),
        ..Links::default()
    };
    let (correlation_id, trace_id) = (links.correlation_id(event.job_id), links.trace_id(event.job_id));
    Ok(JournalEntry {
        position: Position(row.get::<_, i64>(11).map_err(fault)? as u64),
        lifecycle: name(row, 12).map_err(fault)?,
        job_type: name(row, 13).map_err(fault)?,
        queue: name(row, 14).map_err(fault)?,
        user_id: text(15)?.map(Into::into),
        correlation_id,
        trace_id,
        event,
    })
}

fn list(connection: &Connection, filter: &JobFilter, page: Page) -> Result<Vec<Arc<Job>>, StoreError> {
    let (rest, values) = list::jobs(filter, page, |n| format!("?{n}"), ["s.completed_at is null"; 2]);
    let sql = format!("{}{rest}", include_str!("sql/list.sql").trim_end());
    let mut names = Interner::default();
    all(connection, &sql, params_from_iter(values), |row| load::decode(row, &mut names).map(Arc::new))
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

fn dead_letters(
    connection: &Connection,
    filter: &DeadLetterFilter,
    page: Page,
) -> Result<Vec<DeadLetter>, StoreError> {
    let (rest, values) = list::dead_letters(filter, page, |n| format!("?{n}"));
    let sql = format!("{}{rest}", include_str!("sql/dead_letters.sql").trim_end());
    all(connection, &sql, params_from_iter(values), |row| {
        let letter: String = row.get(0).map_err(fault)?;
        serde_json::from_str(&letter).map_err(|_| corrupt("dead_letters", "a row", &letter))
    })
}

fn log_line(row: &Row<'_>) -> rusqlite::Result<LogLine> {
    Ok(LogLine {
        n: row.get::<_, i64>(0)? as u64,
        ts: Timestamp(row.get(1)?),
        stream: row.get::<_, String>(2)?.into(),
        level: row.get::<_, String>(3)?.into(),
        text: row.get(4)?,
    })
}

fn telemetry(row: &Row<'_>, job_id: JobId) -> Result<Telemetry, StoreError> {
    let signal: String = row.get(3).map_err(fault)?;
    Ok(Telemetry {
        job_id,
        ts: Timestamp(row.get(0).map_err(fault)?),
        worker: row.get::<_, String>(1).map_err(fault)?.into(),
        fence: Fence(row.get::<_, i64>(2).map_err(fault)? as u64),
        signal: serde_json::from_str(&signal).map_err(|_| corrupt("telemetry", job_id, "signal"))?,
        keep_until: Timestamp(row.get(4).map_err(fault)?),
    })
}

fn count(row: &Row<'_>) -> rusqlite::Result<Count> {
    Ok(Count {
        lifecycle: name(row, 0)?,
        job_type: name(row, 1)?,
        queue: name(row, 2)?,
        state: name(row, 3)?,
        count: row.get::<_, i64>(4)? as u64,
    })
}

impl Store for SqliteStore {
    async fn transact<T: Send + 'static>(
        &self,
        reads: Reads,
        mut decide: impl FnMut(&mut WorkingSet, Now) -> T + Send + 'static,
    ) -> Result<T, StoreError> {
        self.on_writer(move |writer| writer.transact(&reads, &mut decide)).await
    }

    async fn now(&self) -> Result<Now, StoreError> {
        Ok(self.now_blocking())
    }

    async fn heartbeat(&self) -> Result<(), StoreError> {
        self.on_writer(super::Writer::heartbeat).await
    }

    fn is_shared(&self) -> bool {
        false
    }

    fn parallel_batches(&self) -> usize {
        1
    }

    async fn remote_commit(&self) {
        std::future::pending::<()>().await;
    }

    async fn job(&self, id: JobId) -> Result<Option<Arc<Job>>, StoreError> {
        if let Some(job) = self.live_job(id) {
            return Ok(Some(job));
        }
        self.read(move |connection| Ok(load::job(connection, id, &mut Interner::default())?.map(Arc::new)))
            .await
    }

    async fn history(&self, id: JobId) -> Result<Vec<Event>, StoreError> {
        self.read(move |connection| history(connection, id)).await
    }

    async fn events(&self, after: Position, limit: usize) -> Result<Vec<JournalEntry>, StoreError> {
        let sql = include_str!("sql/events.sql");
        self.read(move |connection| {
            let mut names = Interner::default();
            all(connection, sql, params![after.0 as i64, limit as i64], |row| journaled(row, &mut names))
        })
        .await
    }

    async fn list(&self, filter: JobFilter, page: Page) -> Result<Vec<Arc<Job>>, StoreError> {
        self.read(move |connection| list(connection, &filter, page)).await
    }

    async fn nth_older(&self, before: Option<JobId>, jobs: usize) -> Result<Option<JobId>, StoreError> {
        self.read(move |connection| {
            let before = before.map_or_else(Uuid::max, |JobId(id)| id);
            let found = all(
                connection,
                include_str!("sql/nth_older.sql"),
                params![before.as_bytes(), jobs as i64 - 1],
                |row| Ok(JobId(uuid(row, 0).map_err(fault)?)),
            )?;
            Ok(found.into_iter().next())
        })
        .await
    }

    async fn counts(&self) -> Result<Vec<Count>, StoreError> {
        self.read(|connection| {
            all(connection, include_str!("sql/counts.sql"), [], |row| count(row).map_err(fault))
        })
        .await
    }

    async fn gauges(&self) -> Result<Gauges, StoreError> {
        self.watched().await
    }

    async fn waiting(&self, limit: usize) -> Result<Vec<Arc<Job>>, StoreError> {
        self.look(|live| live.waiting(limit)).await
    }

    async fn leased(&self, limit: usize) -> Result<Vec<Arc<Job>>, StoreError> {
        self.look(|live| live.leased(limit)).await
    }

    async fn due(&self, limit: usize) -> Result<Vec<JobId>, StoreError> {
        let running = self.now_blocking().running();
        Ok(self.live().due(running, limit))
    }

    async fn next_run(&self, filter: ClaimFilter) -> Result<Option<Timestamp>, StoreError> {
        let now = self.now_blocking().at;
        Ok(self.live().next_run(&filter, now))
    }

    async fn completed_before(
        &self,
        lifecycle: LifecycleName,
        before: Timestamp,
        limit: usize,
    ) -> Result<Vec<JobId>, StoreError> {
        self.read(move |connection| {
            let values = params![before.0, lifecycle.as_str(), limit as i64];
            all(connection, include_str!("sql/completed_before.sql"), values, |row| {
                Ok(JobId(uuid(row, 0).map_err(fault)?))
            })
        })
        .await
    }

    async fn finished(&self, since: Timestamp, limit: usize) -> Result<Vec<Arc<Job>>, StoreError> {
        self.read(move |connection| watch::finished(connection, since, limit)).await
    }

    async fn logs(&self, job: JobId, after: u64, limit: usize) -> Result<Vec<LogLine>, StoreError> {
        self.read(move |connection| {
            let values = params![job.0.as_bytes().as_slice(), after as i64, limit as i64];
            all(connection, include_str!("sql/logs.sql"), values, |row| log_line(row).map_err(fault))
        })
        .await
    }

    async fn telemetry(&self, job: JobId) -> Result<Vec<Telemetry>, StoreError> {
        self.read(move |connection| {
            let sql = include_str!("sql/telemetry.sql");
            all(connection, sql, [job.0.as_bytes().as_slice()], |row| telemetry(row, job))
        })
        .await
    }

    async fn dead_letters(
        &self,
        filter: DeadLetterFilter,
        page: Page,
    ) -> Result<Vec<DeadLetter>, StoreError> {
        self.read(move |connection| dead_letters(connection, &filter, page)).await
    }

    async fn account(&self, user: UserId) -> Result<Account, StoreError> {
        self.read(move |connection| Ok(load::account(connection, &user)?.unwrap_or_default())).await
    }

    async fn ledger(
        &self,
        user: UserId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<(u64, LedgerLine)>, StoreError> {
        self.read(move |connection| {
            let values = params![user.as_str(), after as i64, limit as i64];
            all(connection, include_str!("sql/ledger.sql"), values, |row| ledger_line(row).map_err(fault))
        })
        .await
    }

    async fn accounts(
        &self,
        after: Option<UserId>,
        limit: usize,
    ) -> Result<Vec<(UserId, Account)>, StoreError> {
        self.read(move |connection| {
            let values = params![after.as_deref().unwrap_or_default(), limit as i64];
            all(connection, include_str!("sql/accounts.sql"), values, |row| account(row).map_err(fault))
        })
        .await
    }

    async fn ledger_before(
        &self,
        user: UserId,
        before: u64,
        limit: usize,
    ) -> Result<Vec<(u64, LedgerLine)>, StoreError> {
        self.read(move |connection| {
            let values = params![user.as_str(), i64::try_from(before).unwrap_or(i64::MAX), limit as i64];
            all(connection, include_str!("sql/ledger_before.sql"), values, |row| {
                ledger_line(row).map_err(fault)
            })
        })
        .await
    }

    async fn audit_before(&self, before: u64, limit: usize) -> Result<Vec<(u64, AuditLine)>, StoreError> {
        self.read(move |connection| {
            let values = params![i64::try_from(before).unwrap_or(i64::MAX), limit as i64];
            all(connection, include_str!("sql/audit_before.sql"), values, |row| {
                audit_line(row).map_err(fault)
            })
        })
        .await
    }

    async fn audit(&self, after: u64, limit: usize) -> Result<Vec<(u64, AuditLine)>, StoreError> {
        self.read(move |connection| {
            let values = params![after as i64, limit as i64];
            all(connection, include_str!("sql/audit.sql"), values, |row| audit_line(row).map_err(fault))
        })
        .await
    }

    async fn journal_end(&self) -> Result<Position, StoreError> {
        self.read(load::last_position).await
    }

    async fn paused(&self) -> Result<Vec<QueueName>, StoreError> {
        self.read(|connection| Ok(load::paused(connection)?.into_iter().collect())).await
    }

    async fn lifecycles(&self) -> Result<Vec<(LifecycleRef, String)>, StoreError> {
        self.read(|connection| {
            all(connection, include_str!("sql/lifecycles.sql"), [], |row| {
                let name = row.get::<_, String>(0).map_err(fault)?.into();
                Ok((LifecycleRef { name, version: row.get(1).map_err(fault)? }, row.get(2).map_err(fault)?))
            })
        })
        .await
    }

    async fn api_keys(&self) -> Result<Vec<ApiKey>, StoreError> {
        self.read(watch::api_keys).await
    }

    async fn assets(
        &self,
        job: JobId,
        before: Option<AssetId>,
        limit: usize,
    ) -> Result<Vec<Asset>, StoreError> {
        self.read(move |connection| assets::list(connection, job, before, limit)).await
    }

    async fn asset(&self, id: AssetId) -> Result<Option<Asset>, StoreError> {
        self.read(move |connection| assets::one(connection, id)).await
    }

    async fn asset_garbage(&self, limit: usize) -> Result<Vec<String>, StoreError> {
        let now = self.now_blocking().at;
        self.read(move |connection| assets::garbage(connection, now, limit)).await
    }

    async fn automations(&self, kind: AutomationKind) -> Result<Vec<Automation>, StoreError> {
        self.read(move |connection| automations::automations(connection, kind, AUTOMATIONS_MAX)).await
    }

    async fn due_automations(
        &self,
        kind: AutomationKind,
        limit: usize,
    ) -> Result<Vec<Automation>, StoreError> {
        let now = self.now_blocking().at;
        self.read(move |connection| automations::due(connection, kind, now, limit)).await
    }

    async fn workers(&self) -> Result<Vec<WorkerRecord>, StoreError> {
        self.read(watch::workers).await
    }

    async fn worker(&self, name: WorkerId) -> Result<Option<WorkerRecord>, StoreError> {
        self.read(move |connection| watch::worker(connection, &name)).await
    }

    async fn nodes(&self) -> Result<Vec<NodeRecord>, StoreError> {
        self.read(nodes::nodes).await
    }

    async fn scan(&self, after: Option<JobId>, limit: usize) -> Result<Vec<Scanned>, StoreError> {
        self.read(move |connection| scan::jobs(connection, after, limit)).await
    }

    async fn scan_accounts(
        &self,
        after: Option<UserId>,
        limit: usize,
    ) -> Result<Vec<crate::AccountSums>, StoreError> {
        self.read(move |connection| scan::accounts(connection, after.as_ref(), limit)).await
    }

    async fn orphans(&self, limit: usize) -> Result<Vec<String>, StoreError> {
        self.read(move |connection| scan::orphans(connection, limit)).await
    }
}
