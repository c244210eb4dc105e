//! The only place where a job changes its state: finds the rule, writes the event, folds it in, adds its consequences.

use crate::backoff;
use crate::command_origin::CommandOrigin;
use crate::decide::{DecisionContext, clock, consequences, invalid_transition};
use crate::event::{Event, Facts, LeaseEnded};
use crate::flow::{BucketId, TokenLevel};
use crate::id::{JobId, Name};
use crate::job::{Category, Class, Job, JobError, Lease, LeaseEnd};
use crate::json::Json;
use crate::lifecycle::{Condition, Lifecycle, Outcome, Phase, Policy, Rule, Trigger};
use crate::refusal::Refusal;
use crate::time::{Millis, Timestamp};

/// A trigger with its details, before it is known whether a rule allows it.
pub(crate) struct TransitionRequest {
    pub(crate) trigger: Trigger,
    pub(crate) by: CommandOrigin,
    pub(crate) cause: Option<Name>,
    pub(crate) error: Option<JobError>,
    pub(crate) result: Option<Json>,
    pub(crate) checkpoint: Option<Json>,
    pub(crate) note: Option<Json>,
    /// Replaces the backoff, or delays a release.
    pub(crate) delay: Option<Millis>,
    /// The lease that a claim grants.
    pub(crate) lease: Option<Lease>,
    /// The tokens that buckets lack after this claim.
    pub(crate) levels: Vec<(BucketId, TokenLevel)>,
    /// Whether it comes from the holder of the lease.
    pub(crate) reported: bool,
}

impl TransitionRequest {
    pub(crate) fn new(trigger: Trigger, by: CommandOrigin) -> Self {
        Self {
            trigger,
            by,
            cause: None,
            error: None,
            result: None,
            checkpoint: None,
            note: None,
            delay: None,
            lease: None,
            levels: Vec::new(),
            reported: false,
        }
    }

    pub(crate) fn cancel(by: CommandOrigin, reason: Option<&str>) -> Self {
        Self { cause: reason.map(Into::into), ..Self::new(Trigger::Cancel, by) }
    }

    /// Adds an error, whose code is also the cause.
    pub(crate) fn failing(self, error: JobError) -> Self {
        Self { cause: Some(error.code.clone()), error: Some(error), ..self }
    }

    /// A failure has an error (law 10), even when a signal or a cancel caused it.
    fn explained(self, job: &Job, entered: Phase) -> Self {
        let is_known = self.trigger == Trigger::Due && job.output.error.is_some();
        if entered != Phase::Final(Outcome::Failed) || self.error.is_some() || is_known {
            return self;
        }
        let code = self.trigger.to_string().replace(':', "_").to_ascii_uppercase();
        let message = format!("{} ended it", self.trigger);
        let error = JobError::own(&code, &message, Category::System);
        Self { error: Some(JobError { class: Class::Permanent, ..error }), ..self }
    }

    /// Whether it fails the attempt, which may have failed before.
    fn fails_an_attempt(&self) -> bool {
        is_failure(&self.trigger)
    }

    fn ends_lease(&self) -> LeaseEnd {
        match self.trigger {
            Trigger::LeaseExpired | Trigger::Disconnected => LeaseEnd::Lost,
            _ if self.reported => LeaseEnd::Reported,
            _ => LeaseEnd::Revoked,
        }
    }
}

fn is_failure(trigger: &Trigger) -> bool {
    matches!(trigger, Trigger::Fail | Trigger::LeaseExpired | Trigger::Timeout | Trigger::Disconnected)
}

/// Whether the attempt of a job that waits has been counted as failed. What ended its lease says so; without a claim in this
/// attempt, only a timeout can have.
fn is_counted(job: &Job) -> bool {
    let timed_out = |error: &JobError| clock::WAIT_CODES.contains(&error.code.as_str());
    job.phase == Phase::Waiting
        && match job.times.claimed_at {
            Some(_) => job.last_lease.as_ref().is_some_and(|ended| is_failure(&ended.by)),
            None => job.output.error.as_deref().is_some_and(timed_out),
        }
}

/// The attempts of a job, this one included unless it is released.
struct RetryBudget {
    transient: bool,
    /// Whether this attempt was not counted before.
    is_new: bool,
    failed: u32,
    max: u32,
}

impl RetryBudget {
    fn of(job: &Job, request: &TransitionRequest) -> Self {
        let error = request.error.as_ref().or(job.output.error.as_deref());
        let is_new = request.trigger != Trigger::Release && !is_counted(job);
        Self {
            transient: error.is_some_and(|error| error.class == Class::Transient),
            is_new,
            failed: job.retry_count + u32::from(is_new),
            max: job.spec.max_attempts,
        }
    }

    /// The failed attempts after a transition, if it counts one: a failure, or whatever begins the next attempt by
    /// `when = "retry"` or ends the job by `when = "exhausted"`, so that attempts run out (L7).
    fn counted(&self, request: &TransitionRequest, rule: &Rule, to: Phase) -> Option<u32> {
        let uses_one_up = match rule.when {
            Some(Condition::Retry) => to == Phase::Ready,
            Some(Condition::Exhausted) => to.is_final(),
            None => false,
        };
        (self.is_new && (request.fails_an_attempt() || uses_one_up)).then_some(self.failed)
    }

    fn satisfies(&self, condition: Condition) -> bool {
        match condition {
            Condition::Retry => self.transient && self.failed < self.max,
            Condition::Exhausted => self.transient && self.failed >= self.max,
        }
    }
}

impl DecisionContext<'_> {
    /// Makes the transition for `request`, or refuses if no rule allows it. All consequences are in the same commit.
    pub(crate) fn transition(&mut self, id: JobId, request: TransitionRequest) -> Result<(), Refusal> {
        let job = self.job(id)?;
        let lifecycle = self.lifecycle(&job)?;
        let (rule, event) = self.next_event(&job, &lifecycle, request)?;
        let phase = event.facts.phase();
        self.set.record(event.clone());
        consequences::of(self, &lifecycle, rule, &event)?;
        match job.cancel.as_ref().filter(|_| matches!(phase, Phase::Ready | Phase::Waiting)) {
            Some(cancel) if lifecycle.has_rule(rule.to.as_str(), &Trigger::Cancel) => {
                let credential = cancel.credential.clone();
                let by = CommandOrigin { credential, ..cancel.by.clone().into() };
                self.transition(id, TransitionRequest::cancel(by, cancel.reason.as_deref()))
            }
            _ => Ok(()),
        }
    }

    /// The rule of a lifecycle that a request follows, and its event; or why no rule allows it. Changes nothing.
    pub(crate) fn next_event<'l>(
        &self,
        job: &Job,
        lifecycle: &'l Lifecycle,
        request: TransitionRequest,
    ) -> Result<(&'l Rule, Event), Refusal> {
        let budget = RetryBudget::of(job, &request);
        let rule = lifecycle
            .rule(job.state.as_str(), &request.trigger, |condition| budget.satisfies(condition))
            .ok_or_else(|| invalid_transition(job, lifecycle, &request.trigger))?;
        if !request.by.may_follow(rule, &job.spec) {
            let (trigger, by) = (request.trigger, rule.by.clone().unwrap_or_default());
            return Err(Refusal::RoleNotPermitted { job: job.id(), trigger, by });
        }
        Ok((rule, self.event(job, lifecycle, rule, request, &budget)))
    }

    fn event(
        &self,
        job: &Job,
        lifecycle: &Lifecycle,
        rule: &Rule,
        request: TransitionRequest,
        budget: &RetryBudget,
    ) -> Event {
        let to = lifecycle.state(rule.to.as_str()).expect("L1: a rule leads to a state that exists");
        let request = request.explained(job, to.phase);
        let delay = delay(job, &self.policy(&job.spec.job_type, lifecycle), &request, budget);
        let due_in = if budget.satisfies(Condition::Retry) { delay } else { Millis(0) };
        let is_due = to.phase == Phase::Waiting && lifecycle.has_rule(to.name.as_str(), &Trigger::Due);
        let ends = job.lease.as_ref().filter(|_| !to.phase.is_leased());
        // A job that was not ready before has the earliest time of its creation.
        let asked = if job.attempt == 0 { job.run_at } else { self.now.at };
        let run_at = asked.max(self.now.at + delay);
        let facts = Facts {
            run_at: (to.phase == Phase::Ready).then(|| claimable_from(lifecycle, to.name.as_str(), run_at)),
            timeout: self.timeout(&job.spec.job_type, lifecycle, to.name.as_str()),
            due: is_due.then(|| self.now.running() + due_in),
            lease_end: ends.map(|lease| LeaseEnded { how: request.ends_lease(), expires: lease.expires() }),
            retry_count: budget.counted(&request, rule, to.phase),
            lease: request.lease.map(Box::new),
            levels: request.levels,
            error: request.error.map(Box::new),
            result: request.result,
            checkpoint: request.checkpoint,
            credential: request.by.credential,
            note: request.note,
            ..Facts::entering(to.phase)
        };
        Event {
            job_id: job.id(),
            seq: Some(job.seq + 1),
            name: rule.event.clone(),
            trigger: request.trigger,
            from: Some(job.state.clone()),
            to: to.name.clone(),
            attempt: job.attempt + u32::from(to.phase == Phase::Ready),
            ts: self.now.at.max(job.times.updated_at),
            actor: request.by.actor,
            cause: request.cause,
            facts,
        }
    }
}

/// When a job in this ready state may be claimed: at a time, or never, if the state has no rule for it. Then it waits for a signal,
/// and stores do not offer it to claims.
pub(crate) fn claimable_from(lifecycle: &Lifecycle, state: &str, at: Timestamp) -> Timestamp {
    if lifecycle.has_rule(state, &Trigger::Claim) { at } else { Timestamp::NEVER }
}

/// The delay of the next attempt: the request's own, or the backoff if an attempt failed, or none.
fn delay(job: &Job, policy: &Policy, request: &TransitionRequest, budget: &RetryBudget) -> Millis {
    let backoff = || {
        let seed = job.id().seed() ^ u128::from(budget.failed);
        if request.fails_an_attempt() {
            backoff::delay(&policy.backoff, budget.failed, seed)
        } else {
            Millis(0)
        }
    };
    request.delay.unwrap_or_else(backoff)
}
