//! The sweeper: submits jobs whose clocks are overdue. Clocks also fire before the next command on their job, so the sweeper
//! affects only promptness. Every node sweeps; there is no leader.

use std::collections::BTreeSet;

use crate::Inner;
use crate::prelude::*;

/// A command that the passage of time causes.
pub(crate) fn envelope(command: Command) -> CommandEnvelope {
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
}
