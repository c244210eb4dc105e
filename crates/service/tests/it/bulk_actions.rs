//! What is shown after an action on many jobs, each of which has its own line of the audit log.

use std::sync::Arc;

use tenure_core::command::{Cancel, Command, CommandEnvelope};
use tenure_core::job::{CancelMode, Job};
use tenure_core::query::{JobFilter, Page};
use tenure_core::time::{Millis, Timestamp};
use tenure_service::Service;
use tenure_service::changes::{ChangeKind, changes};
use tenure_store::{MemoryStore, Store};

use crate::world::{create, service};

async fn submit(service: &Service, commands: impl IntoIterator<Item = Command>) {
    let envelope = |command| CommandEnvelope { by: "operator:ann".into(), key: None, command };
    let answers = service.runtime().submit_all(commands.into_iter().map(envelope)).await;
    assert!(answers.iter().all(|answer| matches!(answer, Ok(Ok(_)))));
}

/// Pauses a queue, then cancels 1,001 jobs.
async fn act(service: &Service) {
    submit(service, [Command::PauseQueue { queue: "default".into(), paused: true }]).await;
    create(service, 1001).await;
    let jobs = service.store().list(JobFilter::default(), Page { before: None, limit: 2000 }).await.unwrap();
    assert_eq!(jobs.len(), 1001);
    let cancel =
        |job: &Arc<Job>| Command::Cancel(Cancel { job: job.id(), mode: CancelMode::Hard, reason: None });
    for jobs in jobs.chunks(100) {
        submit(service, jobs.iter().map(cancel)).await;
    }
}

async fn a_pause_is_shown_after(service: &Service) {
    act(service).await;
    let store = service.store();
    let last = store.audit_before(u64::MAX, 1001).await.unwrap();
    assert!(last.len() == 1001 && last.iter().all(|(_, line)| line.job_id.is_some()), "a line for each job");
    let now = store.now().await.unwrap().at;
    let marks = service.stats().marks(Timestamp(0), now + Millis(1)).await.unwrap();
    assert_eq!(marks.iter().map(|mark| mark.text.as_str()).collect::<Vec<_>>(), ["paused queue default"]);
    let snapshot = service.stats().snapshot().await.unwrap();
    let pauses: Vec<_> = snapshot.queue_trends.iter().filter_map(|queue| queue.pause.as_ref()).collect();
    assert_eq!(pauses.iter().map(|pause| pause.by.as_str()).collect::<Vec<_>>(), ["operator:ann"]);
    let changes = changes(service).await.unwrap();
    assert_eq!(changes.iter().filter(|change| change.kind == ChangeKind::Pause).count(), 1);
}

#[tokio::test]
async fn a_pause_before_an_action_on_many_jobs_is_shown_with_the_store_in_memory() {
    let store = MemoryStore::with_manual_clock(Timestamp(1_800_000_000_000));
    a_pause_is_shown_after(&service(store.handle()).await).await;
}

#[tokio::test]
async fn a_pause_before_an_action_on_many_jobs_is_shown_with_the_embedded_store() {
    let folder = tempfile::tempdir().unwrap();
    a_pause_is_shown_after(&service(Store::open(folder.path()).await.unwrap()).await).await;
}
