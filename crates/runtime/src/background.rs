//! The background tasks of a node: batches, sweeps, heartbeats, pruning, audits, polls, and notifications of other nodes.

use std::sync::Arc;

use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::batcher::BatchReceiver;
use crate::failure::Failure;
use crate::sweeper::ExcludedJobs;
use crate::{BATCH_PATIENCE, Inner, POLL_PAUSE_MIN, SLOW_BATCHES_MAX, apply, retention};

/// Runs a task. If it panics, the node could not do its work any more: the process ends. Panics of a decision do not get here.
pub(crate) fn ending_on_panic(
    inner: &Inner,
    task: impl Future<Output = ()> + Send + 'static,
) -> impl Future<Output = ()> + Send + 'static {
    let on_panic = Arc::clone(&inner.options.on_panic);
    async move {
        // A set aborts its task when this one is aborted.
        let mut running = JoinSet::new();
        running.spawn(task);
        if running.join_next().await.is_some_and(|ended| ended.is_err_and(|error| error.is_panic())) {
            on_panic();
        }
    }
}

/// Applies batches until the queue is closed and empty. A batch that takes long, because the outcome of its commit is not
/// known until the database answers again, does not delay the next ones: they fail, and their callers may try again.
pub(crate) async fn apply_batches(inner: Arc<Inner>, mut receiver: BatchReceiver) {
    let mut slow = JoinSet::new();
    while let Some(batch) = receiver.batch().await {
        let mut applied = Box::pin(apply::apply(Arc::clone(&inner), batch));
        if !inner.store.is_shared() {
            applied.await;
            continue;
        }
        if tokio::time::timeout(BATCH_PATIENCE, &mut applied).await.is_err() {
            slow.spawn(applied);
        }
        while let Some(applied) = slow.try_join_next() {
            applied.expect("a batch does not panic");
        }
        if slow.len() > SLOW_BATCHES_MAX {
            slow.join_next().await;
        }
    }
    // At the end their callers get no answer, as if the process had been killed.
    drop(tokio::time::timeout(BATCH_PATIENCE, slow.join_all()).await);
}

pub(crate) async fn keep_sweeping(inner: Arc<Inner>) {
    let (mut excluded, mut span) = (ExcludedJobs::new(), inner.options.sweep_every);
    while inner.pause(span).await {
        span = inner.sweep(&mut excluded).await;
    }
}

pub(crate) async fn keep_alive(inner: Arc<Inner>) {
    while inner.pause(inner.options.heartbeat_every).await {
        if let Err(error) = inner.store.heartbeat().await {
            tracing::warn!(%error, "store heartbeat failed");
        }
    }
}

pub(crate) async fn keep_pruning(inner: Arc<Inner>) {
    let mut searched = retention::Searched::new();
    while inner.pause(inner.options.prune_every).await {
        match inner.prune(&mut searched).await {
            Ok(()) | Err(Failure::Stopped) => {}
            Err(failure) => tracing::warn!(%failure, "retention failed"),
        }
    }
}

/// Audits at start and then periodically. The pause is at least 19 times the last pass, so that audits use at most a
/// twentieth of the time.
pub(crate) async fn keep_auditing(inner: Arc<Inner>) {
    loop {
        let began = Instant::now();
        inner.audit_credits().await;
        if !inner.pause(inner.options.audit_every.max(began.elapsed() * 19)).await {
            return;
        }
    }
}

/// Reads for all waiting claims together which jobs they may take. The pause after a read is at least four times its
/// duration, so that reads use at most a fifth of the time.
pub(crate) async fn keep_polling(inner: Arc<Inner>) {
    let mut stopping = inner.stopping.subscribe();
    loop {
        tokio::select! {
            biased;
            _ = stopping.wait_for(|stopping| *stopping) => return,
            () = inner.waiting.poll_due() => {}
        }
        let began = Instant::now();
        inner.poll_ready_jobs().await;
        inner.pause(POLL_PAUSE_MIN.max(began.elapsed() * 4)).await;
    }
}

/// Wakes followers, and waiting claims that accept its jobs, when another node commits.
pub(crate) async fn keep_listening(inner: Arc<Inner>) {
    let mut stopping = inner.stopping.subscribe();
    loop {
        tokio::select! {
            biased;
            _ = stopping.wait_for(|stopping| *stopping) => return,
            ready = inner.store.remote_commit() => {
                inner.journal.grew();
                match ready {
                    Some(ready) => inner.waiting.became_ready(&ready, inner.clock.now()),
                    None => inner.waiting.poll_by(Instant::now()),
                }
            }
        }
    }
}
