//! Inspects a database: its settings, its clock, and the nodes that use it.

use std::borrow::Cow;

use tokio_postgres::types::Type;

use super::connection::{Connection, Sql};
use super::error::StatementFault;
use super::options::Options;
use super::rows::{get, one};
use super::statements::{MIGRATED, SETTINGS};
use crate::inspect::{DatabaseSettings, Inspection, NodeRow, running};
use crate::prelude::*;
use crate::tables::POSTGRES_MIGRATIONS;
use crate::{NODES_MAX, Result, wall};

const NOW_WALL: Sql = Sql { text: include_str!("sql/now_wall.sql"), types: Cow::Borrowed(&[]) };
const CAPACITY: Sql = Sql { text: include_str!("sql/capacity.sql"), types: Cow::Borrowed(&[]) };
const NODES: Sql = Sql { text: include_str!("sql/nodes.sql"), types: Cow::Borrowed(&[Type::INT8]) };

/// Refuses a URL or a name of a schema that cannot be used, without connecting.
pub fn check_url(url: &str, schema: &str) -> Result<()> {
    Options::parse(url, schema).map(drop)
}

/// Reads the state of Tenure's schema in the database behind a `postgres://` URL.
pub async fn inspect_database(url: &str, schema: &str) -> Result<Inspection> {
    let connection = Connection::open(&Options::parse(url, schema)?.server, false).await?;
    Ok(inspect(&connection).await?)
}

async fn inspect(connection: &Connection) -> Result<Inspection, StatementFault> {
    let begun = wall();
    let now: i64 = get(one(&connection.query_once(&NOW_WALL, &[]).await?, &NOW_WALL)?, 0)?;
    // The database read its clock between these two times of this machine.
    let clock_ahead_ms = if now > wall().0 { now - wall().0 } else { (now - begun.0).min(0) };
    let schema_known = POSTGRES_MIGRATIONS.last().map_or(0, |migration| migration.number);
    let capacity = connection.query_once(&CAPACITY, &[]).await?;
    let database = Some(settings(connection, one(&capacity, &CAPACITY)?).await?);
    let mut found = Inspection { schema: 0, schema_known, clock_ahead_ms, nodes: Vec::new(), database };
    if get(one(&capacity, &CAPACITY)?, 5)? {
        for row in &connection.query_once(&MIGRATED, &[]).await? {
            found.schema = get::<i32>(row, 0)? as u32;
        }
    }
    if found.schema == schema_known {
        found.nodes = running(nodes(connection).await?, Timestamp(now));
    }
    Ok(found)
}

async fn settings(
    connection: &Connection,
    capacity: &tokio_postgres::Row,
) -> Result<DatabaseSettings, StatementFault> {
    let rows = connection.query_once(&SETTINGS, &[]).await?;
    let row = one(&rows, &SETTINGS)?;
    Ok(DatabaseSettings {
        version: get::<i32>(row, 0)? as u32,
        fsync: get(row, 1)?,
        synchronous_commit: get(row, 2)?,
        full_page_writes: get(row, 3)?,
        autovacuum: get(capacity, 3)?,
        is_standby: get(row, 4)?,
        is_read_only: get::<&str>(row, 5)? == "on",
        may_write: get(capacity, 4)?,
        connections_max: get::<i32>(capacity, 0)? as u32,
        connections: get::<i32>(capacity, 1)? as u32,
        shared_buffers_bytes: get::<i64>(capacity, 2)? as u64,
    })
}

async fn nodes(connection: &Connection) -> Result<Vec<NodeRow>, StatementFault> {
    let mut nodes = Vec::new();
    for row in &connection.query_once(&NODES, &[&(NODES_MAX as i64)]).await? {
        let (address, version) = (get(row, 1)?, get(row, 2)?);
        nodes.push(NodeRow { address, version, seen_at: get(row, 4)?, is_stopped: get(row, 5)? });
    }
    Ok(nodes)
}
