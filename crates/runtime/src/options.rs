//! Settings of the runtime.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tenure_store::Outbox;

use crate::observe::Committed;
use crate::prelude::*;

/// The defaults suit a server; tests and the simulator replace `random` and `on_unknown_outcome`.
#[derive(Clone)]
pub struct Options {
    /// Capacity of the command queue; beyond it the answer is `overloaded`.
    pub queue_commands_max: usize,
    /// Bytes of queued commands; beyond it the answer is `overloaded`.
    pub queue_bytes_max: usize,
    pub batch_commands_max: usize,
    pub batch_bytes_max: usize,
    /// Whether memory is scarce: then commands that add work are refused with `overloaded`.
    pub is_short_of_memory: Arc<dyn Fn() -> bool + Send + Sync>,
    pub sweep_every: Duration,
    pub sweep_jobs_max: usize,
    pub heartbeat_every: Duration,
    /// How often to look for commits of other nodes when no notification arrives.
    pub poll_every: Duration,
    /// How often rows past their retention are deleted.
    pub prune_every: Duration,
    /// Limit for each user on this node; `None` is unlimited.
    pub creations_per_second: Option<u32>,
    /// How often accounts are compared with their ledgers.
    pub audit_every: Duration,
    /// Databases of applications from which requests are taken.
    pub outboxes: Vec<Outbox>,
    /// Source of randomness for ids.
    pub random: Arc<dyn Fn() -> u128 + Send + Sync>,
    /// Called after each commit of this node.
    pub observe: Arc<dyn Fn(&Committed) + Send + Sync>,
    /// Called when the outcome of a commit is unknown. The default ends the process.
    pub on_unknown_outcome: Arc<dyn Fn(&StoreError) + Send + Sync>,
    /// Called when a background task has panicked. The default ends the process.
    pub on_panic: Arc<dyn Fn() + Send + Sync>,
}

/// Exit code after a commit with an unknown outcome (`EX_IOERR`).
pub const EXIT_UNKNOWN_OUTCOME: i32 = 74;

/// Exit code after a panic outside of a decision (`EX_SOFTWARE`).
pub const EXIT_PANIC: i32 = 70;

impl Default for Options {
    fn default() -> Self {
        Self {
            queue_commands_max: 16_384,
            queue_bytes_max: 64 << 20,
            batch_commands_max: 1024,
            batch_bytes_max: 8 << 20,
            is_short_of_memory: Arc::new(|| false),
            sweep_every: Duration::from_millis(250),
            sweep_jobs_max: 500,
            heartbeat_every: Duration::from_millis(500),
            poll_every: Duration::from_secs(1),
            prune_every: Duration::from_secs(30),
            outboxes: Vec::new(),
            creations_per_second: None,
            audit_every: Duration::from_mins(1),
            random: Arc::new(|| uuid::Uuid::new_v4().as_u128()),
            observe: Arc::new(|_| ()),
            on_unknown_outcome: Arc::new(|error| {
                tracing::error!(%error, "commit outcome unknown; stopping");
                std::process::exit(EXIT_UNKNOWN_OUTCOME);
            }),
            on_panic: Arc::new(|| {
                tracing::error!("background task panicked; stopping");
                std::process::exit(EXIT_PANIC);
            }),
        }
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut options = f.debug_struct("Options");
        options.field("queue_commands_max", &self.queue_commands_max);
        options.field("batch_commands_max", &self.batch_commands_max).finish_non_exhaustive()
    }
}
