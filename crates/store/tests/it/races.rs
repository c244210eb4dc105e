//! Many concurrent claimers: each job goes to exactly one of them, and the tables agree.

use std::collections::BTreeSet;
use std::path::Path;

use crate::child::{Process, claim_until_empty};
use crate::fixture::*;
use crate::prelude::*;
use crate::stores;

/// Compares the journal with the jobs, in SQL.
const COUNTS: &str = "select
    (select count(*) from events),
    (select sum(seq) from job_states),
    (select count(*) from (select distinct job_id, seq from events) it),
    (select count(*) from job_states where fence = 1)";

async fn fill(store: &Store, jobs: usize) {
    for _ in 0..jobs / 500 {
        created(store, (0..500).map(|n| Create { priority: Some(n % 3), ..a_job("so1") }).collect()).await;
    }
}

/// Each job was created and claimed: two transitions, two events, one fence.
fn assert_counts(jobs: usize, counts: &[i64]) {
    let jobs = jobs as i64;
    assert_eq!(counts, [2 * jobs, 2 * jobs, 2 * jobs, jobs]);
}

fn sqlite_counts(folder: &Path) -> Vec<i64> {
    let connection = rusqlite::Connection::open(folder.join("tenure.db")).unwrap();
    connection.query_row(COUNTS, [], |row| (0..4).map(|column| row.get(column)).collect()).unwrap()
}

async fn race_on_sqlite(claimers: usize, jobs: usize, max: u32) {
    let folder = stores::a_folder();
    let store = stores::open(folder.path()).await;
    fill(&store, jobs).await;
    let claimers: Vec<_> = (0..claimers)
        .map(|n| {
            let store = store.clone();
            tokio::spawn(async move {
                let mut got = Vec::new();
                claim_until_empty(&store, &format!("w{n}"), max, |id, _| got.push(id)).await;
                got
            })
        })
        .collect();
    let mut got: Vec<JobId> = Vec::new();
    for claimer in claimers {
        got.extend(claimer.await.expect("a claimer does not panic"));
    }
    assert_eq!((got.len(), got.iter().collect::<BTreeSet<_>>().len()), (jobs, jobs), "no job has two owners");
    assert_counts(jobs, &sqlite_counts(folder.path()));
    assert_lawful(&store).await;
}

async fn race_on_postgres(claimers: usize, jobs: usize) {
    let url = stores::a_database().await;
    let store = stores::connect(&url).await;
    fill(&store, jobs).await;
    let nodes = (0..2).map(|_| Process::start("claim", &url, claimers / 2, &[])).collect::<Vec<_>>();
    let hear = |mut node: Process| {
        let mut got = Vec::new();
        while let Some(words) = node.next() {
            match words[0].as_str() {
                "got" => got.push(words[1].clone()),
                "done" => return got,
                _ => assert_eq!(words, ["open"]),
            }
        }
        panic!("a node ended early")
    };
    let readers =
        nodes.into_iter().map(|node| tokio::task::spawn_blocking(move || hear(node))).collect::<Vec<_>>();
    let mut got = Vec::new();
    for node in readers {
        got.extend(node.await.expect("a node does not panic"));
    }
    assert_eq!((got.len(), got.iter().collect::<BTreeSet<_>>().len()), (jobs, jobs), "no job has two owners");
    let row = stores::ask(&url, COUNTS).await.remove(0);
    let counts: Vec<i64> = row.into_iter().map(|count| count.unwrap().parse().unwrap()).collect();
    assert_counts(jobs, &counts);
    assert_lawful(&store).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sqlite_64_claimers_share_1000_jobs() {
    race_on_sqlite(64, 1000, 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sqlite_512_claimers_share_10000_jobs() {
    race_on_sqlite(512, 10_000, 5).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn postgres_64_claimers_of_two_processes_share_1000_jobs() {
    race_on_postgres(64, 1000).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn postgres_512_claimers_of_two_processes_share_10000_jobs() {
    race_on_postgres(512, 10_000).await;
}
