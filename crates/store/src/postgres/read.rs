//! Reads: each is one statement on a pooled connection, outside of any transaction.

use std::sync::Arc;
use std::time::Instant;

use tenure_core::command::ClaimFilter;
use tenure_core::credit::{Account, LedgerLine};
use tenure_core::dead_letter::DeadLetter;
use tenure_core::event::{AuditLine, Event, LogLine, Telemetry};
use tenure_core::id::{Fence, JobId, LifecycleName, Position, QueueName, UserId, WorkerId};
use tenure_core::job::{Job, LifecycleRef, Links};
use tenure_core::query::{DeadLetterFilter, JobFilter, Page};
use tenure_core::time::Timestamp;
use tokio_postgres::Row;
use tokio_postgres::types::Type;
use uuid::Uuid;

use super::claim_index::{ClaimSlot, SlotPosition};
use super::connection::{Params, Sql, answered};
use super::rows::{self, EVENT_COLUMNS, Param, borrowed, get, optional_name, optional_text, text};
use super::statements::*;
use super::write::clock_slot;
use super::{Node, clock};
use crate::codec::{Interner, corrupt};
use crate::list::{self, Bound, Rest};
use crate::{Count, JournalEntry, StoreError};

/// A row limit as a parameter.
pub(super) fn rows_max(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

impl Node {
    /// Runs a statement on a pooled connection.
    pub(super) async fn ask(&self, sql: &'static Sql, params: &Params<'_>) -> Result<Vec<Row>, StoreError> {
        let mut connection = self.readers.get().await?;
        connection.set_busy(true);
        let rows = connection.query_once(sql, params).await?;
        connection.set_busy(false);
        Ok(rows)
    }

    /// Runs a statement that reads whole tables, with a longer time limit.
    pub(super) async fn ask_long(
        &self,
        sql: &'static Sql,
        params: &Params<'_>,
    ) -> Result<Vec<Row>, StoreError> {
        let mut connection = self.readers.get().await?;
        connection.set_busy(true);
        let rows = connection.query_long(sql, params).await?;
        connection.set_busy(false);
        Ok(rows)
    }

    pub(super) async fn job(&self, id: JobId) -> Result<Option<Arc<Job>>, StoreError> {
        let rows = self.ask(&JOB, &[&id.0]).await?;
        rows.first().map(|row| rows::job(row, &mut Interner::default())).transpose()
    }

    pub(super) async fn history(&self, id: JobId) -> Result<Vec<Event>, StoreError> {
        let mut names = Interner::default();
        self.ask(&HISTORY, &[&id.0]).await?.iter().map(|row| rows::event(row, &mut names)).collect()
    }

    pub(super) async fn events(
        &self,
        after: Position,
        limit: usize,
    ) -> Result<Vec<JournalEntry>, StoreError> {
        let rows = self.ask(&EVENTS, &[&(after.0 as i64), &rows_max(limit)]).await?;
        let mut names = Interner::default();
        rows.iter().map(|row| journaled(row, &mut names)).collect()
    }

    /// Runs a listing: its first part from the file, and the rest from `list.rs`.
    async fn listing(&self, head: &str, (rest, values): &Rest) -> Result<Vec<Row>, StoreError> {
        let (types, params): (Vec<Type>, Vec<Param<'_>>) = values.iter().map(bound).unzip();
        let mut connection = self.readers.get().await?;
        connection.set_busy(true);
        let (sql, params) = (format!("{head}{rest}"), borrowed(&params));
        let rows = answered(connection.ask_once(&sql, &params, &types)).await?;
        connection.set_busy(false);
        Ok(rows)
    }

    pub(super) async fn list(&self, filter: JobFilter, page: Page) -> Result<Vec<Arc<Job>>, StoreError> {
        let live = ["s.ready", "not s.ready and s.completed_at is null"];
        let rows = self.listing(LIST, &list::jobs(&filter, page, placeholder, live)).await?;
        let mut names = Interner::default();
        rows.iter().map(|row| rows::job(row, &mut names)).collect()
    }

    pub(super) async fn nth_older(
        &self,
        before: Option<JobId>,
        jobs: usize,
    ) -> Result<Option<JobId>, StoreError> {
        let before = before.map_or_else(Uuid::max, |JobId(id)| id);
        Ok(ids(&self.ask(&NTH_OLDER, &[&before, &(rows_max(jobs) - 1)]).await?)?.into_iter().next())
    }

    pub(super) async fn counts(&self) -> Result<Vec<Count>, StoreError> {
        self.ask_long(&COUNTS, &[]).await?.iter().map(count).collect()
    }

    pub(super) async fn due(&self, limit: usize) -> Result<Vec<JobId>, StoreError> {
        let running = self.now().await?.running().0;
        ids(&self.ask(&DUE, &[&clock_slot(running), &running, &rows_max(limit)]).await?)
    }

    pub(super) async fn next_run(&self, filter: ClaimFilter) -> Result<Option<Timestamp>, StoreError> {
        let now = self.now().await?.at.0;
        let asked_at = Instant::now();
        self.claim_index.renew(&self.ask(&CLAIM_INDEX, &[]).await?, asked_at)?;
        let claim_index: Vec<(ClaimSlot, SlotPosition)> = self.claim_index.admitted(&filter, usize::MAX);
        let queues: Vec<&str> = claim_index.iter().map(|(slot, _)| slot.queue.as_str()).collect();
        let types: Vec<&str> = claim_index.iter().map(|(slot, _)| slot.job_type.as_str()).collect();
        let priorities: Vec<i32> = claim_index.iter().map(|(slot, _)| slot.priority).collect();
        let rows = self.ask(&NEXT_RUN, &[&queues, &types, &priorities, &now]).await?;
        Ok(get::<Option<i64>>(clock::one(&rows)?, 0)?.map(Timestamp))
    }

    pub(super) async fn completed_before(
        &self,
        lifecycle: LifecycleName,
        before: Timestamp,
        limit: usize,
    ) -> Result<Vec<JobId>, StoreError> {
        ids(&self.ask(&COMPLETED_BEFORE, &[&lifecycle.as_str(), &before.0, &rows_max(limit)]).await?)
    }

    pub(super) async fn logs(
        &self,
        job: JobId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<LogLine>, StoreError> {
        let line = |row: &Row| {
            let (n, ts) = (get::<i64>(row, 0)? as u64, Timestamp(get(row, 1)?));
            Ok(LogLine { n, ts, stream: text(row, 2)?, level: text(row, 3)?, text: get(row, 4)? })
        };
        self.ask(&LOGS, &[&job.0, &(after as i64), &rows_max(limit)]).await?.iter().map(line).collect()
    }

    pub(super) async fn telemetry(&self, job: JobId) -> Result<Vec<Telemetry>, StoreError> {
        self.ask(&TELEMETRY, &[&job.0]).await?.iter().map(telemetry).collect()
    }

    pub(super) async fn dead_letters(
        &self,
        filter: DeadLetterFilter,
        page: Page,
    ) -> Result<Vec<DeadLetter>, StoreError> {
        let rows = self.listing(DEAD_LETTERS, &list::dead_letters(&filter, page, placeholder)).await?;
        rows.iter().map(|row| rows::dead_letter(get(row, 0)?)).collect()
    }

    pub(super) async fn account(&self, user: UserId) -> Result<Account, StoreError> {
        let rows = self.ask(&ACCOUNT, &[&user.as_str()]).await?;
        rows.first().map_or(Ok(Account::default()), |row| rows::amounts(row, 0))
    }

    pub(super) async fn ledger(
        &self,
        user: UserId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<(u64, LedgerLine)>, StoreError> {
        let rows = self.ask(&LEDGER, &[&user.as_str(), &(after as i64), &rows_max(limit)]).await?;
        rows.iter().map(rows::ledger_line).collect()
    }

    pub(super) async fn accounts(
        &self,
        after: Option<UserId>,
        limit: usize,
    ) -> Result<Vec<(UserId, Account)>, StoreError> {
        let after = after.as_deref().unwrap_or_default();
        let rows = self.ask(&ACCOUNTS, &[&after, &rows_max(limit)]).await?;
        rows.iter().map(rows::account).collect()
    }

    pub(super) async fn ledger_before(
        &self,
        user: UserId,
        before: u64,
        limit: usize,
    ) -> Result<Vec<(u64, LedgerLine)>, StoreError> {
        let rows =
            self.ask(&LEDGER_BEFORE, &[&user.as_str(), &rows_max(before as usize), &rows_max(limit)]).await?;
        rows.iter().map(rows::ledger_line).collect()
    }

    pub(super) async fn audit_before(
        &self,
        before: u64,
        limit: usize,
    ) -> Result<Vec<(u64, AuditLine)>, StoreError> {
        let rows = self.ask(&AUDIT_BEFORE, &[&rows_max(before as usize), &rows_max(limit)]).await?;
        rows.iter().map(rows::audit_line).collect()
    }

    pub(super) async fn audit(&self, after: u64, limit: usize) -> Result<Vec<(u64, AuditLine)>, StoreError> {
        let rows = self.ask(&AUDIT, &[&(after as i64), &rows_max(limit)]).await?;
        rows.iter().map(rows::audit_line).collect()
    }

    pub(super) async fn journal_end(&self) -> Result<Position, StoreError> {
        let rows = self.ask(&LAST_POSITION, &[]).await?;
        rows.first().map_or(Ok(Position(0)), |row| get::<i64>(row, 0).map(|last| Position(last as u64)))
    }

    pub(super) async fn paused(&self) -> Result<Vec<QueueName>, StoreError> {
        self.ask(&PAUSED, &[]).await?.iter().map(|row| get::<&str>(row, 0).map(Into::into)).collect()
    }

    pub(super) async fn lifecycles(&self) -> Result<Vec<(LifecycleRef, String)>, StoreError> {
        let file = |row: &Row| {
            let (name, version) = (get::<&str>(row, 0)?.into(), get::<i32>(row, 1)? as u32);
            Ok((LifecycleRef { name, version }, get(row, 2)?))
        };
        self.ask(&LIFECYCLES, &[]).await?.iter().map(file).collect()
    }
}

fn placeholder(n: usize) -> String {
    format!("${n}")
}

/// `lifecycle, type, queue, state, count`.
pub(super) fn count(row: &Row) -> Result<Count, StoreError> {
    Ok(Count {
        lifecycle: text(row, 0)?,
        job_type: text(row, 1)?,
        queue: text(row, 2)?,
        state: text(row, 3)?,
        count: get::<i64>(row, 4)? as u64,
    })
}

fn ids(rows: &[Row]) -> Result<Vec<JobId>, StoreError> {
    rows.iter().map(|row| get(row, 0).map(JobId)).collect()
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

fn journaled(row: &Row, names: &mut Interner) -> Result<JournalEntry, StoreError> {
    let event = rows::event(row, names)?;
    let at = EVENT_COLUMNS;
    let id = event.job_id;
    let links = Links {
        correlation_id: optional_text(row, at + 5)?,
        traceparent: optional_text(row, at + 6)?,
        ..Links::default()
    };
    Ok(JournalEntry {
        position: Position(get::<i64>(row, at)? as u64),
        lifecycle: required(row, at + 1, names)?,
        job_type: required(row, at + 2, names)?,
        queue: required(row, at + 3, names)?,
        user_id: optional_name(row, at + 4, names)?,
        correlation_id: links.correlation_id(id),
        trace_id: links.trace_id(id),
        event,
    })
}

/// A column of an outer join whose row must exist.
fn required<T: From<Arc<str>>>(row: &Row, column: usize, names: &mut Interner) -> Result<T, StoreError> {
    optional_name(row, column, names)?.ok_or_else(|| corrupt("jobs", column, "a column is null"))
}

fn telemetry(row: &Row) -> Result<Telemetry, StoreError> {
    let job_id = JobId(get(row, 0)?);
    Ok(Telemetry {
        job_id,
        ts: Timestamp(get(row, 1)?),
        worker: WorkerId::from(get::<&str>(row, 2)?),
        fence: Fence(get::<i64>(row, 3)? as u64),
        signal: serde_json::from_str(get(row, 4)?).map_err(|_| corrupt("telemetry", job_id, "signal"))?,
        keep_until: Timestamp(get(row, 5)?),
    })
}
