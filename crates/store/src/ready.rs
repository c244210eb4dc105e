//! Ready jobs by queue and type: which waiting claims are woken, and when.

use serde::{Deserialize, Serialize};

use crate::prelude::*;

/// Ready jobs of a queue and type.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ReadyJobs {
    pub queue: QueueName,
    pub job_type: TypeName,
    /// The number of jobs that can be claimed now.
    pub claimable: usize,
    /// The earliest `run_at` of the others.
    pub next_run: Option<Timestamp>,
}

impl ReadyJobs {
    /// The jobs that became ready in a batch that was decided at `now`.
    pub fn of_commit(set: &WorkingSet, now: Timestamp) -> Vec<Self> {
        let became_ready = |event: &&Event| event.seq.is_some() && event.facts.phase() == Phase::Ready;
        let events = set.changes.appended.events.iter().filter(became_ready);
        let jobs = events.map(|event| &set.jobs[&event.job_id]);
        jobs.filter(|job| job.run_at != Timestamp::NEVER).map(|job| Self::of_job(job, now)).collect()
    }

    fn of_job(job: &Job, now: Timestamp) -> Self {
        let is_claimable = job.run_at <= now;
        Self {
            queue: job.spec.queue.clone(),
            job_type: job.spec.job_type.clone(),
            claimable: is_claimable.into(),
            next_run: (!is_claimable).then_some(job.run_at),
        }
    }
}
