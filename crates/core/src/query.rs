//! Questions about many jobs: filters, pages and cursors. A new listing is a filter here before it is a method of a store.

use crate::dead_letter::{DeadLetter, ReasonCode};
use crate::id::{JobId, LifecycleName, Name, QueueName, StateName, TypeName, UserId, WorkerId};
use crate::job::{Job, Stage};
use crate::lifecycle::Outcome;
use crate::time::Timestamp;

/// Which jobs. Every field that is set must match.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are the job's own fields")]
pub struct JobFilter {
    pub state: Option<StateName>,
    pub phase: Option<Name>,
    pub outcome: Option<Outcome>,
    pub lifecycle: Option<LifecycleName>,
    pub job_type: Option<TypeName>,
    pub queue: Option<QueueName>,
    pub user_id: Option<UserId>,
    pub worker: Option<WorkerId>,
    pub correlation_id: Option<Name>,
    pub retry_of: Option<JobId>,
    pub created_after: Option<Timestamp>,
    pub created_before: Option<Timestamp>,
    /// This one and newer ones alone: how far a search goes.
    pub from: Option<JobId>,
}

impl JobFilter {
    /// Whether a job matches: what every store's listing means.
    pub fn admits(&self, job: &Job) -> bool {
        fn is<T: PartialEq>(wanted: Option<&T>, actual: Option<&T>) -> bool {
            wanted.is_none_or(|wanted| actual == Some(wanted))
        }
        let spec = &job.spec;
        is(self.state.as_ref(), Some(&job.state))
            && self.phase.as_ref().is_none_or(|phase| *phase == job.phase.as_str())
            && is(self.outcome.as_ref(), job.phase.outcome().as_ref())
            && is(self.lifecycle.as_ref(), Some(&spec.lifecycle.name))
            && is(self.job_type.as_ref(), Some(&spec.job_type))
            && is(self.queue.as_ref(), Some(&spec.queue))
            && is(self.user_id.as_ref(), spec.user_id.as_ref())
            && is(self.worker.as_ref(), job.worker())
            && is(self.correlation_id.as_ref(), Some(&spec.correlation_id()))
            && is(self.retry_of.as_ref(), spec.links.retry_of.as_ref())
            && self.created_after.is_none_or(|after| after < spec.created_at)
            && self.created_before.is_none_or(|before| spec.created_at < before)
            && self.from.is_none_or(|from| from <= spec.id)
    }
}

impl JobFilter {
    /// Whether it names something that jobs are found by: whose they are, or what they belong to.
    pub fn is_indexed(&self) -> bool {
        self.user_id.is_some() || self.correlation_id.is_some() || self.retry_of.is_some()
    }

    /// Whether only jobs that are not over can match.
    pub fn is_live(&self) -> bool {
        self.phase.as_ref().is_some_and(|phase| *phase != "final")
    }
}

/// Which dead letters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are the dead letter's own fields")]
pub struct DeadLetterFilter {
    pub reason_code: Option<ReasonCode>,
    pub stage: Option<Stage>,
    /// Whether dismissed ones are wanted, instead of the others.
    pub dismissed: bool,
    /// What the dead job must be like.
    pub jobs: JobFilter,
}

impl DeadLetterFilter {
    /// Whether a dead letter matches, with its job.
    pub fn admits(&self, letter: &DeadLetter, job: &Job) -> bool {
        self.reason_code.is_none_or(|code| code == letter.reason_code)
            && self.stage.is_none_or(|stage| letter.stage == Some(stage))
            && self.dismissed == letter.dismissed.is_some()
            && self.jobs.admits(job)
    }
}

/// A page of a listing, newest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    /// Only what is older than this.
    pub before: Option<JobId>,
    /// At most this many.
    pub limit: usize,
}
