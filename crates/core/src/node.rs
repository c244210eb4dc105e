//! Nodes, as they tell of themselves: where each listens, when it was last heard, and what it has counted.

use crate::id::Name;
use crate::time::Timestamp;

/// A node that was heard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeRecord {
    /// New with each start of the process.
    pub id: Name,
    /// Where it listens.
    pub address: Name,
    /// Its version of Tenure.
    pub version: Name,
    /// When it started.
    pub started_at: Timestamp,
    /// When it was last heard; in a command, whatever it says is replaced by the store's time.
    pub seen_at: Timestamp,
    /// Whether it has said that it stops.
    pub stopped: bool,
    /// What it has counted, in words that only nodes read.
    pub tally: String,
}
