//! Sessions of the dashboard: each stands for a credential that was presented when it began.

use serde::{Deserialize, Serialize};

use crate::api_key::Role;
use crate::id::{Name, UserId};
use crate::time::Timestamp;

/// A session, without its id, of which only the digest is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// `key:…` or `jwt:…`.
    pub credential: Name,
    /// Digest of the secret of the key that was presented.
    pub secret: Option<[u8; 32]>,
    /// The role of a token. The roles of a key are those that it has when the session is used.
    pub role: Option<Role>,
    /// The user of a token.
    pub user_id: Option<UserId>,
    pub expires_at: Timestamp,
}

/// A session to begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewSession {
    /// Digest of the session's id, in hex.
    pub digest: Name,
    pub session: Session,
}
