//! Refusals: why a command was not carried out. A refusal is a correct answer, carries what the caller needs to understand
//! it, and means that nothing changed.

use std::fmt;

use serde_json::{Map, Value, json};

use crate::api_key::Role;
use crate::flow::{BucketId, SequenceId};
use crate::id::{Fence, JobId, Name, StateName, TypeName};
use crate::job::LifecycleRef;
use crate::lifecycle::Trigger;
use crate::time::Millis;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// No rule allows the trigger in this state.
    #[error("job {job} is in state {current_state}, which does not allow {trigger}; allowed: {}", list(.allowed))]
    InvalidTransition {
        job: JobId,
        current_state: StateName,
        trigger: Trigger,
        /// Every trigger that has a rule in this state, clock triggers included.
        allowed: Vec<Trigger>,
    },
    /// The rule of the signal names the roles that may send it.
    #[error("job {job}: {trigger} may be sent by {} only", roles(.by))]
    RoleNotPermitted { job: JobId, trigger: Trigger, by: Vec<Role> },
    /// Only finished jobs can be deleted.
    #[error("job {job} is in state {current_state}; only finished jobs can be deleted")]
    Unfinished { job: JobId, current_state: StateName, allowed: Vec<Trigger> },
    /// The verb needs the lease, and the caller does not hold it.
    #[error("job {job}: the lease with fence {} is no longer live ({cause})", shown(*.fence))]
    LeaseConflict { job: JobId, fence: Option<Fence>, cause: ConflictCause },
    /// The job has changed since the caller read it.
    #[error("job {job} has changed: its seq is {seq}")]
    PreconditionFailed { job: JobId, seq: u32 },
    /// The type's `unique` rule. `None` if the caller may not read the other job.
    #[error("another job of this type has the same unique key")]
    Duplicate { job: Option<JobId> },
    #[error("there is no {what} {name}")]
    NotFound { what: &'static str, name: String },
    #[error("there is no type {0}")]
    UnknownType(TypeName),
    /// The job's lifecycle is not loaded on this node.
    #[error("lifecycle {} version {} is not loaded", .0.name, .0.version)]
    UnknownLifecycle(LifecycleRef),
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    ValidationFailed(Vec<Pointed>),
    #[error("the guard of type {job_type} does not admit this payload: {detail}")]
    GuardRejected { job_type: TypeName, detail: String },
    /// The same key with a different body.
    #[error("idempotency key {0} was already used with a different body")]
    IdempotencyMismatch(Name),
    #[error("the job costs {cost} credits, and {available} are available")]
    InsufficientCredits { cost: u64, available: u64 },
    #[error("{what} is larger than {limit} bytes")]
    TooLarge { what: &'static str, limit: usize },
    /// The `waiting` limit of a resource.
    #[error("{bucket} has {limit} unfinished jobs, its limit")]
    QueueFull { bucket: BucketId, limit: u64 },
    /// Too many buckets of resources are in use.
    #[error("jobs with {limit} different resource keys are unfinished")]
    TooManyBuckets { limit: usize },
    /// The sequence continues already.
    #[error("sequence {0} is not halted")]
    NotHalted(SequenceId),
    #[error("rate limit exceeded; try again in {retry_after}")]
    RateLimited { retry_after: Millis },
    /// The same name and version with a different text.
    #[error("lifecycle {} version {} is already registered with a different text; raise its version", .0.name, .0.version)]
    LifecycleChanged(LifecycleRef),
}

/// A validation error and the JSON pointer to the value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pointed {
    /// `#/payload/prompt`.
    pub pointer: String,
    pub detail: String,
}

impl fmt::Display for Pointed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.pointer, self.detail)
    }
}

named! {
    /// Why a presented lease is not the live one.
    pub enum ConflictCause {
        /// It expired, or its holder ended it.
        Lost = "lost",
        /// There is a newer lease.
        Superseded = "superseded",
        /// Cancelled, dead-lettered or timed out.
        Revoked = "revoked",
        /// The live fence with a different worker.
        WrongWorker = "wrong_worker",
    }
}

impl Refusal {
    /// The stable problem code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::InvalidTransition { .. } | Self::Unfinished { .. } | Self::NotHalted(_) => {
                "invalid_transition"
            }
            Self::RoleNotPermitted { .. } => "forbidden",
            Self::LeaseConflict { .. } => "lease_conflict",
            Self::PreconditionFailed { .. } => "precondition_failed",
            Self::Duplicate { .. } => "duplicate",
            Self::NotFound { .. } => "not_found",
            Self::UnknownType(_) => "unknown_type",
            Self::UnknownLifecycle(_) => "unknown_lifecycle",
            Self::ValidationFailed(_) => "validation_failed",
            Self::GuardRejected { .. } => "guard_rejected",
            Self::IdempotencyMismatch(_) => "idempotency_mismatch",
            Self::InsufficientCredits { .. } => "insufficient_credits",
            Self::TooLarge { .. } => "too_large",
            Self::RateLimited { .. } => "rate_limited",
            Self::QueueFull { .. } => "queue_full",
            Self::TooManyBuckets { .. } => "overloaded",
            Self::LifecycleChanged(_) => "lifecycle_changed",
        }
    }

    /// The members of its problem besides code and detail.
    pub fn members(&self) -> Map<String, Value> {
        let at = |pointer: &str| json!({ "errors": [{ "pointer": pointer, "detail": self.to_string() }] });
        let members = match self {
            Self::InvalidTransition { job, current_state, trigger, allowed } => json!({
                "job_id": job, "current_state": current_state, "trigger": trigger, "allowed": allowed,
            }),
            Self::Unfinished { job, current_state, allowed } => json!({
                "job_id": job, "current_state": current_state, "trigger": "delete", "allowed": allowed,
            }),
            // A sequence that is not halted has one state, in which nothing is allowed.
            Self::NotHalted(_) => {
                json!({ "current_state": "running", "trigger": "signal:resume", "allowed": [] })
            }
            Self::PreconditionFailed { job, seq } => json!({ "job_id": job, "seq": seq }),
            Self::Duplicate { job: Some(job) } => json!({ "job_id": job }),
            Self::LeaseConflict { job, fence, cause } => {
                json!({ "job_id": job, "fence": fence, "cause": cause.to_string() })
            }
            Self::UnknownType(_) => at("#/type"),
            Self::ValidationFailed(errors) => {
                let one = |error: &Pointed| json!({ "pointer": error.pointer, "detail": error.detail });
                json!({ "errors": errors.iter().map(one).collect::<Vec<_>>() })
            }
            Self::GuardRejected { .. } => at("#/payload"),
            Self::IdempotencyMismatch(_) => at("#"),
            Self::InsufficientCredits { cost, available } => json!({ "cost": cost, "available": available }),
            Self::TooLarge { limit, .. } => json!({ "limit": limit }),
            Self::QueueFull { bucket, limit } => {
                json!({ "resource": bucket.resource, "key": bucket.key, "limit": limit })
            }
            Self::Duplicate { job: None }
            | Self::RoleNotPermitted { .. }
            | Self::NotFound { .. }
            | Self::RateLimited { .. }
            | Self::TooManyBuckets { .. }
            | Self::UnknownLifecycle(_)
            | Self::LifecycleChanged(_) => Value::Null,
        };
        if let Value::Object(members) = members { members } else { Map::new() }
    }

    pub fn invalid(pointer: &str, detail: impl Into<String>) -> Self {
        Self::ValidationFailed(vec![Pointed { pointer: pointer.to_owned(), detail: detail.into() }])
    }

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

/// Admins may send every signal.
fn roles(by: &[Role]) -> String {
    let mut names: Vec<&str> = by.iter().map(|role| role.as_str()).collect();
    if !by.contains(&Role::Admin) {
        names.push(Role::Admin.as_str());
    }
    names.join(", ")
}

fn shown(fence: Option<Fence>) -> String {
    fence.map_or_else(|| "none".to_owned(), |fence| fence.to_string())
}
