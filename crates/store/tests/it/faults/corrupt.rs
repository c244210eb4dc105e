//! Corrupt files: reported with their place, never repaired, never a panic.

use std::fs::{self, OpenOptions};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;

use tempfile::TempDir;

use crate::conformance::page;
use crate::fixture::*;
use crate::prelude::*;
use crate::stores;

/// A closed store with a few hundred jobs.
async fn a_good_file() -> TempDir {
    let folder = stores::a_folder();
    let store = stores::open(folder.path()).await;
    for _ in 0..4 {
        created(&store, (0..100).map(|_| a_job("so1")).collect()).await;
        let held = take(&store, "w1", any(), 60).await;
        submit(&store, held.iter().map(|job| succeed(&hold(job))).collect()).await;
    }
    drop(store);
    // The last connection that closes removes the log; under load that may be one of another thread.
    let is_one_file = || async { (!folder.path().join("tenure.db-wal").exists()).then_some(()) };
    until("a closed store is one file", is_one_file).await;
    folder
}

fn flip(file: &Path, at: u64, bytes: usize) {
    let mut file = OpenOptions::new().read(true).write(true).open(file).unwrap();
    let mut old = vec![0; bytes];
    file.seek(SeekFrom::Start(at)).unwrap();
    let read = file.read(&mut old).unwrap();
    old.truncate(read);
    file.seek(SeekFrom::Start(at)).unwrap();
    file.write_all(&old.iter().map(|byte| !byte).collect::<Vec<_>>()).unwrap();
}

/// Checks that the corruption was reported with its place.
fn is_named(error: &StoreError) -> bool {
    matches!(error, StoreError::Corrupt { .. }) && !error.to_string().is_empty()
}

async fn refused(folder: &Path) -> StoreError {
    match Store::open(folder).await {
        Err(error) => error,
        Ok(_) => panic!("a broken file was opened"),
    }
}

#[tokio::test]
async fn a_file_that_is_not_a_database_is_refused_and_left_unchanged() {
    let folder = stores::a_folder();
    let text = "this is a letter, and a long one at that ".repeat(500);
    fs::write(folder.path().join("tenure.db"), &text).unwrap();
    let error = refused(folder.path()).await;
    assert!(is_named(&error) && error.to_string().contains("tenure.db"), "{error}");
    assert_eq!(fs::read_to_string(folder.path().join("tenure.db")).unwrap(), text);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_truncated_file_is_refused() {
    let good = a_good_file().await;
    let length = fs::metadata(good.path().join("tenure.db")).unwrap().len();
    for part in [length / 2, length / 3, length - 4096, length - 100, 100] {
        let folder = stores::a_folder();
        fs::copy(good.path().join("tenure.db"), folder.path().join("tenure.db")).unwrap();
        let file = OpenOptions::new().write(true).open(folder.path().join("tenure.db")).unwrap();
        file.set_len(part).unwrap();
        let error = refused(folder.path()).await;
        assert!(is_named(&error) && error.to_string().contains("tenure.db"), "{part} of {length}: {error}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broken_page_is_refused() {
    let good = a_good_file().await;
    let length = fs::metadata(good.path().join("tenure.db")).unwrap().len();
    // The header of a page in the middle.
    flip(&good.path().join("tenure.db"), length / 2 / 4096 * 4096, 64);
    let error = refused(good.path()).await;
    assert!(is_named(&error) && error.to_string().contains("tenure.db"), "{error}");
}

#[tokio::test]
async fn waiting_jobs_are_claimed_completely_after_a_restart_and_a_corrupt_one_delays_no_other() {
    let folder = stores::a_folder();
    let store = stores::open(folder.path()).await;
    let keyed = |n: u8| Create { key: key(&n.to_string(), n), ..a_job("so1") };
    let jobs = created(&store, (0..9).map(keyed).collect()).await;
    drop(store);
    let file = rusqlite::Connection::open(folder.path().join("tenure.db")).unwrap();
    let first = jobs[0].id().0;
    let changed =
        file.execute("update job_states set lease = 'none' where id = ?1", [first.as_bytes().as_slice()]);
    assert_eq!(changed.unwrap(), 1);
    drop(file);
    let store = stores::open(folder.path()).await;
    assert_eq!(store.gauges().await.unwrap().jobs[0].count, 9);
    let mut found = take(&store, "w1", any(), 1).await;
    assert_eq!(found.len(), 1, "the next job takes the place of the corrupt one");
    found.extend(take(&store, "w1", any(), 9).await);
    assert_eq!(found.len(), 8);
    for (found, job) in found.iter().zip(&jobs[1..]) {
        assert_eq!(found.spec, job.spec, "with its payload, in the order of creation");
    }
    assert!(is_named(&store.job(jobs[0].id()).await.unwrap_err()), "the corrupt job is reported");
    let again = try_submit(&store, vec![create(keyed(0))]).await;
    assert!(is_named(&again.unwrap_err()), "its key does not create a second job");
    assert_eq!(submit(&store, found.iter().map(|job| succeed(&hold(job))).collect()).await.len(), 8);
}

/// Anywhere in the file: every read reports corruption, or returns the original data.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn flipped_bytes_never_panic_and_are_reported_as_corruption() {
    let good = a_good_file().await;
    let length = fs::metadata(good.path().join("tenure.db")).unwrap().len();
    let mut random = Random::from_env();
    let mut found = 0;
    for _ in 0..60 {
        let folder = stores::a_folder();
        let file = folder.path().join("tenure.db");
        fs::copy(good.path().join("tenure.db"), &file).unwrap();
        let (at, bytes) = (random.next() % length, random.below(40) + 1);
        flip(&file, at, bytes);
        let said = |error: &StoreError| {
            let right = matches!(
                error,
                StoreError::Corrupt { .. } | StoreError::SchemaAhead { .. } | StoreError::MigrationChanged(_)
            );
            assert!(right, "{bytes} bytes at {at}: {error:?}");
        };
        let store = match Store::open(folder.path()).await {
            Ok(store) => store,
            Err(error) => {
                said(&error);
                found += 1;
                continue;
            }
        };
        let read = [
            store.scan(None, 1000).await.map(|found| found.into_iter().any(|it| it.record.is_err())),
            store.events(Position(0), 10_000).await.map(|_| false),
            store.list(JobFilter::default(), page(1000)).await.map(|_| false),
            store.counts().await.map(|_| false),
            store.orphans(10).await.map(|orphans| !orphans.is_empty()),
        ];
        found += usize::from(read.iter().any(|read| !matches!(read, Ok(false))));
        read.iter().filter_map(|read| read.as_ref().err()).for_each(said);
    }
    assert!(found > 10, "many of them were found: {found}");
}
