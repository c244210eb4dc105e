//! Reading rows of PostgreSQL, and sending the rows of a batch as columns.

use std::sync::Arc;

use tenure_core::api_key::{ApiKey, Role};
use tenure_core::credit::{Account, LedgerLine, Movement};
use tenure_core::dead_letter::DeadLetter;
use tenure_core::event::{AuditLine, Event};
use tenure_core::id::{Actor, JobId, Name, UserId};
use tenure_core::job::{Job, Spec};
use tenure_core::json::Json;
use tenure_core::time::Timestamp;
use tokio_postgres::Row;
use tokio_postgres::types::{FromSql, ToSql};
use uuid::Uuid;

use crate::StoreError;
use crate::codec::{EventRow, Interner, SpecRow, StateRow, corrupt};

/// A column of one of our statements: it exists and has the expected type.
pub(super) fn get<'a, T: FromSql<'a>>(row: &'a Row, column: usize) -> Result<T, StoreError> {
    row.try_get(column).map_err(|error| corrupt("column", column, &super::error::text(&error)))
}

/// A text column as a name of its type.
pub(super) fn text<T: for<'a> From<&'a str>>(row: &Row, column: usize) -> Result<T, StoreError> {
    get::<&str>(row, column).map(Into::into)
}

fn name<T: From<Arc<str>>>(row: &Row, column: usize, names: &mut Interner) -> Result<T, StoreError> {
    Ok(names.name(get(row, column)?))
}

pub(super) fn optional_name<T: From<Arc<str>>>(
    row: &Row,
    column: usize,
    names: &mut Interner,
) -> Result<Option<T>, StoreError> {
    Ok(get::<Option<&str>>(row, column)?.map(|text| names.name(text)))
}

/// Not interned: few rows share it.
pub(super) fn optional_text<T: for<'a> From<&'a str>>(
    row: &Row,
    column: usize,
) -> Result<Option<T>, StoreError> {
    Ok(get::<Option<&str>>(row, column)?.map(Into::into))
}

fn json(row: &Row, column: usize) -> Result<Option<Json>, StoreError> {
    Ok(get::<Option<&str>>(row, column)?.map(Json::stored))
}

fn int(row: &Row, column: usize) -> Result<i64, StoreError> {
    get::<i32>(row, column).map(i64::from)
}

/// Columns of `jobs`, from the first.
pub(super) fn spec(row: &Row, names: &mut Interner) -> Result<Arc<Spec>, StoreError> {
    let spec = SpecRow {
        id: get(row, 0)?,
        job_type: name(row, 1, names)?,
        lifecycle: name(row, 2, names)?,
        lifecycle_version: int(row, 3)?,
        queue: name(row, 4, names)?,
        user_id: optional_name(row, 5, names)?,
        priority: int(row, 6)?,
        max_attempts: int(row, 7)?,
        cost: get(row, 8)?,
        payload: Json::stored(get(row, 9)?),
        created_at: get(row, 10)?,
        correlation_id: optional_text(row, 11)?,
        traceparent: optional_text(row, 12)?,
        idempotency_key: optional_text(row, 13)?,
        retry_of: get(row, 14)?,
        compensates: get(row, 15)?,
    };
    spec.decode().map(Arc::new)
}

/// The number of columns of `jobs` before those of `job_states`.
pub(super) const SPEC_COLUMNS: usize = 16;

/// Columns of `job_states` from column `at`; the id is the first column of the row.
pub(super) fn state(row: &Row, at: usize, names: &mut Interner) -> Result<StateRow, StoreError> {
    Ok(StateRow {
        id: get(row, 0)?,
        state: name(row, at, names)?,
        phase: name(row, at + 1, names)?,
        outcome: optional_name(row, at + 2, names)?,
        seq: int(row, at + 3)?,
        attempt: int(row, at + 4)?,
        retry_count: int(row, at + 5)?,
        fence: get(row, at + 6)?,
        run_at: get(row, at + 7)?,
        timeout_at: get(row, at + 8)?,
        due_at: get(row, at + 9)?,
        clock_at: get(row, at + 10)?,
        updated_at: get(row, at + 11)?,
        claimed_at: get(row, at + 12)?,
        started_at: get(row, at + 13)?,
        completed_at: get(row, at + 14)?,
        entered: get(row, at + 15)?,
        worker: optional_name(row, at + 16, names)?,
        lease: get(row, at + 17)?,
        last_lease: get(row, at + 18)?,
        error: get(row, at + 19)?,
        result: json(row, at + 20)?,
        checkpoint: json(row, at + 21)?,
        progress: get(row, at + 22)?,
        cancel: get(row, at + 23)?,
        log_count: get(row, at + 24)?,
    })
}

/// A row of `jobs` and `job_states` together.
pub(super) fn job(row: &Row, names: &mut Interner) -> Result<Arc<Job>, StoreError> {
    let spec = spec(row, names)?;
    state(row, SPEC_COLUMNS, names)?.decode(spec, names).map(Arc::new)
}

pub(super) fn event(row: &Row, names: &mut Interner) -> Result<Event, StoreError> {
    let event = EventRow {
        job_id: get(row, 0)?,
        seq: get::<Option<i32>>(row, 1)?.map(i64::from),
        name: name(row, 2, names)?,
        trigger: get(row, 3)?,
        from_state: optional_name(row, 4, names)?,
        to_state: name(row, 5, names)?,
        attempt: int(row, 6)?,
        ts: get(row, 7)?,
        actor: name(row, 8, names)?,
        cause: optional_text(row, 9)?,
        facts: get(row, 10)?,
    };
    event.decode()
}

/// The number of columns that [`event`] reads.
pub(super) const EVENT_COLUMNS: usize = 11;

/// `user_id, granted, reserved, spent`.
pub(super) fn account(row: &Row) -> Result<(UserId, Account), StoreError> {
    Ok((get::<&str>(row, 0)?.into(), amounts(row, 1)?))
}

/// `granted, reserved, spent` from a column.
pub(super) fn amounts(row: &Row, at: usize) -> Result<Account, StoreError> {
    let amount = |column| get::<i64>(row, column).map(|amount| amount as u64);
    Ok(Account { granted: amount(at)?, reserved: amount(at + 1)?, spent: amount(at + 2)? })
}

pub(super) fn dead_letter(text: &str) -> Result<DeadLetter, StoreError> {
    serde_json::from_str(text).map_err(|error| corrupt("dead_letters", text, &error.to_string()))
}

pub(super) fn ledger_line(row: &Row) -> Result<(u64, LedgerLine), StoreError> {
    let id: i64 = get(row, 0)?;
    let line = LedgerLine {
        ts: Timestamp(get(row, 1)?),
        user_id: UserId::from(get::<&str>(row, 2)?),
        kind: Movement::parse(get(row, 3)?).ok_or_else(|| corrupt("ledger", id, "kind"))?,
        amount: get::<i64>(row, 4)? as u64,
        job_id: get::<Option<Uuid>>(row, 5)?.map(JobId),
        reason: get(row, 6)?,
    };
    Ok((id as u64, line))
}

pub(super) fn audit_line(row: &Row) -> Result<(u64, AuditLine), StoreError> {
    let line = AuditLine {
        ts: Timestamp(get(row, 1)?),
        action: Name::from(get::<&str>(row, 2)?),
        actor: Actor::from(get::<&str>(row, 3)?),
        job_id: get::<Option<Uuid>>(row, 4)?.map(JobId),
        reason: get(row, 5)?,
    };
    Ok((get::<i64>(row, 0)? as u64, line))
}

/// Every column of `api_keys`.
pub(super) fn api_key(row: &Row) -> Result<ApiKey, StoreError> {
    let id = Name::from(get::<&str>(row, 0)?);
    let corrupt = |what| corrupt("api_keys", &id, what);
    Ok(ApiKey {
        role: Role::parse(get(row, 1)?).ok_or_else(|| corrupt("role"))?,
        user_id: optional_text(row, 2)?,
        digest: get::<&[u8]>(row, 3)?.try_into().map_err(|_| corrupt("digest"))?,
        created_at: Timestamp(get(row, 4)?),
        created_by: Actor::from(get::<&str>(row, 5)?),
        revoked_at: get::<Option<i64>>(row, 6)?.map(Timestamp),
        id,
    })
}

pub(super) type Param<'a> = Box<dyn ToSql + Sync + Send + 'a>;

/// The rows of a batch as columns: one array per parameter of an `unnest`.
pub(super) struct Columns<'a, R> {
    rows: &'a [R],
    columns: Vec<Param<'a>>,
}

impl<'a, R> Columns<'a, R> {
    pub(super) fn of(rows: &'a [R]) -> Self {
        Self { rows, columns: Vec::new() }
    }

    pub(super) fn with<T: ToSql + Sync + Send + 'a>(mut self, value: impl Fn(&'a R) -> T) -> Self {
        self.columns.push(Box::new(self.rows.iter().map(value).collect::<Vec<T>>()));
        self
    }

    pub(super) fn params(self) -> Vec<Param<'a>> {
        self.columns
    }
}

pub(super) fn borrowed<'b>(params: &'b [Param<'_>]) -> Vec<&'b (dyn ToSql + Sync)> {
    params.iter().map(|param| &**param as &(dyn ToSql + Sync)).collect()
}
