//! One batch, from commands to answers. The heart of Tenure; everything else feeds it or reads its journal.

use std::sync::Arc;

use tenure_core::command::CommandEnvelope;
use tenure_core::decide::{CommandResult, decide_batch};
use tenure_core::event::Event;
use tenure_core::id::{JobId, QueueName, TypeName};
use tenure_core::lifecycle::Phase;
use tenure_core::time::Now;
use tenure_core::working_set::{Reads, WorkingSet};
use tenure_store::{Store, StoreError};
use tokio::time::Instant;

use crate::Inner;
use crate::batcher::{Batch, Reply};
use crate::job_watch::JobWatchers;
use crate::failure::Failure;
use crate::observe::Committed;

/// What a judge found.
struct Verdict {
    answers: Vec<CommandResult>,
    now: Now,
    /// Queue and type of each job that became ready.
    ready: Vec<(QueueName, TypeName)>,
    /// Events that tell of something that went wrong.
    failures: Vec<Event>,
    grew: bool,
    /// A queue goes on, and with it jobs that were ready before.
    resumed: bool,
    committed: Committed,
    /// Jobs that somebody may watch.
    touched: Vec<JobId>,
}

pub(crate) async fn apply<S: Store>(inner: &Inner<S>, batch: Batch) {
    let batch = match attempt(inner, &batch).await {
        Ok(verdict) => return publish(inner, batch, verdict),
        // A full disk may still have room for commands that finish work; those that add work are refused.
        Err(StoreError::Full) => {
            let (work, rest) = batch.split(|envelope| envelope.command.adds_work());
            if work.commands.is_empty() || rest.commands.is_empty() {
                return fail(
                    inner,
                    [work, rest].into_iter().flat_map(|batch| batch.replies),
                    StoreError::Full,
                );
            }
            fail(inner, work.replies, StoreError::Full);
            rest
        }
        Err(error) => return fail(inner, batch.replies, error),
    };
    match attempt(inner, &batch).await {
        Ok(verdict) => publish(inner, batch, verdict),
        Err(error) => fail(inner, batch.replies, error),
    }
}

async fn attempt<S: Store>(inner: &Inner<S>, batch: &Batch) -> Result<Verdict, StoreError> {
    let commands = Arc::clone(&batch.commands);
    let reads = Reads::of(&commands);
    let in_force = inner.in_force();
    let judge = move |set: &mut WorkingSet, now: Now| {
        let answers = decide_batch(set, &in_force.catalog, &commands, now);
        verdict(set, &commands, answers, now)
    };
    let began = Instant::now();
    let mut verdict = inner.store.transact(reads, judge).await?;
    verdict.committed.took = began.elapsed();
    Ok(verdict)
}

/// After the commit: answers, and everyone whom it concerns.
fn publish<S: Store>(inner: &Inner<S>, batch: Batch, verdict: Verdict) {
    inner.clock.set(verdict.now);
    verdict.failures.iter().for_each(log_failure);
    for (reply, answer) in batch.replies.into_iter().zip(verdict.answers) {
        // A caller that has gone away does not need its answer.
        drop(reply.send(Ok(answer)));
    }
    (inner.options.observe)(&verdict.committed);
    inner.job_watch.ring(&verdict.touched);
    if verdict.resumed {
        inner.waiting.wake_all();
    }
    inner.waiting.wake(&verdict.ready);
    if verdict.grew {
        inner.journal.grew();
    }
}

fn fail<S: Store>(inner: &Inner<S>, replies: impl IntoIterator<Item = Reply>, error: StoreError) {
    if matches!(error, StoreError::OutcomeUnknown(_)) {
        (inner.options.on_doubt)(&error);
    }
    let error = Arc::new(error);
    for reply in replies {
        drop(reply.send(Err(Failure::Store(Arc::clone(&error)))));
    }
}

fn verdict(set: &WorkingSet, commands: &[CommandEnvelope], answers: Vec<CommandResult>, now: Now) -> Verdict {
    let events = &set.changes.appended.events;
    let place = |event: &Event| {
        let spec = &set.jobs[&event.job_id].spec;
        (spec.queue.clone(), spec.job_type.clone())
    };
    let became_ready =
        events.iter().filter(|event| event.seq.is_some() && event.facts.phase() == Phase::Ready);
    let ready = became_ready.map(place).collect();
    let failures = events.iter().filter(|event| event.facts.error.is_some()).cloned().collect();
    let grew = !events.is_empty() || !set.changes.upserted.queues.is_empty();
    let resumed = set.changes.upserted.queues.values().any(|paused| !paused);
    let (committed, touched) = (Committed::of(set, commands, &answers), JobWatchers::touched(&set.changes));
    Verdict { answers, now, ready, failures, grew, resumed, committed, touched }
}

fn log_failure(event: &Event) {
    let error = event.facts.error.as_ref().map(|error| error.text()).unwrap_or_default();
    tracing::warn!(job = %event.job_id, state = %event.to, attempt = event.attempt, %error, "{}", event.name);
}
