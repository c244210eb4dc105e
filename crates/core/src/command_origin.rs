//! Origins of commands: the actor under whose name a command is recorded, and the credential that its caller presented.

use std::fmt;

use crate::id::{Actor, Name, WorkerId};

/// Where a command comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandOrigin {
    pub actor: Actor,
    /// The key or token that the caller presented: `key:…`, `jwt:…`, or `open` on a server without keys. `None` for commands
    /// of Tenure itself and of programs that embed it.
    pub credential: Option<Name>,
}

impl CommandOrigin {
    /// The same caller, recorded as a worker.
    #[must_use]
    pub fn as_worker(&self, worker: &WorkerId) -> Self {
        Self { actor: Actor::worker(worker), credential: self.credential.clone() }
    }
}

impl From<Actor> for CommandOrigin {
    fn from(actor: Actor) -> Self {
        Self { actor, credential: None }
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
