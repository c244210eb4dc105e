//! Applies one batch: loads, decides, commits, then answers callers and wakes waiters.

use std::sync::Arc;

use tenure_core::decide::decide_batch;
use tenure_core::working_set::Reads;
use tokio::time::Instant;

use crate::Inner;
use crate::batcher::{Batch, Reply};
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
    /// Whether a queue was resumed, whose ready jobs can be claimed again.
    resumed: bool,
    committed: Committed,
    /// Jobs whose watchers are notified.
    touched: Vec<JobId>,
}

pub(crate) async fn apply(inner: &Inner, batch: Batch) {
    let batch = match attempt(inner, &batch).await {
        Ok(decided) => return publish(inner, batch, decided),
        // A full disk may still have room for commands that finish work; those that add work are refused.
        Err(StoreError::Full) => {
            let (work, rest) = batch.partition(|envelope| envelope.command.adds_work());
            if work.commands.is_empty() || rest.commands.is_empty() {
                let replies = [work, rest].into_iter().flat_map(|batch| batch.replies);
                return fail(inner, replies, StoreError::Full);
            }
            fail(inner, work.replies, StoreError::Full);
            rest
        }
        Err(error) => return fail(inner, batch.replies, error),
    };
    match attempt(inner, &batch).await {
        Ok(decided) => publish(inner, batch, decided),
        Err(error) => fail(inner, batch.replies, error),
    }
}

async fn attempt(inner: &Inner, batch: &Batch) -> Result<Decided, StoreError> {
    let commands = Arc::clone(&batch.commands);
    let reads = Reads::of(&commands);
    let active = inner.active();
    let decide = move |set: &mut WorkingSet, now: Now| {
        let answers = decide_batch(set, &active.catalog, &commands, now);
        outcome(set, &commands, answers, now)
    };
    let began = Instant::now();
    let mut decided = inner.store.transact(reads, decide).await?;
    decided.committed.took = began.elapsed();
    Ok(decided)
}

/// After the commit: answers callers, then notifies observers, watchers, waiting claims and followers.
fn publish(inner: &Inner, batch: Batch, decided: Decided) {
    inner.clock.set(decided.now);
    decided.failures.iter().for_each(log_failure);
    for (reply, answer) in batch.replies.into_iter().zip(decided.answers) {
        // The caller may have disconnected.
        drop(reply.send(Ok(answer)));
    }
    (inner.options.observe)(&decided.committed);
    inner.job_watch.notify(&decided.touched);
    if decided.resumed {
        inner.waiting.poll_by(Instant::now());
    }
    inner.waiting.became_ready(&decided.ready, decided.now.at);
    if decided.grew {
        inner.journal.grew();
    }
}

fn fail(inner: &Inner, replies: impl IntoIterator<Item = Reply>, error: StoreError) {
    if matches!(error, StoreError::OutcomeUnknown(_)) {
        (inner.options.on_unknown_outcome)(&error);
    }
    let error = Arc::new(error);
    for reply in replies {
        drop(reply.send(Err(Failure::Store(Arc::clone(&error)))));
    }
}

fn outcome(set: &WorkingSet, commands: &[CommandEnvelope], answers: Vec<CommandResult>, now: Now) -> Decided {
    let events = &set.changes.appended.events;
    let ready = ReadyJobs::of_commit(set, now.at);
    let failures = events.iter().filter(|event| event.facts.error.is_some()).cloned().collect();
    let grew = !events.is_empty() || !set.changes.upserted.queues.is_empty();
    let resumed = set.changes.upserted.queues.values().any(|paused| !paused);
    let (committed, touched) = (Committed::of(set, commands, &answers), JobWatchers::touched(&set.changes));
    Decided { answers, now, ready, failures, grew, resumed, committed, touched }
}

fn log_failure(event: &Event) {
    let error = event.facts.error.as_ref().map(|error| error.text()).unwrap_or_default();
    tracing::warn!(job = %event.job_id, state = %event.to, attempt = event.attempt, %error, "{}", event.name);
}
