//! Stores that an earlier version has written (commit 3335643, the last one before migrations 13 and 14 of SQLite, and 14 to 16 of
//! PostgreSQL), as dumps: they are migrated when they are opened, and work continues where it was, with the leases of that version.

use std::collections::BTreeMap;

use rusqlite::Connection;
use tenure_core::credit::Account;
use tenure_core::job::LifecycleRef;
use tenure_core::lifecycle::Lifecycle;

use crate::fixture::*;
use crate::prelude::*;
use crate::stores;

const SQLITE: &str = include_str!("../earlier/sqlite.dump");
const POSTGRES: &str = include_str!("../earlier/postgres.dump");

/// The holder of every lease in the dumps.
const HOLDER: &str = "w9";

async fn a_migrated_file() -> (tempfile::TempDir, Store) {
    let folder = stores::a_folder();
    let file = Connection::open(folder.path().join("tenure.db")).unwrap();
    file.execute_batch(SQLITE).unwrap();
    drop(file);
    let store = stores::open(folder.path()).await;
    (folder, store)
}

async fn a_migrated_database() -> (String, Store) {
    let url = stores::a_database().await;
    stores::ask(&url, POSTGRES).await;
    let store = stores::connect(&url).await;
    (url, store)
}

/// What every record of the earlier version has become.
async fn has_kept_everything(store: &Store) {
    assert_lawful(store).await;
    let mut states: BTreeMap<String, usize> = BTreeMap::new();
    for job in all_jobs(store).await {
        *states.entry(format!("{} {}", job.spec.job_type, job.state)).or_default() += 1;
        assert!(job.flow().resources.is_empty() && job.flow().sequence.is_none());
    }
    assert_eq!(states.values().sum::<usize>(), 23, "{states:?}");
    assert_eq!(states["distributed queued"], 6);
    let gauges = store.gauges().await.unwrap();
    assert_eq!(gauges.dead_letters, 3);
    let counted: u64 = store.counts().await.unwrap().iter().map(|count| count.count).sum();
    assert_eq!(counted, 23);
    assert_eq!(store.account("ann".into()).await.unwrap(), Account { granted: 100, reserved: 3, spent: 6 });
    let schedules = store.automations(AutomationKind::Schedule).await.unwrap();
    assert_eq!(schedules.iter().map(|it| it.id().1.to_string()).collect::<Vec<_>>(), ["nightly"]);
    assert_eq!(
        store.api_keys().await.unwrap().iter().map(|key| key.id.to_string()).collect::<Vec<_>>(),
        ["k"]
    );
    assert_eq!(store.paused().await.unwrap(), ["slow"]);
    assert_eq!(
        store.workers().await.unwrap().iter().map(|it| it.name.to_string()).collect::<Vec<_>>(),
        [HOLDER]
    );
    assert_eq!(store.lifecycles().await.unwrap().len(), Lifecycle::built_in().len());
    assert_eq!(
        store.sequences(tenure_store::SequenceFilter { limit: 9, ..Default::default() }).await.unwrap().len(),
        0
    );
}

/// The leases of the earlier version are renewed, and end as their worker says.
async fn leases_continue(store: &Store) {
    let held = store.leased(None, None, 99).await.unwrap();
    assert_eq!(held.len(), 4, "time without a server counts against no lease");
    assert!(held.iter().all(|job| job.worker().is_some_and(|worker| *worker == HOLDER)));
    let beats = submit(store, held.iter().map(|job| heartbeat(&hold(job))).collect()).await;
    let cancels = beats
        .into_iter()
        .filter(|beat| matches!(beat, Ok(CommandOutput::Heartbeat { cancel: Some(CancelMode::Soft), .. })));
    assert_eq!(cancels.count(), 1, "the request to stop one of them is still there");
    let other = Hold { worker: "w1".into(), ..hold(&held[0]) };
    assert!(one(store, succeed(&other)).await.is_err());
    let released = held.iter().find(|job| job.output.checkpoint.is_some()).expect("one was released before");
    assert_eq!(released.output.checkpoint.as_ref().map(Json::as_str), Some("{\"at\":  3}"));
    assert_eq!(released.spec.payload.as_str(), "{ \"n\": 1.10 }", "the text as it was sent");
    assert_eq!(store.logs(released.id(), 0, 9).await.unwrap().len(), 2);
    for job in &held {
        assert!(!store.whole_history(job.id()).await.unwrap().is_empty());
        one(store, succeed(&hold(job))).await.unwrap();
    }
    assert_eq!(store.account("ann".into()).await.unwrap(), Account { granted: 100, reserved: 0, spent: 9 });
}

/// Jobs of the earlier version are claimed in order, keep their lifecycle, and their unique keys are taken.
async fn waiting_jobs_are_claimed(store: &Store) {
    let taken = take(store, "w1", of_queues(&["q1"]), 99).await;
    let priorities: Vec<i32> =
        taken.iter().filter(|job| job.spec.job_type == "distributed").map(|job| job.priority()).collect();
    assert_eq!(priorities, [5, 4, 3, 2, 1, 0]);
    let refused = submit(store, vec![create(keyed("single", "b"))]).await.remove(0);
    assert!(matches!(refused, Err(Refusal::Duplicate { .. })), "{refused:?}");
    let again = submit(store, vec![create(Create { payload: Json::of(&3), ..keyed("latest", "a") })]).await;
    assert!(
        matches!(&again[0], Ok(CommandOutput::Amended(job)) if *job.payload() == Json::of(&3)),
        "{again:?}"
    );
    // A new version of the lifecycle: new jobs may follow it, and those that live keep theirs.
    let old = Lifecycle::built_in().into_iter().find(|lifecycle| lifecycle.name == "distributed").unwrap();
    let key = LifecycleRef { name: old.name.clone(), version: old.version + 1 };
    let source =
        old.source.replacen(&format!("version = {}", old.version), &format!("version = {}", key.version), 1);
    assert_ne!(source, old.source);
    let register = Command::RegisterLifecycle { lifecycle: key, source, is_update: true };
    one(store, by("runtime", register)).await.unwrap();
    for job in &taken {
        assert_eq!(job.spec.lifecycle.version, old.version);
        one(store, succeed(&hold(job))).await.unwrap();
    }
    let new = created(store, vec![a_job("distributed")]).await;
    assert_eq!(take(store, "w1", of_types(&["distributed"]), 9).await[0].id(), new[0].id());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_of_the_earlier_version_is_migrated_and_its_work_continues() {
    let (folder, store) = a_migrated_file().await;
    has_kept_everything(&store).await;
    leases_continue(&store).await;
    waiting_jobs_are_claimed(&store).await;
    assert_lawful(&store).await;
    drop(store);
    let store = stores::open(folder.path()).await;
    assert_lawful(&store).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_of_the_earlier_version_is_migrated_and_its_work_continues() {
    let (url, store) = a_migrated_database().await;
    // A second node of this version, which starts while the first one works.
    let second = stores::connect(&url).await;
    has_kept_everything(&second).await;
    leases_continue(&store).await;
    waiting_jobs_are_claimed(&second).await;
    assert_lawful(&store).await;
}
