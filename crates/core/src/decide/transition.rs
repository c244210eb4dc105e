//! The one place where a job moves: finds the rule, writes the event, folds it in, and lets its consequences follow.

use crate::backoff;
use crate::decide::{Scene, consequences, invalid_transition};
use crate::event::{EndedHere, Event, Facts};
use crate::id::{Actor, JobId, Name};
use crate::job::{Category, Class, Job, JobError, Lease, LeaseEnd};
use crate::json::Json;
use crate::lifecycle::{Condition, Lifecycle, Outcome, Phase, Policy, Rule, Trigger};
use crate::refusal::Refusal;
use crate::time::Millis;

/// What happened to a job, before it is known whether a rule allows it.
pub(crate) struct Step {
    pub(crate) trigger: Trigger,
    pub(crate) actor: Actor,
    pub(crate) cause: Option<Name>,
    pub(crate) error: Option<JobError>,
    pub(crate) result: Option<Json>,
    pub(crate) checkpoint: Option<Json>,
    pub(crate) note: Option<Json>,
    /// Replaces the backoff, or delays a release.
    pub(crate) delay: Option<Millis>,
    /// The lease that a claim grants.
    pub(crate) lease: Option<Lease>,
    /// Whether the lease's own holder says it.
    pub(crate) reported: bool,
}

impl Step {
    pub(crate) fn new(trigger: Trigger, actor: Actor) -> Self {
        Self {
            trigger,
            actor,
            cause: None,
            error: None,
            result: None,
            checkpoint: None,
            note: None,
            delay: None,
            lease: None,
            reported: false,
        }
    }

    /// With an error, whose code is also the cause.
    pub(crate) fn failing(self, error: JobError) -> Self {
        Self { cause: Some(error.code.clone()), error: Some(error), ..self }
    }

    /// A failure has an error (law 10), also where no worker and no clock but a signal or a cancel leads to it.
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

    /// Whether it is one more failed attempt.
    fn fails_an_attempt(&self) -> bool {
        matches!(
            self.trigger,
            Trigger::Fail | Trigger::LeaseExpired | Trigger::Timeout | Trigger::Disconnected
        )
    }

    fn ends_lease(&self) -> LeaseEnd {
        match self.trigger {
            Trigger::LeaseExpired | Trigger::Disconnected => LeaseEnd::Lost,
            _ if self.reported => LeaseEnd::Reported,
            _ => LeaseEnd::Revoked,
        }
    }
}

/// Whether another attempt is due to the job, this failure included.
struct Chances {
    transient: bool,
    failed: u32,
    max: u32,
}

impl Chances {
    fn of(job: &Job, step: &Step) -> Self {
        let error = step.error.as_ref().or(job.output.error.as_deref());
        Self {
            transient: error.is_some_and(|error| error.class == Class::Transient),
            failed: job.retry_count + u32::from(step.fails_an_attempt()),
            max: job.spec.max_attempts,
        }
    }

    fn hold(&self, condition: Condition) -> bool {
        match condition {
            Condition::Retry => self.transient && self.failed < self.max,
            Condition::Exhausted => self.transient && self.failed >= self.max,
        }
    }
}

impl Scene<'_> {
    /// Moves a job by the rule for `step`, or refuses if there is none. All consequences are in the same commit.
    pub(crate) fn follow(&mut self, id: JobId, step: Step) -> Result<(), Refusal> {
        let job = self.job(id)?;
        let lifecycle = self.lifecycle(&job)?;
        let chances = Chances::of(&job, &step);
        let rule = lifecycle
            .rule(job.state.as_str(), &step.trigger, |condition| chances.hold(condition))
            .ok_or_else(|| invalid_transition(&job, &lifecycle, &step.trigger))?;
        let event = self.event(&job, (&lifecycle, rule), step, &chances);
        let phase = event.facts.phase();
        self.set.happen(event.clone());
        consequences::of(self, (&lifecycle, rule), &event)?;
        match job.cancel.as_ref().filter(|_| matches!(phase, Phase::Ready | Phase::Waiting)) {
            Some(cancel) if lifecycle.has_rule(rule.to.as_str(), &Trigger::Cancel) => {
                let cause = cancel.reason.as_deref().map(Name::from);
                self.follow(id, Step { cause, ..Step::new(Trigger::Cancel, cancel.by.clone()) })
            }
            _ => Ok(()),
        }
    }

    fn event(
        &self,
        job: &Job,
        (lifecycle, rule): (&Lifecycle, &Rule),
        step: Step,
        chances: &Chances,
    ) -> Event {
        let to = lifecycle.state(rule.to.as_str()).expect("L1: a rule leads to a state that exists");
        let step = step.explained(job, to.phase);
        let facts = self.facts(job, (lifecycle, rule), &step, chances);
        Event {
            job_id: job.id(),
            seq: Some(job.seq + 1),
            name: rule.event.clone(),
            trigger: step.trigger,
            from: Some(job.state.clone()),
            to: to.name.clone(),
            attempt: job.attempt + u32::from(to.phase == Phase::Ready),
            ts: self.now.at.max(job.times.updated_at),
            actor: step.actor,
            cause: step.cause,
            facts: Facts {
                error: step.error.map(Box::new),
                result: step.result,
                checkpoint: step.checkpoint,
                note: step.note,
                ..facts
            },
        }
    }

    fn facts(
        &self,
        job: &Job,
        (lifecycle, rule): (&Lifecycle, &Rule),
        step: &Step,
        chances: &Chances,
    ) -> Facts {
        let to = lifecycle.state(rule.to.as_str()).expect("L1: a rule leads to a state that exists");
        let policy = self.policy(&job.spec.job_type, lifecycle);
        let running = self.now.running();
        let delay = delay(job, &policy, step, chances);
        let is_due = to.phase == Phase::Waiting && lifecycle.has_rule(to.name.as_str(), &Trigger::Due);
        let ends = job.lease.as_ref().filter(|_| !to.phase.is_leased());
        Facts {
            run_at: (to.phase == Phase::Ready).then(|| self.now.at + delay),
            timeout: self.timeout(&job.spec.job_type, lifecycle, to.name.as_str()),
            due: is_due.then(|| running + if chances.hold(Condition::Retry) { delay } else { Millis(0) }),
            lease: step.lease.clone().map(Box::new),
            lease_end: ends.map(|lease| EndedHere { how: step.ends_lease(), expires: lease.expires() }),
            retry_count: step.fails_an_attempt().then_some(chances.failed),
            ..Facts::entering(to.phase)
        }
    }
}

/// How long the next attempt waits: what the step says, or the backoff if an attempt failed, or nothing.
fn delay(job: &Job, policy: &Policy, step: &Step, chances: &Chances) -> Millis {
    let backoff = || {
        let seed = job.id().seed() ^ u128::from(chances.failed);
        if step.fails_an_attempt() {
            backoff::delay(&policy.backoff, chances.failed, seed)
        } else {
            Millis(0)
        }
    };
    step.delay.unwrap_or_else(backoff)
}
