//! API keys: the role and user of a caller. Only the digest of a key is stored; the key itself is shown once.

use serde::{Deserialize, Serialize};

use crate::id::{Actor, Name, UserId};
use crate::time::Timestamp;

/// The permissions of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Creates jobs and reads those of its user.
    Producer,
    /// Claims and reports, and reads the jobs that it holds.
    Worker,
    /// Everything except keys.
    Operator,
    /// Reads everything, changes nothing.
    Viewer,
    /// Everything.
    Admin,
}

impl Role {
    pub const ALL: [Self; 5] = [Self::Producer, Self::Worker, Self::Operator, Self::Viewer, Self::Admin];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Producer => "producer",
            Self::Worker => "worker",
            Self::Operator => "operator",
            Self::Viewer => "viewer",
            Self::Admin => "admin",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.as_str() == text)
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
