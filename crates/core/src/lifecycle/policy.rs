//! The settings of a lifecycle file besides states and transitions, with their defaults.

use crate::id::StateName;
use crate::time::Millis;

/// Attempts, leases and backoff. A type may override each.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Policy {
    /// How many attempts may fail, the last included.
    pub max_attempts: u32,
    /// How long a lease lasts without renewal.
    pub lease: Millis,
    /// The expected heartbeat interval; the lease expires when two in a row are missed.
    pub heartbeat: Millis,
    /// How long a soft cancel waits for the worker.
    pub cancel_grace: Millis,
    /// The delay before the next attempt.
    pub backoff: Backoff,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            max_attempts: 5,
            lease: Millis::seconds(60),
            heartbeat: Millis::seconds(15),
            cancel_grace: Millis::seconds(30),
            backoff: Backoff::default(),
        }
    }
}

/// `min(max, base · factor^(n-1))` before the n-th retry, then jitter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Backoff {
    pub base: Millis,
    /// At least 1.
    pub factor: f64,
    pub max: Millis,
    pub jitter: Jitter,
}

impl Default for Backoff {
    fn default() -> Self {
        Self { base: Millis(500), factor: 2.0, max: Millis::seconds(60), jitter: Jitter::Full }
    }
}

named! {
    /// How delays are randomised, so that jobs that failed together are not retried together.
    pub enum Jitter {
        /// The delay itself.
        None = "none",
        /// Uniform in 0..delay.
        Full = "full",
        /// Half the delay, plus a uniform share of the other half.
        Equal = "equal",
    }
}

/// What each final state does with the reserved credits. The two lists name every final state exactly once (L12).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Credits {
    /// The reserved credits are spent.
    pub settle: Vec<StateName>,
    /// The reserved credits are returned.
    pub refund: Vec<StateName>,
}

/// How a repeated creation finds the existing job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Idempotency {
    /// The parts of a derived key: `user_id`, `minute`, `payload.…`. Empty: no derived key.
    pub derive: Vec<String>,
    /// A job in one of these states frees its key.
    pub reusable: Vec<StateName>,
    /// How long a key lasts, from creation.
    pub window: Millis,
}

impl Default for Idempotency {
    fn default() -> Self {
        Self { derive: Vec::new(), reusable: Vec::new(), window: Millis::seconds(86_400) }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// After the final state: job, events, logs, assets, dead letter.
    pub jobs: Millis,
    /// Heartbeats, renewals, progress.
    pub telemetry: Millis,
}

impl Default for Retention {
    fn default() -> Self {
        Self { jobs: Millis::seconds(30 * 86_400), telemetry: Millis::seconds(86_400) }
    }
}

/// A lifecycle API: a mount path and the names that its clients use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Api {
    /// Begins with `/`.
    pub mount: String,
    /// Canonical field and its name on the wire, in file order.
    pub fields: Vec<(String, String)>,
    /// Event and the canonical fields that it carries, in file order.
    pub events: Vec<(String, Vec<String>)>,
}
