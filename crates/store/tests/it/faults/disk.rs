//! The disk: full, and failing to sync.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::Command;

use super::shim::Shim;
use crate::child::{Acknowledged, Process, assert_kept, note};
use crate::conformance::page;
use crate::fixture::*;
use crate::prelude::*;
use crate::stores;

/// The n-th sync fails: its batch may or may not be stored, later ones are refused, and earlier ones are kept.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sync_that_fails_stops_the_store() {
    let shim = Shim::build();
    let (mut at_open, mut at_commit) = (0, 0);
    for n in 1..=20 {
        let folder = stores::a_folder();
        let place = folder.path().to_str().expect("a plain path");
        let mut child = Process::start("serial", place, 1, &shim.env("TENURE_SHIM_SYNC", n.to_string()));
        let mut acknowledged = Acknowledged::new();
        let mut then = Vec::new();
        let mut failed = None;
        while let Some(words) = child.next() {
            match words[0].as_str() {
                "open" => {}
                "ack" => note(&mut acknowledged, &words),
                "unopened" => {
                    assert_eq!(words[1], "unknown", "sync {n}");
                    at_open += 1;
                }
                // The first syncs create the empty file, before anything is written.
                "survived" if n <= 3 => at_open += 1,
                "failed" => failed = Some(words[1].clone()),
                "then" => then.push(words[1].clone()),
                other => panic!("sync {n}: {other}"),
            }
        }
        assert!(child.succeeded(), "sync {n}: the child did not panic");
        if let Some(failed) = failed {
            at_commit += 1;
            assert_eq!(failed, "unknown", "sync {n}: the outcome of the batch is not known");
            assert_eq!(then, ["unknown"; 4], "sync {n}: nothing is accepted after it");
        }
        let store = stores::open(folder.path()).await;
        assert_kept(&store, &acknowledged).await;
        let unknown = all_jobs(&store).await.len() - acknowledged.len();
        assert!(unknown <= 1, "sync {n}: only the uncertain batch may be stored without acknowledgement");
    }
    assert_eq!(at_open + at_commit, 20, "every fault occurred");
    assert!(at_commit >= 10, "most of them at a commit: {at_commit}");
}

/// A full disk, then free space: nothing is lost or incomplete, and no restart is needed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_refuses_and_recovers() {
    let shim = Shim::build();
    let folder = stores::a_folder();
    let flag = shim.folder().join("full").display().to_string();
    let place = folder.path().to_str().expect("a plain path");
    let mut child = Process::start("fill", place, 1, &shim.env("TENURE_SHIM_FULL", flag));
    let mut acknowledged = Acknowledged::new();
    let mut reports = Vec::new();
    while let Some(words) = child.next() {
        match words[0].as_str() {
            "ack" => note(&mut acknowledged, &words),
            "open" => {}
            _ => reports.push(words.join(" ")),
        }
    }
    assert!(child.succeeded());
    let twice = ["while-full full", "readable 5"];
    assert_eq!(reports, [&twice[..], &twice, &twice, &["after"]].concat());
    let store = stores::open(folder.path()).await;
    assert_kept(&store, &acknowledged).await;
    assert_eq!((acknowledged.len(), all_jobs(&store).await.len()), (6, 6));
}

/// A mounted file system of a few megabytes.
struct SmallDisk<'a>(&'a Path);

impl<'a> SmallDisk<'a> {
    /// `None` if this process may not mount.
    fn mount(at: &'a Path, megabytes: u32) -> Option<Self> {
        let mut mount = Command::new("mount");
        let size = format!("size={megabytes}m");
        let mounted = mount.args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(at).output();
        mounted.is_ok_and(|output| output.status.success()).then_some(Self(at))
    }

    fn grow(&self) {
        let grown = Command::new("mount").args(["-o", "remount,size=64m"]).arg(self.0).status();
        assert!(grown.expect("mount is installed").success());
    }
}

impl Drop for SmallDisk<'_> {
    fn drop(&mut self) {
        drop(Command::new("umount").arg("-l").arg(self.0).status());
    }
}

/// The same on a real file system without free space.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_small_disk_refuses_and_recovers() {
    let folder = stores::a_folder();
    let Some(disk) = SmallDisk::mount(folder.path(), 4) else {
        println!(
            "may not mount a file system here: a_full_disk_refuses_and_recovers shows the same with the shim"
        );
        return;
    };
    let store = stores::open(&folder.path().join("store")).await;
    let creation = || vec![create(Create { payload: Json::of(&"x".repeat(30_000)), ..a_job("so1") })];
    let mut acknowledged = Acknowledged::new();
    let kept = async |acknowledged: &mut Acknowledged| match try_submit(&store, creation()).await {
        Ok(results) => {
            let job = job_of(results.into_iter().next().expect("one command, one result"));
            acknowledged.insert(job.id(), job.seq).is_none()
        }
        Err(StoreError::Full) => false,
        Err(error) => panic!("{error}"),
    };
    while kept(&mut acknowledged).await {
        assert!(acknowledged.len() < 1000, "thirty megabytes do not fit in four");
    }
    assert!(acknowledged.len() > 10);
    for _ in 0..3 {
        assert!(!kept(&mut acknowledged).await, "it stays full");
        assert_eq!(all_jobs(&store).await.len(), acknowledged.len(), "accepted jobs can be read");
    }
    disk.grow();
    for _ in 0..10 {
        assert!(kept(&mut acknowledged).await, "there is free space, and no restart was needed");
    }
    assert_kept(&store, &acknowledged).await;
    store.heartbeat().await.unwrap();
    drop(store);
    let store = stores::open(&folder.path().join("store")).await;
    assert_kept(&store, &acknowledged).await;
    drop(store);
}

/// SQLite extends this file after a commit is on disk. A full disk at that moment made the outcome of the commit unknown, and
/// ended the process.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_index_of_the_log_is_allocated_before_it_is_needed() {
    let folder = stores::a_folder();
    let index = folder.path().join("tenure.db-shm");
    // After a restart, too, when SQLite has truncated it.
    for _ in 0..2 {
        let store = stores::open(folder.path()).await;
        let allocated = std::fs::metadata(&index).unwrap();
        assert!(allocated.len() >= 1 << 20 && allocated.blocks() * 512 >= 1 << 20, "{allocated:?}");
        created_one(&store, a_job("so1")).await;
    }
}

/// A full disk refuses new work, running jobs continue from the reserve, and with free space everything works again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn running_jobs_continue_when_the_disk_is_full() {
    let folder = stores::a_folder();
    let Some(disk) = SmallDisk::mount(folder.path(), 24) else {
        println!("may not mount a file system here, so there is no disk to fill");
        return;
    };
    let store = stores::open(&folder.path().join("store")).await;
    created(&store, (0..50).map(|_| a_job("distributed")).collect()).await;
    let held = take(&store, "w1", any(), 50).await;
    assert_eq!(held.len(), 50);
    let large = || vec![create(Create { payload: Json::of(&"x".repeat(200_000)), ..a_job("so1") })];
    while try_submit(&store, large()).await.is_ok() {}
    for job in &held {
        submit(&store, vec![report(&hold(job), Verb::Start)]).await;
        assert!(job_of(one(&store, succeed(&hold(job))).await).phase.is_final(), "it can be finished");
        assert!(matches!(try_submit(&store, large()).await, Err(StoreError::Full)), "new work is refused");
    }
    disk.grow();
    submit_until_done(&store, &large()).await;
    drop(store);
    let store = stores::open(&folder.path().join("store")).await;
    assert_lawful(&store).await;
    drop(store);
}

/// Without a gap between reads, SQLite alone never starts its log again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_write_ahead_log_is_bounded_while_readers_are_active() {
    let folder = stores::a_folder();
    let store = stores::open(folder.path()).await;
    let read = |store: Store| async move {
        loop {
            store.list(JobFilter::default(), page(5)).await.unwrap();
        }
    };
    let readers: Vec<_> = (0..8).map(|_| tokio::spawn(read(store.clone()))).collect();
    let payload = Json::of(&"x".repeat(200_000));
    for _ in 0..60 {
        let jobs = (0..20).map(|_| Create { payload: payload.clone(), ..a_job("so1") }).collect();
        created(&store, jobs).await;
    }
    readers.iter().for_each(tokio::task::JoinHandle::abort);
    let log = std::fs::metadata(folder.path().join("tenure.db-wal")).unwrap().len();
    assert!(log < 150 << 20, "240 MB were written, and the log has {log} bytes");
}
