//! Per-commit statistics, for metrics, the dashboard and readiness.

use std::sync::Arc;
use std::time::Duration;

use tenure_core::event::Signal;
use tenure_core::id::StateName;
use tenure_core::job::{Category, Class, Job, JobError};
use tenure_core::lifecycle::{Outcome, Trigger};

use crate::prelude::*;

const MESSAGE_CHARS_MAX: usize = 300;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Committed {
    pub commands: usize,
    /// From loading the working set to the end of the commit.
    pub took: Duration,
    /// In order.
    pub transitions: Vec<Transition>,
    /// In order.
    pub ended_attempts: Vec<EndedAttempt>,
    /// The type of each amended job.
    pub amended: Vec<TypeName>,
    pub renewals: u64,
    pub conflicts: u64,
    /// The job after each accepted progress report.
    pub progressed: Vec<Arc<Job>>,
    /// Changed jobs whose worker must know of a cancel request, whatever command made it.
    pub cancelling: Vec<Arc<Job>>,
    pub purged: Vec<Arc<Job>>,
    /// The code of each refused request in SQL.
    pub intake_refused: Vec<&'static str>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Transition {
    pub job: JobId,
    pub at: Timestamp,
    pub lifecycle: LifecycleName,
    pub job_type: TypeName,
    pub queue: QueueName,
    pub user_id: Option<UserId>,
    pub trigger: Trigger,
    /// `None` at creation.
    pub from: Option<StateName>,
    pub to: StateName,
    pub phase: Phase,
    pub error: Option<Failed>,
    /// Whether another attempt follows this failure.
    pub is_retry: bool,
    /// For a claim: how long the job was claimable before.
    pub waited: Option<Millis>,
    /// For a final state: the run time, if the job was started.
    pub ran: Option<Millis>,
}

/// The end of a lease, and with it of an attempt.
#[derive(Clone, Debug, PartialEq)]
pub struct EndedAttempt {
    /// After the batch. Its last lease is the one that ended.
    pub job: Arc<Job>,
    pub at: Timestamp,
    pub trigger: Trigger,
    pub to: StateName,
    /// The error that ended it; not one reported with a success.
    pub error: Option<Failed>,
}

/// The part of a job's error that statistics need.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failed {
    pub code: Name,
    /// Truncated.
    pub message: Name,
    pub category: Category,
    pub class: Class,
}

impl From<&JobError> for Failed {
    fn from(error: &JobError) -> Self {
        let message: String = error.message.chars().take(MESSAGE_CHARS_MAX).collect();
        let JobError { code, category, class, .. } = error;
        Self { code: code.clone(), message: message.into(), category: *category, class: *class }
    }
}

impl Transition {
    /// The error that ended an attempt; not one reported with a success.
    pub fn failure(&self) -> Option<&Failed> {
        self.error.as_ref().filter(|_| !is_success(self.phase))
    }
}

fn is_success(phase: Phase) -> bool {
    phase.outcome().is_some_and(Outcome::is_success)
}

impl Committed {
    pub(crate) fn of(set: &WorkingSet, commands: &[CommandEnvelope], answers: &[CommandResult]) -> Self {
        let numbered = set.changes.appended.events.iter().filter(|event| event.seq.is_some());
        let (amendments, events): (Vec<_>, Vec<_>) =
            numbered.partition(|event| event.trigger == Trigger::Amend);
        let events = events.into_iter();
        let ended = events.clone().filter(|event| event.facts.lease_end.is_some());
        let telemetry = set.changes.appended.telemetry.iter();
        let renewed = |signal: &Signal| matches!(signal, Signal::JobLeaseRenewed);
        let conflicting = |answer: &&CommandResult| matches!(answer, Err(Refusal::LeaseConflict { .. }));
        let (mut progressed, mut intake_refused) = (Vec::new(), Vec::new());
        for (envelope, answer) in commands.iter().zip(answers) {
            if let Ok(CommandOutput::TakenIn { refused, .. }) = answer {
                intake_refused.extend(refused);
            }
            if let (Command::Progress { .. }, Ok(CommandOutput::Job { job, ignored: false, .. })) =
                (&envelope.command, answer)
            {
                progressed.push(Arc::clone(job));
            }
        }
        let changed = set.changes.jobs.created.iter().chain(&set.changes.jobs.updated);
        let is_cancelling = |job: &&Arc<Job>| job.lease.is_some() && job.cancel.is_some();
        let cancelling = changed.filter_map(|id| set.jobs.get(id)).filter(is_cancelling).cloned().collect();
        Self {
            commands: commands.len(),
            took: Duration::ZERO,
            progressed,
            cancelling,
            intake_refused,
            purged: set.changes.jobs.purged.iter().map(|id| Arc::clone(&set.jobs[id])).collect(),
            amended: amendments.iter().map(|event| set.jobs[&event.job_id].spec.job_type.clone()).collect(),
            ended_attempts: ended.map(|event| ended_attempt(set, event)).collect(),
            transitions: events.map(|event| transition(set, event)).collect(),
            renewals: telemetry.filter(|line| renewed(&line.signal)).count() as u64,
            conflicts: answers.iter().filter(conflicting).count() as u64,
        }
    }
}

fn ended_attempt(set: &WorkingSet, event: &Event) -> EndedAttempt {
    let error = event.facts.error.as_deref().filter(|_| !is_success(event.facts.phase()));
    EndedAttempt {
        job: Arc::clone(&set.jobs[&event.job_id]),
        at: event.ts,
        trigger: event.trigger.clone(),
        to: event.to.clone(),
        error: error.map(Failed::from),
    }
}

fn transition(set: &WorkingSet, event: &Event) -> Transition {
    let job = &set.jobs[&event.job_id];
    let phase = event.facts.phase();
    let ready_since = || {
        let entered = job.times.entered.iter().find(|(state, _)| Some(state) == event.from.as_ref());
        entered.map_or(job.spec.created_at, |(_, at)| *at).max(job.run_at)
    };
    Transition {
        job: event.job_id,
        at: event.ts,
        queue: job.spec.queue.clone(),
        user_id: job.spec.user_id.clone(),
        lifecycle: job.spec.lifecycle.name.clone(),
        job_type: job.spec.job_type.clone(),
        trigger: event.trigger.clone(),
        from: event.from.clone(),
        to: event.to.clone(),
        phase,
        error: event.facts.error.as_deref().map(Failed::from),
        is_retry: is_retry(job, event),
        waited: (event.trigger == Trigger::Claim).then(|| event.ts - ready_since()),
        ran: if phase.is_final() { job.run_time() } else { None },
    }
}

/// Whether another attempt follows a failed one. A waiting state is also entered when no attempt is left.
fn is_retry(job: &Job, event: &Event) -> bool {
    let Some(failed) = event.facts.retry_count else { return false };
    let is_transient = event.facts.error.as_ref().is_some_and(|error| error.class == Class::Transient);
    match event.facts.phase() {
        Phase::Ready => true,
        Phase::Waiting => is_transient && failed < job.spec.max_attempts,
        Phase::Held | Phase::Active | Phase::Final(_) => false,
    }
}
