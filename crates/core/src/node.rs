//! Node records: address, last heartbeat and counters of each node.

use crate::id::Name;
use crate::time::Timestamp;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeRecord {
    /// New for each start of the process.
    pub id: Name,
    pub address: Name,
    pub version: Name,
    pub started_at: Timestamp,
    /// In a command, replaced by the store's time.
    pub seen_at: Timestamp,
    /// Whether it has reported a clean stop.
    pub stopped: bool,
    /// Its counters, in a format that only nodes read.
    pub tally: String,
}
