//! What a commit came to, for those who count: metrics, and whoever asks whether anything is committed at all.

use std::sync::Arc;
use std::time::Duration;

use tenure_core::command::{CommandEnvelope, Command};
use tenure_core::decide::{CommandResult, CommandOutput};
use tenure_core::event::{Event, Signal};
use tenure_core::id::{JobId, LifecycleName, Name, QueueName, StateName, TypeName};
use tenure_core::job::{Category, Class, Job, JobError};
use tenure_core::lifecycle::{Outcome, Phase, Trigger};
use tenure_core::refusal::Refusal;
use tenure_core::time::{Millis, Timestamp};
use tenure_core::working_set::WorkingSet;

/// How much of an error's message is passed on.
const MESSAGE_CHARS_MAX: usize = 300;

/// One commit in numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Committed {
    /// Commands that were decided in it.
    pub commands: usize,
    /// From loading to the end of the commit.
    pub took: Duration,
    /// Every transition, in order.
    pub transitions: Vec<Transition>,
    /// Leases that were prolonged.
    pub renewals: u64,
    /// Lease conflicts that were answered.
    pub conflicts: u64,
    /// Jobs as they were after each word of progress that counted.
    pub progressed: Vec<Arc<Job>>,
    /// Jobs whose worker is to be told that they are cancelled.
    pub cancelling: Vec<Arc<Job>>,
    /// Finished jobs that were forgotten.
    pub purged: Vec<Arc<Job>>,
}

/// A transition, without what only its reader needs.
#[derive(Clone, Debug, PartialEq)]
pub struct Transition {
    /// Whose.
    pub job: JobId,
    /// When, by the store's clock.
    pub at: Timestamp,
    /// The job's lifecycle.
    pub lifecycle: LifecycleName,
    /// The job's type.
    pub job_type: TypeName,
    /// The job's queue.
    pub queue: QueueName,
    /// What happened.
    pub trigger: Trigger,
    /// Where it was; `None` at creation.
    pub from: Option<StateName>,
    /// Where it is now.
    pub to: StateName,
    /// What may happen there.
    pub phase: Phase,
    /// What went wrong, if something did.
    pub error: Option<Failed>,
    /// Whether another attempt follows a failed one.
    pub is_retry: bool,
    /// For a claim: how long the job could have been claimed before.
    pub waited: Option<Millis>,
    /// For an end: how long it ran, if it did.
    pub ran: Option<Millis>,
}

/// An error of a job, as far as counting needs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failed {
    /// Short and stable.
    pub code: Name,
    /// In words, the first of them.
    pub message: Name,
    /// Where in the system.
    pub category: Category,
    /// Whether another attempt may help.
    pub class: Class,
}

impl From<&JobError> for Failed {
    fn from(error: &JobError) -> Self {
        let message: String = error.message.chars().take(MESSAGE_CHARS_MAX).collect();
        Self {
            code: error.code.clone(),
            message: message.into(),
            category: error.category,
            class: error.class,
        }
    }
}

impl Transition {
    /// The error that ended an attempt; not one that a success brought along.
    pub fn failure(&self) -> Option<&Failed> {
        let succeeded = matches!(self.phase, Phase::Final(Outcome::Succeeded | Outcome::Partial));
        self.error.as_ref().filter(|_| !succeeded)
    }
}

impl Committed {
    pub(crate) fn of(set: &WorkingSet, commands: &[CommandEnvelope], answers: &[CommandResult]) -> Self {
        let events = set.changes.appended.events.iter().filter(|event| event.seq.is_some());
        let renewed = |signal: &Signal| matches!(signal, Signal::JobLeaseRenewed);
        let conflicting = |answer: &&CommandResult| matches!(answer, Err(Refusal::LeaseConflict { .. }));
        let (mut progressed, mut cancelling) = (Vec::new(), Vec::new());
        for (asked, answer) in commands.iter().zip(answers) {
            let Ok(CommandOutput::Job { job, ignored: false, .. }) = answer else { continue };
            match &asked.command {
                Command::Progress { .. } => progressed.push(Arc::clone(job)),
                Command::Cancel(_) if job.cancel.is_some() => cancelling.push(Arc::clone(job)),
                _ => {}
            }
        }
        Self {
            commands: commands.len(),
            took: Duration::ZERO,
            progressed,
            cancelling,
            purged: set.changes.jobs.purged.iter().map(|id| Arc::clone(&set.jobs[id])).collect(),
            transitions: events.map(|event| transition(set, event)).collect(),
            renewals: set.changes.appended.telemetry.iter().filter(|line| renewed(&line.signal)).count() as u64,
            conflicts: answers.iter().filter(conflicting).count() as u64,
        }
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
        lifecycle: job.spec.lifecycle.name.clone(),
        job_type: job.spec.job_type.clone(),
        trigger: event.trigger.clone(),
        from: event.from.clone(),
        to: event.to.clone(),
        phase,
        error: event.facts.error.as_deref().map(Failed::from),
        is_retry: event.facts.retry_count.is_some() && !phase.is_final(),
        waited: (event.trigger == Trigger::Claim).then(|| event.ts - ready_since()),
        ran: if phase.is_final() { job.run_time() } else { None },
    }
}
