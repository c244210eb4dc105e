//! The sweeper: submits jobs whose clocks are overdue, and deletes what is past its retention. Clocks also fire before the
//! next command on their job, so the sweeper affects only promptness. Every node sweeps; there is no leader.

use std::collections::BTreeSet;

use crate::Inner;
use crate::prelude::*;

const PURGE_JOBS_MAX: usize = 500;

fn envelope(command: Command) -> CommandEnvelope {
    CommandEnvelope { by: Actor::clock(), key: None, command }
}

impl<S: Store> Inner<S> {
    /// Sweeps until nothing is due. A job whose clock is refused is excluded, so that it cannot block the others.
    pub(crate) async fn sweep(&self, stuck: &mut BTreeSet<JobId>) {
        loop {
            let limit = self.options.sweep_jobs_max + stuck.len();
            let Ok(mut due) = self.store.due(limit).await else { return };
            let is_full = due.len() == limit;
            due.retain(|id| !stuck.contains(id));
            let swept = self.submit_all(due.iter().map(|id| envelope(Command::Sweep(*id))).collect()).await;
            for (id, answer) in due.iter().zip(&swept) {
                if let Ok(Err(refusal)) = answer {
                    tracing::error!(job = %id, %refusal, "timeout refused; job excluded from sweeps");
                    stuck.insert(*id);
                }
            }
            if !is_full || swept.iter().any(Result::is_err) {
                return;
            }
        }
    }

    /// Deletes finished jobs past their retention, and expired telemetry and keys.
    pub(crate) async fn prune(&self) {
        let lifecycles: Vec<_> = self.active().catalog.lifecycles().cloned().collect();
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
        drop(self.submit(envelope(Command::Prune)).await);
    }

    /// Returns the number of purged jobs.
    async fn purge(&self, old: &[JobId]) -> usize {
        let purged = self.submit_all(old.iter().map(|id| envelope(Command::Purge(*id))).collect()).await;
        purged.iter().filter(|answer| matches!(answer, Ok(Ok(_)))).count()
    }
}
