//! Sessions: each stands for a credential that was presented when it began. Those of the dashboard are for everything that the
//! credential may do there, those of a stream for one job.

use serde::{Deserialize, Serialize};

use crate::api_key::Role;
use crate::id::{JobId, Name, UserId};
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
    /// What a session of a stream is for; a session of the dashboard has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<StreamGrant>,
}

/// The stream that a session may read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamGrant {
    pub job: JobId,
    /// The session expires by then, however often it is extended.
    pub ends_at: Timestamp,
}

/// A session to begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewSession {
    /// Digest of the session's id, in hex; for a stream after `stream:`.
    pub digest: Name,
    pub session: Session,
}
