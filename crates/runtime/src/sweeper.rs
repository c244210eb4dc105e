//! Promptness, not truth: looks for clocks that have run out and submits them, tells the store that this node lives,
//! and forgets what is past its retention. Every node does all of it; there is no leader to lose.

use std::collections::BTreeSet;

use tenure_core::command::{CommandEnvelope, Command};
use tenure_core::id::{Actor, JobId};
use tenure_core::time::Timestamp;
use tenure_store::Store;

use crate::Inner;

/// Jobs that a sweep forgets at once.
const PURGE_JOBS_MAX: usize = 500;

fn asked(command: Command) -> CommandEnvelope {
    CommandEnvelope { by: Actor::clock(), key: None, command }
}

impl<S: Store> Inner<S> {
    /// Submits what is due until nothing is. A job whose clock cannot be read stays behind and blocks nobody.
    pub(crate) async fn sweep(&self, stuck: &mut BTreeSet<JobId>) {
        loop {
            let limit = self.options.sweep_jobs_max + stuck.len();
            let Ok(mut due) = self.store.due(limit).await else { return };
            let is_full = due.len() == limit;
            due.retain(|id| !stuck.contains(id));
            let swept = self.submit_all(due.iter().map(|id| asked(Command::Sweep(*id))).collect()).await;
            for (id, answer) in due.iter().zip(&swept) {
                if let Ok(Err(refusal)) = answer {
                    tracing::error!(job = %id, %refusal, "its clock has run out and cannot be followed");
                    stuck.insert(*id);
                }
            }
            if !is_full || swept.iter().any(Result::is_err) {
                return;
            }
        }
    }

    /// Forgets finished jobs past their retention, and telemetry and keys past their time.
    pub(crate) async fn forget(&self) {
        let lifecycles: Vec<_> = self.in_force().catalog.lifecycles().cloned().collect();
        let now = self.clock.now();
        for lifecycle in lifecycles {
            let before = Timestamp(now.0.saturating_sub_unsigned(lifecycle.retention.jobs.0) + 1);
            loop {
                let found = self.store.completed_before(lifecycle.name.clone(), before, PURGE_JOBS_MAX).await;
                let Ok(old) = found else { return };
                let count = self.purge(&old).await;
                if old.len() < PURGE_JOBS_MAX || count == 0 {
                    break;
                }
            }
        }
        drop(self.submit(asked(Command::Prune)).await);
    }

    /// How many commands were taken.
    async fn purge(&self, old: &[JobId]) -> usize {
        let purged = self.submit_all(old.iter().map(|id| asked(Command::Purge(*id))).collect()).await;
        purged.iter().filter(|answer| matches!(answer, Ok(Ok(_)))).count()
    }
}
