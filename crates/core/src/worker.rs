//! Worker records: the name and when the worker was last seen.

use uuid::Uuid;

use crate::id::{Name, WorkerId};
use crate::time::Timestamp;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerRecord {
    pub name: WorkerId,
    /// The key or token that it presented, if keys are required.
    pub credential: Option<Name>,
    pub seen_at: Timestamp,
    /// Its newest socket connection, if it has had one. In an update, `None` keeps the current connection.
    pub connection: Option<Uuid>,
}

/// A worker that was seen, and the key or token that it presented.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerSighting {
    pub worker: WorkerId,
    pub credential: Option<Name>,
}
