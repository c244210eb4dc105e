//! Keys of callers: who may ask, as what, and for whom. Only the digest of a key is kept; the key itself is shown once.

use serde::{Deserialize, Serialize};

use crate::id::{Actor, Name, UserId};
use crate::time::Timestamp;

/// What the holder of a key may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Creates jobs and sees its own user's.
    Producer,
    /// Claims and reports, and sees what it holds.
    Worker,
    /// Everything but keys.
    Operator,
    /// Sees everything, changes nothing.
    Viewer,
    /// Everything.
    Admin,
}

impl Role {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Producer, Self::Worker, Self::Operator, Self::Viewer, Self::Admin];

    /// Its name in files and on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Producer => "producer",
            Self::Worker => "worker",
            Self::Operator => "operator",
            Self::Viewer => "viewer",
            Self::Admin => "admin",
        }
    }

    /// By its name.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.as_str() == text)
    }
}

/// A caller's key. It is never forgotten, only revoked, so that the trail can always say whose it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiKey {
    /// Its public part.
    pub id: Name,
    /// What its holder may do.
    pub role: Role,
    /// The user whose jobs its holder's are.
    pub user_id: Option<UserId>,
    /// Of the secret part.
    pub digest: [u8; 32],
    /// When.
    pub created_at: Timestamp,
    /// By whom.
    pub created_by: Actor,
    /// Since when it opens nothing.
    pub revoked_at: Option<Timestamp>,
}
