//! Node records.

use rusqlite::{Connection, Row, params};
use tenure_core::limits::NODE_UNSEEN_MS_MAX;
use tenure_core::node::NodeRecord;
use tenure_core::time::Timestamp;
use tenure_core::working_set::WorkingSet;

use crate::sqlite::Writer;
use crate::sqlite::read::all;
use crate::sqlite::rows::fault;
use crate::{NODES_MAX, StoreError};

pub(super) fn nodes(connection: &Connection) -> Result<Vec<NodeRecord>, StoreError> {
    let sql = include_str!("sql/nodes.sql");
    all(connection, sql, [NODES_MAX as i64], |row| node_seen(row).map_err(fault))
}

fn node_seen(row: &Row<'_>) -> rusqlite::Result<NodeRecord> {
    let name = |column| row.get::<_, String>(column).map(Into::into);
    Ok(NodeRecord {
        id: name(0)?,
        address: name(1)?,
        version: name(2)?,
        started_at: Timestamp(row.get(3)?),
        seen_at: Timestamp(row.get(4)?),
        stopped: row.get(5)?,
        tally: row.get(6)?,
    })
}

impl Writer {
    /// Writes node records and deletes expired ones.
    pub(super) fn write_nodes(&self, set: &WorkingSet) -> Result<(), StoreError> {
        for node in set.changes.upserted.nodes.values() {
            let NodeRecord { id, address, version, started_at, seen_at, stopped, tally } = node;
            let (id, address, version) = (id.as_str(), address.as_str(), version.as_str());
            let row = params![id, address, version, started_at.0, seen_at.0, stopped, tally];
            self.statement(include_str!("sql/put_node.sql"))?.execute(row).map_err(fault)?;
            let unseen_since = seen_at.0 - NODE_UNSEEN_MS_MAX as i64;
            self.statement(include_str!("sql/prune_nodes.sql"))?.execute([unseen_since]).map_err(fault)?;
        }
        Ok(())
    }
}
