//! Tables of versions that had no schema: they are moved into it.

use super::connection::Connection;
use super::error::StatementFault;
use super::open::migrated;
use super::rows::{get, one};
use super::schema::SchemaName;
use super::statements::TABLES_FOUND;
use crate::tables::POSTGRES_MIGRATIONS;

/// The tables and sequences of versions without a schema, each with the migration that created it.
const EARLIER: [(u32, &str); 25] = [
    (1, "migrations"),
    (1, "jobs"),
    (1, "job_states"),
    (1, "events"),
    (1, "telemetry"),
    (1, "logs"),
    (1, "dead_letters"),
    (1, "accounts"),
    (1, "ledger"),
    (1, "audit"),
    (1, "paused_queues"),
    (1, "keys"),
    (1, "lifecycles"),
    (1, "clock"),
    (2, "commits"),
    (3, "api_keys"),
    (3, "workers"),
    (4, "assets"),
    (4, "asset_garbage"),
    (5, "orders"),
    (6, "nodes"),
    (11, "sessions"),
    (12, "live_count_changes"),
    (14, "job_changes"),
    (14, "journal"),
];

/// Sets the search path of the transaction to the schema, which is created if it does not exist. The default schema takes the
/// tables that an earlier version made, wherever the search path of the session finds them. Another does not: it may be a
/// second system in the same database.
pub(super) async fn enter_schema(connection: &Connection, schema: &SchemaName) -> Result<(), StatementFault> {
    let rows = connection.query_long(&TABLES_FOUND, &[&schema.as_str()]).await?;
    let row = one(&rows, &TABLES_FOUND)?;
    let (exists, has_tables): (bool, bool) = (get(row, 0)?, get(row, 1)?);
    let earlier: Option<String> = get(row, 2)?;
    if !exists {
        connection.batch(&format!("create schema {}", schema.quoted())).await?;
    }
    if let Some(earlier) = earlier.filter(|_| !has_tables && schema.is_default()) {
        take_over(connection, &earlier, schema).await?;
    }
    connection.batch(&schema.search_path()).await
}

/// Moves the tables, if their first migration is Tenure's. Indexes and the sequences of columns move with them.
async fn take_over(
    connection: &Connection,
    earlier: &str,
    schema: &SchemaName,
) -> Result<(), StatementFault> {
    let done = migrated(connection).await?;
    let is_ours = done.first().is_some_and(|(_, checksum)| *checksum == POSTGRES_MIGRATIONS[0].checksum());
    if !is_ours {
        return Ok(());
    }
    let last = done.iter().map(|(number, _)| *number).max().unwrap_or_default();
    let from = format!("\"{}\"", earlier.replace('"', "\"\""));
    let moved = |kind: &str, name: &str| {
        format!("alter {kind} if exists {from}.{name} set schema {};\n", schema.quoted())
    };
    let tables = EARLIER.iter().filter(|(number, _)| *number <= last).map(|(_, name)| moved("table", name));
    let statements: String = tables.chain([moved("sequence", "positions")]).collect();
    connection.batch_long(&statements).await?;
    tracing::info!(from = earlier, to = schema.as_str(), "tables moved into their schema");
    Ok(())
}
