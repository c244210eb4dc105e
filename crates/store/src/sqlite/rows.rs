//! Reading rows of SQLite, and classification of its errors.

use rusqlite::{ErrorCode, Row};
use tenure_core::api_key::{ApiKey, Role};
use tenure_core::credit::{Account, LedgerLine, Movement};
use tenure_core::event::AuditLine;
use tenure_core::id::{Actor, JobId, Name, UserId};
use tenure_core::json::Json;
use tenure_core::time::Timestamp;
use tenure_core::worker::WorkerRecord;
use uuid::Uuid;

use crate::StoreError;
use crate::codec::{EventRow, Interner, SpecRow, StateRow, corrupt};
use crate::sqlite::files::NAME;

/// Classifies an error. Only a commit can have an unknown outcome; see [`crate::sqlite::write`].
#[allow(clippy::needless_pass_by_value, reason = "it is the last word on the error: `map_err(fault)`")]
pub(super) fn fault(error: rusqlite::Error) -> StoreError {
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => StoreError::Full,
        Some(
            ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::CannotOpen | ErrorCode::ReadOnly,
        ) => StoreError::Unavailable(error.to_string()),
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            corrupt("file", NAME, &error.to_string())
        }
        Some(ErrorCode::SystemIoFailure) => StoreError::OutcomeUnknown(error.to_string()),
        Some(_) => StoreError::Statement(error.to_string()),
        // A value that Tenure cannot have written.
        None => corrupt("file", NAME, &error.to_string()),
    }
}

fn text<'a>(row: &'a Row<'_>, column: usize) -> rusqlite::Result<&'a str> {
    Ok(row.get_ref(column)?.as_str()?)
}

pub(super) fn name<T: for<'a> From<&'a str>>(row: &Row<'_>, column: usize) -> rusqlite::Result<T> {
    text(row, column).map(Into::into)
}

fn optional<'a>(row: &'a Row<'_>, column: usize) -> rusqlite::Result<Option<&'a str>> {
    Ok(row.get_ref(column)?.as_str_or_null()?)
}

pub(super) fn uuid(row: &Row<'_>, column: usize) -> rusqlite::Result<Uuid> {
    let bytes = row.get_ref(column)?.as_blob()?;
    Uuid::from_slice(bytes).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(column, 16))
}

pub(super) fn optional_uuid(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<Uuid>> {
    match row.get_ref(column)? {
        rusqlite::types::ValueRef::Null => Ok(None),
        _ => uuid(row, column).map(Some),
    }
}

fn json(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<Json>> {
    Ok(optional(row, column)?.map(Json::stored))
}

pub(super) fn spec(row: &Row<'_>, names: &mut Interner) -> rusqlite::Result<SpecRow> {
    Ok(SpecRow {
        id: uuid(row, 0)?,
        job_type: names.name(text(row, 1)?),
        lifecycle: names.name(text(row, 2)?),
        lifecycle_version: row.get(3)?,
        queue: names.name(text(row, 4)?),
        user_id: optional(row, 5)?.map(|user| names.name(user)),
        priority: row.get(6)?,
        max_attempts: row.get(7)?,
        cost: row.get(8)?,
        payload: Json::stored(text(row, 9)?),
        created_at: row.get(10)?,
        correlation_id: optional(row, 11)?.map(Into::into),
        traceparent: optional(row, 12)?.map(Into::into),
        idempotency_key: optional(row, 13)?.map(Into::into),
        retry_of: optional_uuid(row, 14)?,
        compensates: optional_uuid(row, 15)?,
    })
}

/// The columns of `job_states` from the 16th; the id is the first column.
pub(super) fn state(row: &Row<'_>, names: &mut Interner) -> rusqlite::Result<StateRow> {
    Ok(StateRow {
        id: uuid(row, 0)?,
        state: names.name(text(row, 16)?),
        phase: names.name(text(row, 17)?),
        outcome: optional(row, 18)?.map(|outcome| names.name(outcome)),
        seq: row.get(19)?,
        attempt: row.get(20)?,
        retry_count: row.get(21)?,
        fence: row.get(22)?,
        run_at: row.get(23)?,
        timeout_at: row.get(24)?,
        due_at: row.get(25)?,
        clock_at: row.get(26)?,
        updated_at: row.get(27)?,
        claimed_at: row.get(28)?,
        started_at: row.get(29)?,
        completed_at: row.get(30)?,
        entered: row.get(31)?,
        worker: optional(row, 32)?.map(|worker| names.name(worker)),
        lease: row.get(33)?,
        last_lease: row.get(34)?,
        error: row.get(35)?,
        result: json(row, 36)?,
        checkpoint: json(row, 37)?,
        progress: row.get(38)?,
        cancel: row.get(39)?,
        log_count: row.get(40)?,
    })
}

pub(super) fn event(row: &Row<'_>, names: &mut Interner) -> rusqlite::Result<EventRow> {
    Ok(EventRow {
        job_id: uuid(row, 0)?,
        seq: row.get(1)?,
        name: names.name(text(row, 2)?),
        trigger: row.get(3)?,
        from_state: optional(row, 4)?.map(|state| names.name(state)),
        to_state: names.name(text(row, 5)?),
        attempt: row.get(6)?,
        ts: row.get(7)?,
        actor: Name::from(text(row, 8)?),
        cause: optional(row, 9)?.map(Into::into),
        facts: row.get(10)?,
    })
}

pub(super) fn ledger_line(row: &Row<'_>) -> rusqlite::Result<(u64, LedgerLine)> {
    let kind = Movement::parse(text(row, 3)?).ok_or(rusqlite::Error::InvalidQuery)?;
    let line = LedgerLine {
        ts: Timestamp(row.get(1)?),
        user_id: text(row, 2)?.into(),
        kind,
        amount: row.get::<_, i64>(4)? as u64,
        job_id: optional_uuid(row, 5)?.map(JobId),
        reason: row.get(6)?,
    };
    Ok((row.get::<_, i64>(0)? as u64, line))
}

pub(super) fn audit_line(row: &Row<'_>) -> rusqlite::Result<(u64, AuditLine)> {
    let line = AuditLine {
        ts: Timestamp(row.get(1)?),
        action: text(row, 2)?.into(),
        actor: Actor::from(text(row, 3)?),
        job_id: optional_uuid(row, 4)?.map(JobId),
        reason: row.get(5)?,
    };
    Ok((row.get::<_, i64>(0)? as u64, line))
}

pub(super) fn api_key(row: &Row<'_>) -> rusqlite::Result<ApiKey> {
    Ok(ApiKey {
        id: text(row, 0)?.into(),
        role: Role::parse(text(row, 1)?).ok_or(rusqlite::Error::InvalidQuery)?,
        user_id: optional(row, 2)?.map(Into::into),
        digest: row.get(3)?,
        created_at: Timestamp(row.get(4)?),
        created_by: Actor::from(text(row, 5)?),
        revoked_at: row.get::<_, Option<i64>>(6)?.map(Timestamp),
    })
}

pub(super) fn worker_seen(row: &Row<'_>) -> rusqlite::Result<WorkerRecord> {
    let (name, credential) = (text(row, 0)?.into(), optional(row, 1)?.map(Into::into));
    Ok(WorkerRecord { name, credential, seen_at: Timestamp(row.get(2)?), connection: optional_uuid(row, 3)? })
}

/// `granted, reserved, spent` from a column.
pub(super) fn amounts(row: &Row<'_>, at: usize) -> rusqlite::Result<Account> {
    let amount = |column| row.get::<_, i64>(column).map(|amount| amount as u64);
    Ok(Account { granted: amount(at)?, reserved: amount(at + 1)?, spent: amount(at + 2)? })
}

pub(super) fn account(row: &Row<'_>) -> rusqlite::Result<(UserId, Account)> {
    Ok((row.get::<_, String>(0)?.into(), amounts(row, 1)?))
}
