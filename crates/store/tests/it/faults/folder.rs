//! The folder of the embedded store: its owner, its schema, and the time while it was closed.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Instant;

use rusqlite::Connection;

use crate::child::Process;
use crate::fixture::*;
use crate::prelude::*;
use crate::stores;

fn raw(folder: &Path) -> Connection {
    Connection::open(folder.join("tenure.db")).expect("the file exists")
}

#[tokio::test]
async fn a_second_process_is_refused_with_the_owner_of_the_store() {
    let folder = stores::a_folder();
    let place = folder.path().to_str().expect("a plain path");
    let mut child = Process::start("hold", place, 1, &[]);
    assert_eq!(child.next(), Some(vec!["open".to_owned()]));
    match Store::open(folder.path()).await {
        Err(StoreError::InUse { path, holder }) => {
            assert_eq!((path.as_str(), holder), (place, child.id().to_string()));
        }
        other => panic!("{other:?}"),
    }
    child.kill();
    assert!(!child.succeeded());
    stores::open(folder.path()).await;
}

#[tokio::test]
async fn a_second_store_in_the_same_process_is_refused_too() {
    let folder = stores::a_folder();
    let store = stores::open(folder.path()).await;
    assert!(matches!(Store::open(folder.path()).await, Err(StoreError::InUse { .. })));
    drop(store);
    stores::open(folder.path()).await;
}

/// Commands that were submitted are executed before the folder is released.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_closed_store_is_released_after_its_last_write() {
    let folder = stores::a_folder();
    let mut expected = 0;
    for round in 0..30 {
        let store = stores::open(folder.path()).await;
        assert_eq!(all_jobs(&store).await.len(), expected);
        // Submitted without waiting: polled once, then dropped.
        let mut begun = Box::pin(submit(&store, (0..round % 5).map(|_| create(a_job("so1"))).collect()));
        let poll =
            std::future::poll_fn(|context| std::task::Poll::Ready(begun.as_mut().poll(context).is_ready()));
        poll.await;
        expected += round % 5;
        drop(begun);
        drop(store);
    }
    assert_lawful(&stores::open(folder.path()).await).await;
}

#[tokio::test]
async fn the_files_are_private() {
    let folder = stores::a_folder();
    let inner = folder.path().join("store");
    let store = stores::open(&inner).await;
    created_one(&store, a_job("so1")).await;
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&inner), 0o700);
    let mut files = 0;
    for entry in std::fs::read_dir(&inner).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
        files += 1;
    }
    assert!(files >= 3, "the file, its log and its lock");
}

#[tokio::test]
async fn a_newer_schema_and_an_edited_migration_are_refused() {
    let folder = stores::a_folder();
    drop(stores::open(folder.path()).await);
    raw(folder.path()).execute("insert into migrations values (99, 'from the future')", []).unwrap();
    let refused = Store::open(folder.path()).await;
    assert!(matches!(refused, Err(StoreError::SchemaAhead { found: 99, .. })), "{refused:?}");
    raw(folder.path()).execute("delete from migrations where number = 99", []).unwrap();
    raw(folder.path()).execute("update migrations set checksum = 'edited' where number = 1", []).unwrap();
    let refused = Store::open(folder.path()).await;
    assert!(matches!(refused, Err(StoreError::MigrationChanged(1))), "{refused:?}");
}

/// The time while a store was closed does not count against leases, and is added to `stopped`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lease_is_not_shortened_while_the_store_is_closed() {
    let folder = stores::a_folder();
    let store = stores::open(folder.path()).await;
    let job = created_one(&store, a_job("distributed")).await;
    take(&store, "w1", any(), 1).await;
    let before = store.now().await.unwrap();
    drop(store);
    // As if it had been closed an hour ago.
    raw(folder.path()).execute("update clock set alive_at = alive_at - 3600000", []).unwrap();
    let store = stores::open(folder.path()).await;
    let after = store.now().await.unwrap();
    assert!(before.at <= after.at);
    let hour = Millis::seconds(3600);
    assert!(before.stopped.0 + hour.0 <= after.stopped.0, "{before:?} {after:?}");
    assert_eq!(store.due(9).await.unwrap().jobs, [], "the hour is longer than the lease, but does not count");
    let held = store.job(job.id()).await.unwrap().unwrap();
    assert!(after.running() < held.lease.as_ref().unwrap().expires());
    one(&store, succeed(&hold(&held))).await.expect("its worker still holds the lease");
    assert_lawful(&store).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_clock_stops_while_the_store_is_closed() {
    let folder = stores::a_folder();
    let store = stores::open(folder.path()).await;
    created_one(&store, a_job("quick")).await;
    let held = take(&store, "w1", any(), 1).await.remove(0);
    drop(store);
    // Longer than the lease.
    let closed = Instant::now();
    until("the lease is over by the calendar", async || (closed.elapsed().as_millis() > 60).then_some(()))
        .await;
    let store = stores::open(folder.path()).await;
    let now = store.now().await.unwrap();
    assert!(now.stopped.0 >= 60);
    assert!(
        now.running() < held.lease.as_ref().unwrap().expires() + Millis(40),
        "the clock continues at its last value"
    );
    until("it runs out in the end", async || (store.due(1).await.unwrap().jobs == [held.id()]).then_some(()))
        .await;
    // The clock of the store does not go back with the wall clock.
    drop(store);
    raw(folder.path()).execute("update clock set alive_at = alive_at + 86400000", []).unwrap();
    let store = stores::open(folder.path()).await;
    let ahead = store.now().await.unwrap();
    assert!(now.at + Millis::seconds(86_000) < ahead.at);
    assert!(created_one(&store, a_job("so1")).await.spec.created_at >= ahead.at);
}
