//! The tables of a lifecycle file besides states and transitions, as values with their defaults.

use crate::id::Name;
use crate::time::Millis;

/// Attempts, leases and patience. A type may override each.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Policy {
    /// How many attempts may fail, the last included.
    pub max_attempts: u32,
    /// How long a claim owns the job without renewing.
    pub lease: Millis,
    /// How often its worker is expected to be heard; two missed in a row lose the job.
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
    /// Before the first retry.
    pub base: Millis,
    /// At least 1.
    pub factor: f64,
    /// Never longer than this.
    pub max: Millis,
    /// How the delays are spread.
    pub jitter: Jitter,
}

impl Default for Backoff {
    fn default() -> Self {
        Self { base: Millis(500), factor: 2.0, max: Millis::seconds(60), jitter: Jitter::Full }
    }
}

/// How delays are spread, so that failures which came together do not come back together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Jitter {
    /// The delay itself.
    None,
    /// Uniform in 0..delay.
    Full,
    /// Half, and a uniform half.
    Equal,
}

/// What each final state does with the reservation. Together they name every final state, once (L12).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Credits {
    /// What was reserved is spent.
    pub settle: Vec<Name>,
    /// What was reserved is given back.
    pub refund: Vec<Name>,
}

/// How a repeated creation finds the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Idempotency {
    /// The parts of a derived key: `user_id`, `minute`, `payload.…`. Empty: no derived key.
    pub derive: Vec<String>,
    /// A job in one of these frees its key.
    pub reusable: Vec<Name>,
    /// How long a key lasts, from creation.
    pub window: Millis,
}

impl Default for Idempotency {
    fn default() -> Self {
        Self { derive: Vec::new(), reusable: Vec::new(), window: Millis::seconds(86_400) }
    }
}

/// How long things are kept.
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

/// A door: the lifecycle's own routes and words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Api {
    /// Begins with `/`.
    pub mount: String,
    /// Canonical field, and its name on the wire; in file order.
    pub fields: Vec<(String, String)>,
    /// Event, and the canonical fields that it carries; in file order.
    pub events: Vec<(String, Vec<String>)>,
}
