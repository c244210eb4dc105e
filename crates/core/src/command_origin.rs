//! Origins of commands: the actor under whose name a command is recorded, the credential that its caller presented, and the jobs
//! that it may read.

use std::fmt;
use std::sync::Arc;

use crate::api_key::{Role, Roles, Scopes};
use crate::id::{Actor, Name, UserId, WorkerId};
use crate::job::Spec;
use crate::lifecycle::Rule;

/// Where a command comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandOrigin {
    pub actor: Actor,
    /// The key or token that the caller presented: `key:…`, `jwt:…`, or `open` on a server without keys. `None` for commands
    /// of Tenure itself and of programs that embed it.
    pub credential: Option<Name>,
    /// All roles of the caller; the actor names one of them.
    pub roles: Roles,
    /// The user whose jobs a producer may change.
    pub user: Option<UserId>,
}

impl CommandOrigin {
    /// The same caller, recorded as a worker.
    #[must_use]
    pub fn as_worker(&self, worker: &WorkerId) -> Self {
        Self { credential: self.credential.clone(), ..Actor::worker(worker).into() }
    }

    /// Whether one of the caller's roles may cause a transition by this rule. It is a producer only for the jobs of its user.
    pub(crate) fn may_follow(&self, rule: &Rule, spec: &Spec) -> bool {
        let is_own = self.user.is_some() && self.user == spec.user_id;
        let mut roles = self.roles.iter().filter(|role| *role != Role::Producer || is_own);
        rule.permits(self.actor.role()) || roles.any(|role| rule.permits(Some(role)))
    }
}

impl From<Actor> for CommandOrigin {
    fn from(actor: Actor) -> Self {
        Self { actor, credential: None, roles: Roles::default(), user: None }
    }
}

impl From<&str> for CommandOrigin {
    fn from(actor: &str) -> Self {
        Actor::from(actor).into()
    }
}

impl fmt::Display for CommandOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.actor.fmt(f)
    }
}

/// The jobs that a caller may read, and those that it may change; all by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reader {
    /// Reads only jobs of this user; none, if the caller has no user.
    pub own_user: Option<Option<UserId>>,
    /// Changes only jobs of this user, of those that it reads.
    pub own_changes: Option<Option<UserId>>,
    pub scopes: Arc<Scopes>,
}

impl Reader {
    pub fn may_read(&self, spec: &Spec) -> bool {
        is_of(self.own_user.as_ref(), spec)
            && self.scopes.admits_job(&spec.job_type, &spec.queue, spec.user_id.as_ref())
    }

    pub fn may_change(&self, spec: &Spec) -> bool {
        self.may_read(spec) && is_of(self.own_changes.as_ref(), spec)
    }
}

/// Whether a job belongs to the user of a limit.
fn is_of(limit: Option<&Option<UserId>>, spec: &Spec) -> bool {
    limit.is_none_or(|own| own.is_some() && *own == spec.user_id)
}
