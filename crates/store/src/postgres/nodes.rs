//! Node records.

use tenure_core::limits::NODE_UNSEEN_MS_MAX;
use tenure_core::node::NodeRecord;
use tenure_core::time::Timestamp;
use tenure_core::working_set::WorkingSet;
use tokio_postgres::Row;

use super::Node;
use super::connection::Sql;
use super::read::rows_max;
use super::rows::{Param, get};
use super::statements::{NODES, PRUNE_NODES, PUT_NODE};
use crate::{NODES_MAX, StoreError};

impl Node {
    pub(super) async fn nodes(&self) -> Result<Vec<NodeRecord>, StoreError> {
        self.ask(&NODES, &[&rows_max(NODES_MAX)]).await?.iter().map(node_seen).collect()
    }
}

fn node_seen(row: &Row) -> Result<NodeRecord, StoreError> {
    let name = |column| get::<&str>(row, column).map(Into::into);
    Ok(NodeRecord {
        id: name(0)?,
        address: name(1)?,
        version: name(2)?,
        started_at: Timestamp(get(row, 3)?),
        seen_at: Timestamp(get(row, 4)?),
        stopped: get(row, 5)?,
        tally: get(row, 6)?,
    })
}

/// Writes node records and deletes expired ones.
pub(super) fn writes(set: &WorkingSet) -> Vec<(&'static Sql, Vec<Param<'_>>)> {
    let nodes: Vec<&NodeRecord> = set.changes.upserted.nodes.values().collect();
    let Some(now) = nodes.iter().map(|node| node.seen_at.0).max() else { return Vec::new() };
    let columns: Vec<Param<'_>> = vec![
        Box::new(nodes.iter().map(|node| node.id.as_str()).collect::<Vec<_>>()),
        Box::new(nodes.iter().map(|node| node.address.as_str()).collect::<Vec<_>>()),
        Box::new(nodes.iter().map(|node| node.version.as_str()).collect::<Vec<_>>()),
        Box::new(nodes.iter().map(|node| node.started_at.0).collect::<Vec<_>>()),
        Box::new(nodes.iter().map(|node| node.seen_at.0).collect::<Vec<_>>()),
        Box::new(nodes.iter().map(|node| node.stopped).collect::<Vec<_>>()),
        Box::new(nodes.iter().map(|node| node.tally.as_str()).collect::<Vec<_>>()),
    ];
    let unseen_since = now - NODE_UNSEEN_MS_MAX as i64;
    vec![(&PUT_NODE, columns), (&PRUNE_NODES, vec![Box::new(unseen_since)])]
}
