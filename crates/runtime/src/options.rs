//! Every tunable of the runtime.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tenure_store::StoreError;

use crate::observe::Committed;

/// How the runtime runs. The defaults suit a server; tests and the simulator replace chance and doubt.
#[derive(Clone)]
pub struct Options {
    /// Commands that may wait for a batch; one more is `overloaded`.
    pub queue_commands_max: usize,
    /// Commands in one batch.
    pub batch_commands_max: usize,
    /// How often clocks are looked at.
    pub sweep_every: Duration,
    /// Jobs that one sweep takes up at once.
    pub sweep_jobs_max: usize,
    /// How often the store is told that this node lives.
    pub beat_every: Duration,
    /// How often other nodes' work is looked for, if no hint comes.
    pub poll_every: Duration,
    /// How often what is past its retention is forgotten.
    pub forget_every: Duration,
    /// Jobs that each user may create in a second on this node; any number, if `None`.
    pub creations_per_second: Option<u32>,
    /// How often accounts are compared with their ledgers.
    pub audit_every: Duration,
    /// Where ids get their chance from.
    pub chance: Arc<dyn Fn() -> u128 + Send + Sync>,
    /// Told of every commit that this node made, after it.
    pub observe: Arc<dyn Fn(&Committed) + Send + Sync>,
    /// What happens when the outcome of a commit is unknown. Ends the process, unless a test says otherwise.
    pub on_doubt: Arc<dyn Fn(&StoreError) + Send + Sync>,
}

/// The exit code of a process that must not guess (`EX_IOERR`).
pub const EXIT_DOUBT: i32 = 74;

impl Default for Options {
    fn default() -> Self {
        Self {
            queue_commands_max: 16_384,
            batch_commands_max: 1024,
            sweep_every: Duration::from_millis(250),
            sweep_jobs_max: 500,
            beat_every: Duration::from_millis(500),
            poll_every: Duration::from_secs(1),
            forget_every: Duration::from_secs(30),
            creations_per_second: None,
            audit_every: Duration::from_mins(1),
            chance: Arc::new(|| uuid::Uuid::new_v4().as_u128()),
            observe: Arc::new(|_| ()),
            on_doubt: Arc::new(|error| {
                tracing::error!(%error, "stopping rather than guess");
                std::process::exit(EXIT_DOUBT);
            }),
        }
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { queue_commands_max, batch_commands_max, .. } = self;
        write!(
            f,
            "Options {{ queue_commands_max: {queue_commands_max}, batch_commands_max: {batch_commands_max}, .. }}"
        )
    }
}
