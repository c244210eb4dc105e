//! Classification of PostgreSQL errors.

use std::error::Error as _;

use tokio_postgres::Error;
use tokio_postgres::error::{DbError, Severity, SqlState};

use crate::StoreError;
use crate::codec::corrupt;

/// The consequence of a failed statement for its batch.
#[derive(Debug)]
pub(super) enum StatementFault {
    /// A conflict with another batch: this one may be decided again.
    Conflict(String),
    /// The connection is lost or the server is stopping: the outcome of what was sent is unknown.
    Lost(String),
    /// A pooler moved the transaction to another server process: statements must not be prepared.
    Moved,
    /// Anything else. Nothing was written.
    Failed(StoreError),
}

impl From<Error> for StatementFault {
    fn from(error: Error) -> Self {
        match error.as_db_error() {
            Some(refused) => of_server(refused),
            None if is_broken(&error) => Self::Lost(text(&error)),
            None => Self::Failed(StoreError::Statement(text(&error))),
        }
    }
}

impl From<StoreError> for StatementFault {
    fn from(error: StoreError) -> Self {
        Self::Failed(error)
    }
}

const MOVED: &str =
    "a pooler moved the transaction to another server process; add prepared=off to the database URL";

impl From<StatementFault> for StoreError {
    /// For reads, which may always be repeated.
    fn from(fault: StatementFault) -> Self {
        match fault {
            StatementFault::Conflict(text) | StatementFault::Lost(text) => Self::Unavailable(text),
            StatementFault::Moved => Self::Unavailable(MOVED.to_owned()),
            StatementFault::Failed(error) => error,
        }
    }
}

/// `put_account` and similar statements check their row counts by a division by zero.
const WRONG_COUNT: SqlState = SqlState::DIVISION_BY_ZERO;

fn of_server(error: &DbError) -> StatementFault {
    let code = error.code();
    let text = format!("{} ({})", error.message(), code.code());
    let conflicts = [
        SqlState::UNIQUE_VIOLATION,
        SqlState::T_R_SERIALIZATION_FAILURE,
        SqlState::T_R_DEADLOCK_DETECTED,
        SqlState::LOCK_NOT_AVAILABLE,
    ];
    if conflicts.contains(code) {
        return StatementFault::Conflict(text);
    }
    if [SqlState::INVALID_SQL_STATEMENT_NAME, SqlState::DUPLICATE_PSTATEMENT].contains(code) {
        return StatementFault::Moved;
    }
    if matches!(error.parsed_severity(), Some(Severity::Fatal | Severity::Panic)) || is_going(code) {
        return StatementFault::Lost(text);
    }
    StatementFault::Failed(match code {
        code if *code == SqlState::DISK_FULL => StoreError::Full,
        code if *code == WRONG_COUNT => corrupt("rows", "of a batch", "a row that was loaded is not there"),
        code if is_passing(code) => StoreError::Unavailable(text),
        _ => StoreError::Statement(text),
    })
}

/// The server closes this connection, or is read-only.
fn is_going(code: &SqlState) -> bool {
    let going = [
        SqlState::ADMIN_SHUTDOWN,
        SqlState::CRASH_SHUTDOWN,
        SqlState::CANNOT_CONNECT_NOW,
        SqlState::TOO_MANY_CONNECTIONS,
        SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
    ];
    going.contains(code) || code.code().starts_with("08")
}

/// The connection is usable, and the statement may succeed later.
fn is_passing(code: &SqlState) -> bool {
    let passing =
        [SqlState::READ_ONLY_SQL_TRANSACTION, SqlState::QUERY_CANCELED, SqlState::IN_FAILED_SQL_TRANSACTION];
    passing.contains(code) || code.code().starts_with("53")
}

/// Whether it concerns the connection rather than the statement.
fn is_broken(error: &Error) -> bool {
    error.is_closed() || error.source().is_some_and(<dyn std::error::Error>::is::<std::io::Error>)
}

/// Why a connection was not opened: the server is not available, or its answer will not change without an operator.
pub(super) fn not_opened(error: &Error) -> StoreError {
    let is_denied =
        |code: &SqlState| code.code().starts_with("28") || *code == SqlState::INVALID_CATALOG_NAME;
    if error.code().is_some_and(is_denied) {
        return StoreError::Denied(text(error));
    }
    // The driver has no other sign of a handshake that failed; one that was cut has another kind of error.
    let io_kind =
        error.source().and_then(|source| source.downcast_ref::<std::io::Error>()).map(std::io::Error::kind);
    let cut = io_kind.is_some_and(|kind| kind != std::io::ErrorKind::InvalidData);
    if error.to_string().contains("TLS handshake") && !cut {
        let help = "set `sslmode` in the URL of the database (`disable` does not encrypt)";
        return StoreError::Denied(format!("{}; {help}", text(error)));
    }
    StoreError::Unavailable(text(error))
}

/// The message with its causes: the driver's own texts are short.
pub(super) fn text(error: &Error) -> String {
    if let Some(refused) = error.as_db_error() {
        return format!("{} ({})", refused.message(), refused.code().code());
    }
    let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
    format!("{error}{cause}")
}
