//! Applies one batch: loads, decides, commits, then answers callers and wakes waiters.

use std::any::Any;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use tenure_core::command::When;
use tenure_core::decide::decide_batch;
use tenure_core::flow::Declarations;
use tenure_core::job::Job;
use tenure_core::working_set::Reads;
use tokio::time::Instant;

use crate::Inner;
use crate::batcher::{Batch, QueuedCommand};
use crate::failure::Failure;
use crate::job_watch::JobWatchers;
use crate::observe::Committed;
use crate::prelude::*;

/// The decisions of a batch and what follows from them after the commit.
struct Decided {
    answers: Vec<CommandResult>,
    now: Now,
    /// The jobs that became ready.
    ready: Vec<ReadyJobs>,
    /// Events with an error.
    failures: Vec<Event>,
    grew: bool,
    /// Whether jobs may be claimable that did not become ready in it.
    admits_others: bool,
    /// The declarations of flow control in force.
    flow: Arc<Declarations>,
    committed: Committed,
    /// Jobs whose watchers are notified.
    touched: Vec<JobId>,
    /// Whether a loaded job follows a lifecycle that is not active on this node.
    is_missing_lifecycle: bool,
    /// Claims, by index, that found nothing only because the jobs of the batch were limited in bytes.
    undecided: BTreeSet<usize>,
}

/// Why nothing of a batch was committed.
enum BatchFailure {
    Store(StoreError),
    /// The decision panicked, with this message.
    Panicked(String),
}

impl BatchFailure {
    /// Whether it may come from one of the commands, so that the others succeed without it.
    fn may_concern_one_command(&self) -> bool {
        match self {
            Self::Panicked(_) => true,
            Self::Store(error) => matches!(error, StoreError::Corrupt { .. } | StoreError::Statement(_)),
        }
    }
}

/// A batch that fails because of one of its commands is divided until that command is alone: only it gets the failure.
pub(crate) async fn apply(inner: Arc<Inner>, batch: Batch) {
    let inner = &*inner;
    let joining = inner.joining(&batch.commands);
    let mut portions = vec![batch.followed_by(joining)];
    while let Some(batch) = portions.pop() {
        match attempt(inner, &batch).await {
            Ok(decided) => {
                let is_missing_lifecycle = decided.is_missing_lifecycle;
                publish(inner, batch, decided);
                if is_missing_lifecycle {
                    inner.reload_missing().await;
                }
            }
            // A full disk may still have room for commands that finish work; those that add work are refused.
            Err(BatchFailure::Store(StoreError::Full)) => {
                let (work, rest) = batch.partition(|envelope| envelope.command.adds_work());
                let is_divided = !work.commands.is_empty() && !rest.commands.is_empty();
                fail(inner, work, BatchFailure::Store(StoreError::Full));
                if is_divided {
                    portions.push(rest);
                } else {
                    fail(inner, rest, BatchFailure::Store(StoreError::Full));
                }
            }
            Err(failure) if failure.may_concern_one_command() && batch.commands.len() > 1 => {
                let (first, second) = batch.halves();
                portions.extend([second, first]);
            }
            Err(failure) => fail(inner, batch, failure),
        }
    }
}

async fn attempt(inner: &Inner, batch: &Batch) -> Result<Decided, BatchFailure> {
    let commands = Arc::clone(&batch.commands);
    let reads = Reads::of(&commands);
    let active = inner.active();
    let decide = move |set: &mut WorkingSet, now: Now| {
        let decided = catch_unwind(AssertUnwindSafe(|| {
            let answers = decide_batch(set, &active.catalog, &commands, now);
            let lacks = |job: &Arc<Job>| active.catalog.lifecycle(&job.spec.lifecycle).is_none();
            let is_missing_lifecycle = set.jobs.values().any(lacks);
            Decided { is_missing_lifecycle, ..outcome(set, &commands, answers, now) }
        }));
        decided.map_err(|panic| {
            // What it changed before is not written.
            *set = WorkingSet::default();
            message_of(&*panic)
        })
    };
    let began = Instant::now();
    let decided = inner.store.transact(reads, decide).await.map_err(BatchFailure::Store)?;
    let mut decided = decided.map_err(BatchFailure::Panicked)?;
    decided.committed.took = began.elapsed();
    Ok(decided)
}

impl Inner {
    /// Waiting claims for the jobs that a batch creates. One that gets no job waits again.
    fn joining(&self, commands: &[CommandEnvelope]) -> Vec<QueuedCommand> {
        let (active, mut joining) = (self.active(), Vec::new());
        for envelope in commands {
            if let Command::Create(create) = &envelope.command
                && create.when == When::Now
                && create.flow.is_empty()
                && let Some(job_type) = active.catalog.job_type(create.job_type.as_str())
            {
                let queue = create.queue.as_ref().unwrap_or(&job_type.queue);
                joining.extend(self.waiting.join(queue, &create.job_type));
            }
        }
        joining
    }
}

fn message_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned())
}

/// After the commit: notifies observers, answers callers, then notifies watchers, waiting claims and followers. Observers first:
/// what a caller does after its answer is observed after this commit.
fn publish(inner: &Inner, batch: Batch, decided: Decided) {
    inner.clock.set(decided.now);
    (inner.options.observe)(&decided.committed);
    decided.failures.iter().for_each(log_failure);
    for (index, (reply, answer)) in batch.replies.into_iter().zip(decided.answers).enumerate() {
        if decided.undecided.contains(&index) {
            inner.queue.put_back(QueuedCommand { envelope: batch.commands[index].clone(), reply });
        } else {
            // The caller may have disconnected.
            drop(reply.send(Ok(answer)));
        }
    }
    inner.job_watch.notify(&decided.touched);
    inner.adopt_flow(&decided.flow);
    if decided.admits_others {
        inner.waiting.poll_by(Instant::now());
    }
    inner.waiting.became_ready(&decided.ready, decided.now.at);
    if decided.grew {
        inner.journal.grew();
    }
}

fn fail(inner: &Inner, batch: Batch, failure: BatchFailure) {
    let failure = match failure {
        BatchFailure::Store(error) => {
            if matches!(error, StoreError::OutcomeUnknown(_)) {
                (inner.options.on_unknown_outcome)(&error);
            }
            Failure::Store(Arc::new(error))
        }
        BatchFailure::Panicked(message) => {
            for CommandEnvelope { command, .. } in &*batch.commands {
                let job = command.job().map(|job| job.to_string()).unwrap_or_default();
                tracing::error!(verb = command.verb(), job, message, "decision panicked");
            }
            Failure::Panicked(message.into())
        }
    };
    for reply in batch.replies {
        drop(reply.send(Err(failure.clone())));
    }
}

fn outcome(set: &WorkingSet, commands: &[CommandEnvelope], answers: Vec<CommandResult>, now: Now) -> Decided {
    let events = &set.changes.appended.events;
    let ready = ReadyJobs::of_commit(set, now.at);
    let failures = events.iter().filter(|event| event.facts.error.is_some()).cloned().collect();
    let grew = !events.is_empty() || !set.changes.upserted.queues.is_empty();
    let (admits_others, flow) = (ReadyJobs::admits_others(set), Arc::clone(&set.flow.state.declarations));
    let undecided = commands.iter().zip(&answers).enumerate();
    let undecided = undecided.filter(|(_, (envelope, answer))| {
        let is_cut = |claim: &Claim| set.cut_candidates.contains(&claim.filter);
        matches!(&envelope.command, Command::Claim(claim) if is_cut(claim))
            && matches!(answer, Ok(CommandOutput::Claimed { jobs, replayed: false }) if jobs.is_empty())
    });
    let undecided = undecided.map(|(index, _)| index).collect();
    let (committed, touched) = (Committed::of(set, commands, &answers), JobWatchers::touched(&set.changes));
    let is_missing_lifecycle = false;
    Decided {
        answers,
        now,
        ready,
        failures,
        grew,
        admits_others,
        flow,
        committed,
        touched,
        is_missing_lifecycle,
        undecided,
    }
}

fn log_failure(event: &Event) {
    let error = event.facts.error.as_ref().map(|error| error.text()).unwrap_or_default();
    tracing::warn!(job = %event.job_id, state = %event.to, attempt = event.attempt, %error, "{}", event.name);
}
