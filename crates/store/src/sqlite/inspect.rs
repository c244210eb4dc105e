//! Inspects the embedded store beside a process that may be using it.

use std::path::Path;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};
use rusqlite::{Connection, OpenFlags};

use crate::inspect::{Inspection, NodeRow, running};
use crate::sqlite::clock::FileClock;
use crate::sqlite::files::{LOG_NAME, NAME};
use crate::tables::SQLITE_MIGRATIONS;
use crate::{NODES_MAX, Result, StoreError, wall};

/// What a path in a URI may contain unencoded.
const UNENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'.').remove(b'-').remove(b'_');

/// Reads the state of the store in a folder.
pub fn inspect_folder(folder: &Path) -> Result<Inspection> {
    let connection = connect(folder)?;
    let schema_known = SQLITE_MIGRATIONS.last().map_or(0, |migration| migration.number);
    let mut applied = connection.prepare(include_str!("sql/migrated.sql"))?;
    let numbers = applied.query_map([], |row| row.get::<_, u32>(0))?.collect::<Result<Vec<_>, _>>()?;
    let schema = numbers.last().copied().unwrap_or(0);
    if schema != schema_known {
        return Ok(Inspection { schema, schema_known, ..Inspection::default() });
    }
    let now = FileClock::alive_at(&connection)?.max(wall());
    let nodes = running(nodes(&connection)?, now);
    Ok(Inspection { schema, schema_known, clock_ahead_ms: now.0 - wall().0, nodes, database: None })
}

/// Opens the file without creating, changing or deleting one beside it. Without a write-ahead log, no process uses the file.
fn connect(folder: &Path) -> Result<Connection> {
    let path = folder.join(NAME);
    let absolute = path.canonicalize();
    let absolute =
        absolute.map_err(|error| StoreError::Unavailable(format!("{}: {error}", path.display())))?;
    let has_log = folder.join(LOG_NAME).exists();
    let mode = if has_log { "mode=ro&readonly_shm=1" } else { "mode=ro&immutable=1" };
    let encoded = percent_encode(absolute.as_os_str().as_encoded_bytes(), UNENCODED);
    let flags =
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(format!("file:{encoded}?{mode}"), flags)?;
    connection.execute_batch("pragma trusted_schema = off; pragma busy_timeout = 5000")?;
    Ok(connection)
}

fn nodes(connection: &Connection) -> Result<Vec<NodeRow>> {
    let mut statement = connection.prepare(include_str!("sql/nodes.sql"))?;
    let rows = statement.query_map([NODES_MAX as i64], |row| {
        let (address, version) = (row.get(1)?, row.get(2)?);
        Ok(NodeRow { address, version, seen_at: row.get(4)?, is_stopped: row.get(5)? })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}
