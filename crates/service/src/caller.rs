//! [`Caller`]: the identity and role behind a key, a token, or the open mode.

use std::sync::LazyLock;

pub use tenure_api::Right;
use tenure_core::id::Actor;

use crate::prelude::*;

#[derive(Clone, Debug)]
pub struct Caller {
    pub role: Role,
    /// The user whose jobs a producer may see and change.
    pub user: Option<UserId>,
    /// `key:…`, `jwt:…`, or `open` on a server without keys.
    pub credential: Name,
    /// When the token expires.
    pub expires_at: Option<Timestamp>,
}

impl Caller {
    /// The caller of every request to a server without keys, which listens on loopback only.
    pub fn open() -> Self {
        static OPEN: LazyLock<Name> = LazyLock::new(|| "open".into());
        Self { role: Role::Admin, user: None, credential: OPEN.clone(), expires_at: None }
    }

    /// Refuses a caller whose role lacks the right.
    pub fn may(&self, right: Right) -> Result<()> {
        if right.roles().contains(&self.role.as_str()) {
            return Ok(());
        }
        Err(self.lacks_right())
    }

    /// The refusal of a caller whose role lacks a right.
    pub fn lacks_right(&self) -> Problem {
        Problem::forbidden(format!("the role {} may not do this", self.role.as_str()))
    }

    pub fn is(&self, right: Right) -> bool {
        right.roles().contains(&self.role.as_str())
    }

    /// The actor in events: the user of a producer, otherwise role and credential.
    pub fn actor(&self) -> Actor {
        match (&self.role, &self.user) {
            (Role::Producer, Some(user)) => Actor(["user:", user.as_str()].concat().into()),
            (role, _) => {
                let id = self.credential.as_str();
                let id = id.split_once(':').map_or(id, |(_, id)| id);
                Actor([role.as_str(), ":", id].concat().into())
            }
        }
    }

    /// False for a producer of another user.
    pub fn has_access_to_user(&self, user: Option<&UserId>) -> bool {
        self.role != Role::Producer || (user.is_some() && user == self.user.as_ref())
    }

    /// Restricts a listing to what the caller may see.
    pub fn narrow(&self, filter: &mut JobFilter) -> Result<()> {
        if self.role == Role::Producer {
            if filter.user_id.is_some() && filter.user_id != self.user {
                return Err(Problem::forbidden("a producer lists only jobs of its user"));
            }
            filter.user_id.clone_from(&self.user);
        }
        Ok(())
    }
}
