//! Who calls, and what he may: keys, tokens and the open mode all end in a [`Caller`].

use std::sync::LazyLock;

use tenure_core::api_key::Role;
use tenure_core::id::{Actor, Name, UserId};
use tenure_core::query::JobFilter;
use tenure_core::time::Timestamp;

use crate::problem::Problem;

/// Someone who may call.
#[derive(Clone, Debug)]
pub struct Caller {
    pub role: Role,
    /// Whose jobs a producer may touch.
    pub user: Option<UserId>,
    /// `key:…`, `jwt:…`, or `open` on a server without keys.
    pub credential: Name,
    /// When his token expires.
    pub until: Option<Timestamp>,
}

/// What a call needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Right {
    /// See jobs: all of them, or one's own.
    See,
    /// See how the whole is doing.
    Oversee,
    /// Create jobs, cancel and retry them, answer their signals: all of them, or one's own.
    Own,
    /// Claim and report.
    Work,
    /// Everything that operators do.
    Operate,
    /// Make and revoke keys.
    Keys,
}

impl Right {
    fn is_of(self, role: Role) -> bool {
        match self {
            Self::See => true,
            Self::Oversee => matches!(role, Role::Viewer | Role::Operator | Role::Admin),
            Self::Own => matches!(role, Role::Producer | Role::Operator | Role::Admin),
            Self::Work => matches!(role, Role::Worker | Role::Operator | Role::Admin),
            Self::Operate => matches!(role, Role::Operator | Role::Admin),
            Self::Keys => role == Role::Admin,
        }
    }
}

impl Caller {
    /// The caller of a server without keys: whoever reaches its loopback address.
    pub fn open() -> Self {
        static OPEN: LazyLock<Name> = LazyLock::new(|| "open".into());
        Self { role: Role::Admin, user: None, credential: OPEN.clone(), until: None }
    }

    /// Refuses a role that may not.
    pub fn may(&self, right: Right) -> Result<(), Problem> {
        if right.is_of(self.role) {
            return Ok(());
        }
        Err(Problem::forbidden(format!("the role {} may not do this", self.role.as_str())))
    }

    pub fn is(&self, right: Right) -> bool {
        right.is_of(self.role)
    }

    /// As history says it: producers by the user that they act for, others by their role and credential.
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

    /// Whether jobs of this user are the caller's to see or to touch, whatever the role.
    pub fn is_or_oversees(&self, user: Option<&UserId>) -> bool {
        self.role != Role::Producer || (user.is_some() && user == self.user.as_ref())
    }

    /// Narrows a listing to what the caller may see.
    pub fn narrow(&self, filter: &mut JobFilter) -> Result<(), Problem> {
        if self.role == Role::Producer {
            if filter.user_id.is_some() && filter.user_id != self.user {
                return Err(Problem::forbidden("a producer lists jobs of its own user"));
            }
            filter.user_id.clone_from(&self.user);
        }
        Ok(())
    }
}
