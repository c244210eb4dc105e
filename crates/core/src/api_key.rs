//! API keys: the role and user of a caller. Only the digest of a key is stored; the key itself is shown once.

use serde::{Deserialize, Serialize};

use crate::id::{Actor, Name, UserId};
use crate::time::Timestamp;

named! {
    /// The permissions of a key.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Role {
        /// Creates jobs and reads those of its user.
        Producer = "producer",
        /// Claims and reports, and reads the jobs that it holds.
        Worker = "worker",
        /// Everything except keys.
        Operator = "operator",
        /// Reads everything, changes nothing.
        Viewer = "viewer",
        /// Everything.
        Admin = "admin",
    }
}

/// Revoked but never deleted, so that the audit log stays complete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiKey {
    /// The public part of the key.
    pub id: Name,
    pub role: Role,
    /// The user that owns the jobs created with the key.
    pub user_id: Option<UserId>,
    /// Digest of the secret part.
    pub digest: [u8; 32],
    pub created_at: Timestamp,
    pub created_by: Actor,
    pub revoked_at: Option<Timestamp>,
}
