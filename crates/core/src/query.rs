//! Queries: filters and pages. Prefer a new filter to a new method of `Store`.

use crate::dead_letter::{DeadLetter, ReasonCode};
use crate::id::{JobId, LifecycleName, Name, QueueName, StateName, TypeName, UserId, WorkerId};
use crate::job::{Job, Stage};
use crate::lifecycle::Outcome;
use crate::time::Timestamp;

/// Every field that is set must match.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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
    /// Only this job and newer ones: bounds a search.
    pub from: Option<JobId>,
}

impl JobFilter {
    /// Whether a job matches. Defines what the listings of all stores return.
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

    /// The jobs that both filters admit; `None` if there cannot be any, because both have other values of a field.
    pub fn and(self, other: Self) -> Option<Self> {
        fn both<T: PartialEq>(one: Option<T>, other: Option<T>, contradicts: &mut bool) -> Option<T> {
            *contradicts |= one.is_some() && other.is_some() && one != other;
            one.or(other)
        }
        let mut contradicts = false;
        let no = &mut contradicts;
        let filter = Self {
            state: both(self.state, other.state, no),
            phase: both(self.phase, other.phase, no),
            outcome: both(self.outcome, other.outcome, no),
            lifecycle: both(self.lifecycle, other.lifecycle, no),
            job_type: both(self.job_type, other.job_type, no),
            queue: both(self.queue, other.queue, no),
            user_id: both(self.user_id, other.user_id, no),
            worker: both(self.worker, other.worker, no),
            correlation_id: both(self.correlation_id, other.correlation_id, no),
            retry_of: both(self.retry_of, other.retry_of, no),
            created_after: self.created_after.max(other.created_after),
            created_before: match (self.created_before, other.created_before) {
                (Some(one), Some(other)) => Some(one.min(other)),
                (one, other) => one.or(other),
            },
            from: self.from.max(other.from),
        };
        (!contradicts).then_some(filter)
    }

    /// Whether an index serves the filter.
    pub fn is_indexed(&self) -> bool {
        self.user_id.is_some() || self.correlation_id.is_some() || self.retry_of.is_some()
    }

    /// Whether only unfinished jobs can match.
    pub fn is_live(&self) -> bool {
        self.phase.as_ref().is_some_and(|phase| *phase != "final")
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeadLetterFilter {
    pub reason_code: Option<ReasonCode>,
    pub stage: Option<Stage>,
    /// `true` for dismissed dead letters, `false` for the others.
    pub dismissed: bool,
    pub jobs: JobFilter,
}

impl DeadLetterFilter {
    pub fn admits(&self, letter: &DeadLetter, job: &Job) -> bool {
        self.reason_code.is_none_or(|code| code == letter.reason_code)
            && self.stage.is_none_or(|stage| letter.stage == Some(stage))
            && self.dismissed == letter.dismissed.is_some()
            && self.jobs.admits(job)
    }
}

/// Newest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    pub before: Option<JobId>,
    pub limit: usize,
}
