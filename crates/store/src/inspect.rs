//! What `tenure doctor` reads of a store. Nothing is created, migrated, locked or written.

use crate::postgres::VERSION_MIN;
use crate::prelude::*;

/// The state of a store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inspection {
    /// The last migration that was applied; 0 if there are no tables yet.
    pub schema: u32,
    /// The last migration that this binary has.
    pub schema_known: u32,
    /// How far the store's clock is ahead of this machine's.
    pub clock_ahead_ms: i64,
    /// Nodes that are running by their last report.
    pub nodes: Vec<InspectedNode>,
    /// `None` for the embedded store.
    pub database: Option<DatabaseSettings>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InspectedNode {
    pub address: String,
    pub version: String,
}

/// Settings of a PostgreSQL server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatabaseSettings {
    /// Such as 170004.
    pub version: u32,
    pub fsync: String,
    pub synchronous_commit: String,
    pub full_page_writes: String,
    pub autovacuum: String,
    pub is_standby: bool,
    pub is_read_only: bool,
    /// Whether this role may create tables, or, if there are some, write to them.
    pub may_write: bool,
    pub connections_max: u32,
    /// Those that are open now, of all programs.
    pub connections: u32,
    pub shared_buffers_bytes: u64,
}

impl DatabaseSettings {
    /// Whether this version can be used.
    pub fn is_supported(&self) -> bool {
        self.version >= VERSION_MIN as u32
    }
}

/// Connections that a node opens at most: one for batches, one for notifications, and those for reads.
pub const NODE_CONNECTIONS_MAX: u32 = 2 + crate::postgres::READ_CONNECTIONS_MAX;

/// Nodes report every two seconds. One without a report for this long is not running.
const NODE_SILENCE_MS_MAX: i64 = 10_000;

/// A row of `nodes`.
pub(crate) struct NodeRow {
    pub(crate) address: String,
    pub(crate) version: String,
    pub(crate) seen_at: i64,
    pub(crate) is_stopped: bool,
}

/// The nodes that are running at a time.
pub(crate) fn running(rows: Vec<NodeRow>, now: Timestamp) -> Vec<InspectedNode> {
    let is_running = |row: &NodeRow| !row.is_stopped && now.0 - row.seen_at <= NODE_SILENCE_MS_MAX;
    let running = rows.into_iter().filter(is_running);
    running.map(|NodeRow { address, version, .. }| InspectedNode { address, version }).collect()
}
