//! Problems (RFC 9457): the body of every answer with a status of 400 or more.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use crate::span;

macro_rules! problem_codes {
    ($($Name:ident $code:literal $status:literal $title:literal $about:literal [$($member:literal)*]),+ $(,)?) => {
        /// A kind of problem.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum ProblemCode {
            $(#[doc = $about] $Name),+
        }

        impl ProblemCode {
            /// Every code.
            pub const ALL: &'static [Self] = &[$(Self::$Name),+];

            /// On the wire; stable, for programs to switch on.
            pub const fn code(self) -> &'static str {
                match self { $(Self::$Name => $code),+ }
            }

            /// The HTTP status.
            pub const fn status(self) -> u16 {
                match self { $(Self::$Name => $status),+ }
            }

            /// The code in words; the first line of its page.
            pub const fn title(self) -> &'static str {
                match self { $(Self::$Name => $title),+ }
            }

            /// When it occurs.
            pub const fn about(self) -> &'static str {
                match self { $(Self::$Name => $about),+ }
            }

            /// Members that a problem with this code always has, besides the common ones.
            pub const fn members(self) -> &'static [&'static str] {
                match self { $(Self::$Name => &[$($member),*]),+ }
            }
        }
    };
}

problem_codes! {
    Malformed "malformed" 400 "Malformed request"
        "The body is not JSON or has a wrong shape, or an id or a query parameter is invalid. Nothing was done." ["errors"],
    Unauthenticated "unauthenticated" 401 "Not authenticated" "Credentials are missing or invalid." [],
    InsufficientCredits "insufficient_credits" 402 "Not enough credits"
        "The account cannot pay the cost of the type. Nothing was stored." ["cost" "available"],
    Forbidden "forbidden" 403 "Not allowed"
        "The caller's role does not allow this, the job belongs to another user or worker, or `Origin` is not this server's." [],
    NotFound "not_found" 404 "Not found" "It does not exist." [],
    MethodNotAllowed "method_not_allowed" 405 "Method not allowed" "The path does not support the method." [],
    InvalidTransition "invalid_transition" 409 "Transition not allowed in this state"
        "No rule leads from the job's state by this trigger. Nothing changed." ["current_state" "trigger" "allowed"],
    LeaseConflict "lease_conflict" 409 "Lease no longer held"
        "The caller does not hold the live lease. The worker must stop." ["job_id" "fence" "cause"],
    Duplicate "duplicate" 409 "Unique key in use"
        "Another job of the type has the same unique key. Nothing changed." [],
    PreconditionFailed "precondition_failed" 412 "The job has changed"
        "The job's `seq` is not the one in `If-Match`. Nothing changed." ["seq"],
    TooLarge "too_large" 413 "Too large" "The body or a part of it exceeds its limit." ["limit"],
    UnsupportedMediaType "unsupported_media_type" 415 "Unsupported media type"
        "The body is not `application/json` in UTF-8." [],
    RangeNotSatisfiable "range_not_satisfiable" 416 "Range not satisfiable"
        "The range begins after the end of the content." [],
    Misdirected "misdirected" 421 "Host not allowed" "An open server does not answer to this `Host`." [],
    HeadersTooLarge "headers_too_large" 431 "Headers too large"
        "The first line and the headers of the request exceed their limit." ["limit"],
    UnknownType "unknown_type" 422 "Unknown job type" "The type does not exist, or no longer." ["errors"],
    ValidationFailed "validation_failed" 422 "Validation failed" "A value is not allowed, for example by the type's schema." ["errors"],
    GuardRejected "guard_rejected" 422 "Rejected by the type's guard" "The type's guard rejected the payload." ["errors"],
    IdempotencyMismatch "idempotency_mismatch" 422 "Idempotency key reused with a different body"
        "The key was used for another body." ["errors"],
    RateLimited "rate_limited" 429 "Rate limit exceeded" "Too many requests in a short time." [],
    QueueFull "queue_full" 429 "Too many unfinished jobs"
        "A resource that the job uses has as many unfinished jobs as it may. Nothing changed." ["resource" "key" "limit"],
    Internal "internal" 500 "Internal error" "A defect of the server." [],
    Overloaded "overloaded" 503 "Server overloaded" "Too much is waiting. Nothing was done; try again." [],
    StoreUnavailable "store_unavailable" 503 "Store unavailable" "The store does not answer. Nothing was done; try again." [],
}

/// A refusal or a failure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Problem {
    /// The HTTP status.
    pub status: u16,
    /// Stable, for programs to switch on: `invalid_transition`, `lease_conflict`, `not_found` and so on.
    pub code: String,
    /// The code in words.
    #[serde(default)]
    pub title: String,
    /// What happened.
    #[serde(default)]
    pub detail: Option<String>,
    /// How long to wait before the next try: the header `Retry-After`, or for an item of a batch its `retry_after`.
    #[serde(default, skip_serializing, deserialize_with = "retry_after")]
    pub retry_after: Option<Duration>,
    /// Everything else: `current_state`, `allowed`, `errors`, `cause` and so on.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl Problem {
    /// For programs to switch on.
    pub fn code(&self) -> &str {
        &self.code
    }

    /// Whether the server could not process it now, and changed nothing.
    pub fn is_retryable(&self) -> bool {
        self.status >= 500 || self.code == ProblemCode::RateLimited.code()
    }

    /// Whether the caller no longer holds the lease.
    pub fn is_lease_conflict(&self) -> bool {
        self.code == ProblemCode::LeaseConflict.code()
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let detail = self.detail.as_deref().filter(|detail| !detail.is_empty());
        write!(f, "{}: {}", self.code, detail.unwrap_or(&self.title))
    }
}

impl std::error::Error for Problem {}

/// A duration; anything else is ignored, so that the rest of the problem can be read.
fn retry_after<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
    Ok(Value::deserialize(from)?.as_str().and_then(span::parse))
}
