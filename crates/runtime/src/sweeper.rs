//! The sweeper: submits jobs whose clocks are overdue. Clocks also fire before the next command on their job, so the sweeper
//! affects only promptness. Every node sweeps; there is no leader.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

use crate::failure::Failure;
use crate::prelude::*;
use crate::{Answer, Inner};

/// How long a job whose sweep failed is excluded from sweeps.
const EXCLUDED_FOR: Duration = Duration::from_mins(1);

/// The shortest pause between two sweeps.
const SWEEP_PAUSE_MIN: Duration = Duration::from_millis(10);

/// The longest additional pause of one of several nodes, in milliseconds.
const SPREAD_MS_MAX: u64 = 20;

/// Jobs that are excluded from sweeps, so that they cannot block the others, and until when.
pub(crate) type ExcludedJobs = BTreeMap<JobId, Instant>;

/// A command that the passage of time causes.
pub(crate) fn envelope(command: Command) -> CommandEnvelope {
    CommandEnvelope { by: Actor::clock().into(), key: None, command }
}

/// Whether the failure may come from one of the jobs of a batch, so that the others succeed without it.
fn may_concern_one_job(failure: &Failure) -> bool {
    let Failure::Store(error) = failure else { return matches!(failure, Failure::Panicked(_)) };
    matches!(**error, StoreError::Conflict(_) | StoreError::Corrupt { .. } | StoreError::Statement(_))
}

impl Inner {
    /// Sweeps until nothing is due, or until the store fails for all jobs; the next sweep then tries again. Returns the pause before the
    /// next sweep: not longer than until the next known clock.
    pub(crate) async fn sweep(&self, excluded: &mut ExcludedJobs) -> Duration {
        let every = self.options.sweep_every;
        loop {
            let now = Instant::now();
            excluded.retain(|_, until| *until > now);
            let limit = self.options.sweep_jobs_max + excluded.len();
            let DueJobs { jobs: mut due, next_in } = match self.store.due(limit).await {
                Ok(due) => due,
                Err(error) => {
                    tracing::warn!(%error, "read of due jobs failed");
                    return every;
                }
            };
            let is_full = due.len() == limit;
            due.retain(|id| !excluded.contains_key(id));
            if let Err(failure) = self.sweep_jobs(due, excluded).await {
                tracing::warn!(%failure, "sweep interrupted");
                return every;
            }
            if !is_full {
                // Not at the same moment on every node: usually the first one sweeps for all.
                let spread =
                    if self.store.is_shared() { (self.options.random)() as u64 % SPREAD_MS_MAX } else { 0 };
                let next = next_in.map_or(every, |next| Duration::from_millis(next.0 + spread));
                return next.clamp(SWEEP_PAUSE_MIN.min(every), every);
            }
        }
    }

    /// Sweeps jobs. A batch that fails is divided until the jobs that cause the failure are found and excluded.
    async fn sweep_jobs(&self, due: Vec<JobId>, excluded: &mut ExcludedJobs) -> Result<(), Failure> {
        let mut portions = vec![due];
        while let Some(portion) = portions.pop() {
            let commands = portion.iter().map(|id| envelope(Command::Sweep(*id))).collect();
            let mut failed = Vec::new();
            for (id, answer) in portion.iter().zip(self.submit_all(commands).await) {
                match answer {
                    Err(failure) if !may_concern_one_job(&failure) => return Err(failure),
                    Err(_) if portion.len() > 1 => failed.push(*id),
                    answer => exclude_failed(*id, &answer, excluded),
                }
            }
            let rest = failed.split_off(failed.len().div_ceil(2));
            portions.extend([rest, failed].into_iter().filter(|portion| !portion.is_empty()));
        }
        Ok(())
    }
}

/// Excludes the job unless it was swept.
fn exclude_failed(id: JobId, answer: &Answer, excluded: &mut ExcludedJobs) {
    match answer {
        Ok(Ok(_)) => return,
        Ok(Err(refusal)) => tracing::error!(job = %id, %refusal, "timeout refused; job excluded from sweeps"),
        Err(failure) => tracing::error!(job = %id, %failure, "timeout failed; job excluded from sweeps"),
    }
    excluded.insert(id, Instant::now() + EXCLUDED_FOR);
}
