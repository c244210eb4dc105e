//! Workers, as far as Tenure knows them: a name, and when it was last heard.

use uuid::Uuid;

use crate::id::{Name, WorkerId};
use crate::time::Timestamp;

/// A worker that was heard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerRecord {
    /// As it calls itself.
    pub name: WorkerId,
    /// The key or token that it came with, where callers need one.
    pub credential: Option<Name>,
    /// When it was last heard.
    pub seen_at: Timestamp,
    /// The connection that has its name, if it ever had one: the newest. In a change, none leaves the name to whoever
    /// has it.
    pub connection: Option<Uuid>,
}
