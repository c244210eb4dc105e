//! What an error of PostgreSQL means for us.

use std::error::Error as _;

use tokio_postgres::Error;
use tokio_postgres::error::{DbError, Severity, SqlState};

use crate::StoreError;
use crate::codec::corrupt;

/// What a failed statement means for the batch that it belongs to.
#[derive(Debug)]
pub(super) enum Fault {
    /// Others were faster: the same batch may be judged again at once.
    Conflict(String),
    /// The connection is gone, or the server is going: what was sent may or may not have happened.
    Lost(String),
    /// A pooler gave our transaction to another server process: statements must not be kept.
    Moved,
    /// Anything else. Nothing was written.
    Failed(StoreError),
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        match error.as_db_error() {
            Some(refused) => of_server(refused),
            None if is_broken(&error) => Self::Lost(text(&error)),
            None => Self::Failed(StoreError::Statement(text(&error))),
        }
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        Self::Failed(error)
    }
}

impl From<Fault> for StoreError {
    /// For reads, which change nothing: whatever was lost may be asked again.
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Conflict(text) | Fault::Lost(text) => Self::Unavailable(text),
            Fault::Moved => Self::Unavailable("a pooler is between us and the server".to_owned()),
            Fault::Failed(error) => error,
        }
    }
}

/// The row counts of `update_state` and its like are checked by dividing by whether they are right.
const WRONG_COUNT: SqlState = SqlState::DIVISION_BY_ZERO;

fn of_server(error: &DbError) -> Fault {
    let code = error.code();
    let text = format!("{} ({})", error.message(), code.code());
    let conflicts = [
        SqlState::UNIQUE_VIOLATION,
        SqlState::T_R_SERIALIZATION_FAILURE,
        SqlState::T_R_DEADLOCK_DETECTED,
        SqlState::LOCK_NOT_AVAILABLE,
    ];
    if conflicts.contains(code) {
        return Fault::Conflict(text);
    }
    if [SqlState::INVALID_SQL_STATEMENT_NAME, SqlState::DUPLICATE_PSTATEMENT].contains(code) {
        return Fault::Moved;
    }
    if matches!(error.parsed_severity(), Some(Severity::Fatal | Severity::Panic)) || is_going(code) {
        return Fault::Lost(text);
    }
    Fault::Failed(match code {
        code if *code == SqlState::DISK_FULL => StoreError::Full,
        code if *code == WRONG_COUNT => {
            corrupt("rows", "of a batch", "a row that was loaded and locked is not there")
        }
        code if is_passing(code) => StoreError::Unavailable(text),
        _ => StoreError::Statement(text),
    })
}

/// The server closes this connection, or is not the one to write to.
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

/// The connection is good, and the same may work a little later.
fn is_passing(code: &SqlState) -> bool {
    let passing =
        [SqlState::READ_ONLY_SQL_TRANSACTION, SqlState::QUERY_CANCELED, SqlState::IN_FAILED_SQL_TRANSACTION];
    passing.contains(code) || code.code().starts_with("53")
}

/// Whether it is about the connection rather than about what was sent.
fn is_broken(error: &Error) -> bool {
    error.is_closed() || error.source().is_some_and(<dyn std::error::Error>::is::<std::io::Error>)
}

/// The message with its causes: the driver's own texts say little.
pub(super) fn text(error: &Error) -> String {
    if let Some(refused) = error.as_db_error() {
        return format!("{} ({})", refused.message(), refused.code().code());
    }
    let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
    format!("{error}{cause}")
}
