//! Ready jobs by queue and type: which waiting claims are woken, and when.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tenure_core::flow::FlowRecord;

use crate::prelude::*;

/// Jobs whose clocks are overdue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DueJobs {
    /// Most overdue first.
    pub jobs: Vec<JobId>,
    /// How long until the next clock; `None` without one.
    pub next_in: Option<Millis>,
}

/// The jobs for which claims with one filter wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AwaitedJobs {
    pub filter: ClaimFilter,
    /// How many jobs each claim takes; the smallest number of all.
    pub max: u32,
}

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
    /// The jobs that became ready in a batch that was decided at `now`, and still are.
    pub fn of_commit(set: &WorkingSet, now: Timestamp) -> Vec<Self> {
        let became_ready = |event: &&Event| event.seq.is_some() && event.facts.phase() == Phase::Ready;
        let events = set.changes.appended.events.iter().filter(became_ready);
        let jobs = events.map(|event| &set.jobs[&event.job_id]);
        let is_ready = |job: &&Arc<Job>| job.phase == Phase::Ready && job.run_at != Timestamp::NEVER;
        jobs.filter(is_ready).map(|job| Self::of_job(job, now)).collect()
    }

    /// Whether a batch may have made jobs claimable that did not become ready in it: it resumed a queue, freed a resource, advanced a
    /// sequence, changed the keys of a job, or changed what flow control permits.
    pub fn admits_others(set: &WorkingSet) -> bool {
        let changes = &set.changes;
        let resumed = changes.upserted.queues.values().any(|paused| !paused);
        let is_token = |record: &Option<FlowRecord>| matches!(record, Some(FlowRecord::Level(..)));
        let ends = |event: &Event| event.facts.lease_end.is_some() || event.facts.phase().is_final();
        let is_amended = |event: &Event| event.facts.flow.is_some();
        let frees = |event: &Event| {
            let flow = set.jobs[&event.job_id].flow();
            !flow.resources.is_empty() || flow.sequence.is_some()
        };
        resumed
            || !changes.upserted.flow.values().all(is_token)
            || changes.appended.events.iter().any(|event| is_amended(event) || ends(event) && frees(event))
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
