//! Why a command did not happen. A refusal is a correct answer, carries what its reader needs to understand it,
//! and changed nothing.

use std::fmt;

use crate::id::{Fence, JobId, Name, StateName, TypeName};
use crate::job::LifecycleRef;
use crate::lifecycle::Trigger;
use crate::time::Millis;

/// Why not.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// No rule leads from here by this trigger.
    #[error("job {job} is {current_state}, and {trigger} does not lead out of it; allowed: {}", list(.allowed))]
    InvalidTransition {
        /// Which job.
        job: JobId,
        /// Where it is.
        current_state: StateName,
        /// What was asked.
        trigger: Trigger,
        /// Every trigger that has a rule from here, the clock's too.
        allowed: Vec<Trigger>,
    },
    /// The verb needs the lease, and this is not its holder.
    #[error("job {job}: the lease with fence {} is not the live one ({cause})", shown(*.fence))]
    LeaseConflict {
        /// Which job.
        job: JobId,
        /// The fence that was presented.
        fence: Option<Fence>,
        /// What became of it.
        cause: ConflictCause,
    },
    /// No such thing.
    #[error("there is no {what} {name}")]
    NotFound {
        /// `job`, `dead letter`, `key`.
        what: &'static str,
        /// Its id.
        name: String,
    },
    /// No such type.
    #[error("there is no type {0}")]
    UnknownType(TypeName),
    /// A job of a lifecycle that this node has not loaded.
    #[error("lifecycle {} version {} is not loaded", .0.name, .0.version)]
    UnknownLifecycle(LifecycleRef),
    /// A value that is not what it must be.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    ValidationFailed(Vec<Pointed>),
    /// The type's guard said no.
    #[error("the guard of type {job_type} does not admit this payload: {detail}")]
    GuardRejected {
        /// Which type.
        job_type: TypeName,
        /// What it said.
        detail: String,
    },
    /// The same key, another body.
    #[error("idempotency key {0} was used for another body")]
    IdempotencyMismatch(Name),
    /// Not enough to reserve the cost.
    #[error("it costs {cost} and {available} are available")]
    InsufficientCredits {
        /// What it costs.
        cost: u64,
        /// What there is.
        available: u64,
    },
    /// Over a bound.
    #[error("{what} is larger than {limit} bytes")]
    TooLarge {
        /// What is.
        what: &'static str,
        /// The bound.
        limit: usize,
    },
    /// Too many in a while.
    #[error("too many; try again in {retry_after}")]
    RateLimited {
        /// When to come again.
        retry_after: Millis,
    },
    /// The same name and version with another text.
    #[error("lifecycle {} version {} is in force with another text; raise its version", .0.name, .0.version)]
    LifecycleChanged(LifecycleRef),
}

/// A flaw of a value and the JSON pointer to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pointed {
    /// `#/payload/prompt`.
    pub pointer: String,
    /// What is wrong there.
    pub detail: String,
}

impl fmt::Display for Pointed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.pointer, self.detail)
    }
}

/// What became of a lease that was presented.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConflictCause {
    /// It ran out, or was ended by its holder.
    Lost,
    /// There is a newer one.
    Superseded,
    /// Cancelled, dead-lettered or timed out.
    Revoked,
    /// The live fence, another worker.
    WrongWorker,
}

impl fmt::Display for ConflictCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Lost => "lost",
            Self::Superseded => "superseded",
            Self::Revoked => "revoked",
            Self::WrongWorker => "wrong_worker",
        })
    }
}

impl Refusal {
    /// The stable code by which callers tell refusals apart.
    pub fn code(&self) -> &'static str {
        match self {
            Self::InvalidTransition { .. } => "invalid_transition",
            Self::LeaseConflict { .. } => "lease_conflict",
            Self::NotFound { .. } => "not_found",
            Self::UnknownType(_) => "unknown_type",
            Self::UnknownLifecycle(_) => "unknown_lifecycle",
            Self::ValidationFailed(_) => "validation_failed",
            Self::GuardRejected { .. } => "guard_rejected",
            Self::IdempotencyMismatch(_) => "idempotency_mismatch",
            Self::InsufficientCredits { .. } => "insufficient_credits",
            Self::TooLarge { .. } => "too_large",
            Self::RateLimited { .. } => "rate_limited",
            Self::LifecycleChanged(_) => "lifecycle_changed",
        }
    }

    /// One flaw of one value.
    pub fn invalid(pointer: &str, detail: impl Into<String>) -> Self {
        Self::ValidationFailed(vec![Pointed { pointer: pointer.to_owned(), detail: detail.into() }])
    }

    /// There is no such job.
    pub fn no_job(id: JobId) -> Self {
        Self::NotFound { what: "job", name: id.to_string() }
    }
}

fn list(triggers: &[Trigger]) -> String {
    if triggers.is_empty() {
        return "nothing".to_owned();
    }
    triggers.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn shown(fence: Option<Fence>) -> String {
    fence.map_or_else(|| "none".to_owned(), |fence| fence.to_string())
}
