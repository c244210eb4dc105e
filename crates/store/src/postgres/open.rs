//! Checks of the server's version and settings, and migrations, before the first batch.

use super::connection::Connection;
use super::earlier_tables;
use super::error::StatementFault;
use super::intake;
use super::rows::{get, one};
use super::schema::SchemaName;
use super::statements::{INSERT_MIGRATION, LOCK_MIGRATIONS, MIGRATED, MIGRATIONS, NOW_FIRST, SETTINGS};
use crate::StoreError;
use crate::migrate::pending;
use crate::tables::POSTGRES_MIGRATIONS;

/// The first version with 64-bit transaction ids and their outcomes.
pub(crate) const VERSION_MIN: i32 = 130_000;

/// Refuses a server that could lose acknowledged work, or that is read-only.
pub(super) async fn check(connection: &Connection) -> Result<(), StatementFault> {
    let rows = connection.query_once(&SETTINGS, &[]).await?;
    let row = one(&rows, &SETTINGS)?;
    let version: i32 = get(row, 0)?;
    let is_off = |column| get::<&str>(row, column).map(|setting| setting == "off");
    let (standby, read_only) = (get::<bool>(row, 4)?, get::<&str>(row, 5)? == "on");
    let refusals = [
        (version < VERSION_MIN, format!("PostgreSQL {} is too old: 13 is needed", version / 10_000)),
        (is_off(1)?, "fsync is off: a power cut would lose acknowledged jobs".to_owned()),
        (is_off(2)?, "synchronous_commit is off: a crash would lose acknowledged jobs".to_owned()),
        (is_off(3)?, "full_page_writes is off: a power cut could corrupt the database".to_owned()),
        (standby, "this server is a standby: connect to the primary".to_owned()),
        (read_only, "this database is read-only".to_owned()),
    ];
    match refusals.into_iter().find(|(wrong, _)| *wrong) {
        Some((_, why)) => Err(StatementFault::Failed(StoreError::Unsafe(why))),
        None => Ok(()),
    }
}

/// Runs pending migrations in one transaction; of several nodes, one does.
pub(super) async fn migrate(connection: &Connection, schema: &SchemaName) -> Result<(), StatementFault> {
    connection.batch("begin").await?;
    let done = migrate_inside(connection, schema).await;
    connection.batch(if done.is_ok() { "commit" } else { "rollback" }).await?;
    done
}

async fn migrate_inside(connection: &Connection, schema: &SchemaName) -> Result<(), StatementFault> {
    connection.query_long(&LOCK_MIGRATIONS, &[]).await?;
    earlier_tables::enter_schema(connection, schema).await?;
    connection.batch(MIGRATIONS).await?;
    let done = migrated(connection).await?;
    for migration in pending(&POSTGRES_MIGRATIONS, &done)? {
        connection.batch_long(migration.sql).await?;
        connection.query(&INSERT_MIGRATION, &[&(migration.number as i32), &migration.checksum()]).await?;
        tracing::info!(number = migration.number, "database migrated");
    }
    intake::install(connection, schema).await?;
    connection.query(&NOW_FIRST, &[]).await?;
    Ok(())
}

/// The migrations that the tables on the search path have.
pub(super) async fn migrated(connection: &Connection) -> Result<Vec<(u32, String)>, StatementFault> {
    let mut done = Vec::new();
    for row in &connection.query_long(&MIGRATED, &[]).await? {
        done.push((get::<i32>(row, 0)? as u32, get::<String>(row, 1)?));
    }
    Ok(done)
}
