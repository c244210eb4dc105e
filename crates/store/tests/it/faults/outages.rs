//! PostgreSQL that is slow, away for long, or whose clock was set back: nodes continue.

use std::time::{Duration, Instant};

use crate::child::assert_kept;
use crate::faults::postgres::Load;
use crate::fixture::*;
use crate::prelude::*;
use crate::stores::{self, ask, connect};

/// Longer than nodes once tried to find the outcome of a commit.
const LONG_OUTAGE: Duration = Duration::from_secs(32);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_finds_the_outcome_of_its_commits_after_a_long_outage() {
    let mut server = stores::a_server();
    let url = stores::database_on(&server.url(), "away").await;
    let node = connect(&url).await;
    let load = Load::start(&[node.clone(), node.clone()]);
    load.more(60).await;
    server.crash().expect("the server can be stopped");
    let since = Instant::now();
    until("the outage is long", async || (since.elapsed() > LONG_OUTAGE).then_some(())).await;
    server.restart().expect("the server starts again");
    load.more(60).await;
    let acknowledged = load.end().await;
    assert_kept(&node, &acknowledged).await;
}

/// Statements that wait for a lock.
const WAITING: &str =
    "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";

/// Each of these needs a connection.
async fn assert_works(node: &Store) {
    let job = created_one(node, a_job("so1")).await;
    node.heartbeat().await.unwrap();
    node.now().await.unwrap();
    assert_eq!(node.api_keys().await.unwrap(), []);
    assert_eq!(node.job(job.id()).await.unwrap().unwrap().id(), job.id());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_listings_delay_no_batch_no_heartbeat_and_no_key() {
    let url = stores::a_database().await;
    let node = connect(&url).await;
    let (blocking, driver) = stores::client(&url).await;
    blocking.batch_execute("begin; lock table dead_letters in access exclusive mode").await.unwrap();
    let listings: Vec<_> = (0..8)
        .map(|_| {
            let node = node.clone();
            let page = Page { before: None, limit: 9 };
            tokio::spawn(async move { node.dead_letters(DeadLetterFilter::default(), page).await })
        })
        .collect();
    until("the listings wait", async || (ask(&url, WAITING).await.len() >= 4).then_some(())).await;
    assert_works(&node).await;
    assert!(!ask(&url, WAITING).await.is_empty(), "the listings still wait");
    // The database ends them.
    for listing in listings {
        let listed = listing.await.unwrap();
        assert!(matches!(&listed, Err(StoreError::Unavailable(_))), "{listed:?}");
    }
    assert_eq!(ask(&url, WAITING).await.len(), 0);
    drop(blocking);
    driver.await.unwrap().ok();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_reads_of_refusals_and_telemetry_delay_no_batch_no_heartbeat_and_no_follower() {
    let url = stores::a_database().await;
    let node = connect(&url).await;
    for table in ["intake_records", "telemetry", "statistics", "workers"] {
        let (blocking, driver) = stores::client(&url).await;
        blocking.batch_execute(&format!("begin; lock table {table} in access exclusive mode")).await.unwrap();
        let reads: Vec<_> = (0..8)
            .map(|_| {
                let node = node.clone();
                tokio::spawn(async move {
                    match table {
                        "intake_records" => node.refusals(None, None, 9).await.map(drop),
                        "telemetry" => node.last_telemetry(an_id(), 9).await.map(drop),
                        "statistics" => {
                            let series = tenure_core::statistics::Series::All;
                            let resolution = tenure_core::statistics::Resolution::Minute;
                            node.statistics(resolution, series, Timestamp(0), Timestamp(1)).await.map(drop)
                        }
                        _ => node.workers().await.map(drop),
                    }
                })
            })
            .collect();
        until("the reads wait", async || (ask(&url, WAITING).await.len() >= 4).then_some(())).await;
        assert_works(&node).await;
        // The statement of the journal also reads the records of the intake.
        if table != "intake_records" {
            assert!(!node.events(Position(0), 9).await.unwrap().is_empty());
        }
        assert!(!ask(&url, WAITING).await.is_empty(), "the reads still wait");
        blocking.batch_execute("rollback").await.unwrap();
        for read in reads {
            read.await.unwrap().ok();
        }
        drop(blocking);
        driver.await.unwrap().ok();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_reads_of_the_journal_and_the_intake_delay_no_batch_no_heartbeat_and_no_key() {
    let url = stores::a_database().await;
    let node = connect(&url).await;
    let (blocking, driver) = stores::client(&url).await;
    // The reads of the journal need this table, and the intake the other one.
    blocking
        .batch_execute("begin; lock table intake_records, intake in access exclusive mode")
        .await
        .unwrap();
    let mut reads = Vec::new();
    for _ in 0..4 {
        let (follower, intake) = (node.clone(), node.clone());
        reads.push(tokio::spawn(async move { follower.events(Position(0), 9).await.map(drop) }));
        reads.push(tokio::spawn(async move {
            intake.intake(tenure_store::IntakeCursor::default()).await.map(drop)
        }));
    }
    until("the reads wait", async || (ask(&url, WAITING).await.len() >= 3).then_some(())).await;
    assert_works(&node).await;
    assert_eq!(node.list(JobFilter::default(), Page { before: None, limit: 9 }).await.unwrap().len(), 1);
    assert!(!ask(&url, WAITING).await.is_empty(), "the reads still wait");
    blocking.batch_execute("rollback").await.unwrap();
    for read in reads {
        read.await.unwrap().ok();
    }
    drop(blocking);
    driver.await.unwrap().ok();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn time_continues_after_the_clock_of_the_database_was_set_back() {
    let url = stores::a_database().await;
    let (one_node, other_node) = (connect(&url).await, connect(&url).await);
    let start = one_node.now().await.unwrap();
    // As if the last heartbeat had been written while the clock was an hour ahead.
    ask(&url, "update clock set alive_at = alive_at + 3600000").await;
    let ahead = one_node.now().await.unwrap();
    assert!(ahead.at.0 > start.at.0 + 3_500_000);
    let last = until("both clocks move", async || {
        one_node.heartbeat().await.unwrap();
        let one_time = one_node.now().await.unwrap();
        other_node.heartbeat().await.unwrap();
        let other_time = other_node.now().await.unwrap();
        assert!(ahead.at <= one_time.at && one_time.at <= other_time.at, "never backwards");
        Some(other_time).filter(|time| time.at.0 > ahead.at.0 + 300)
    })
    .await;
    let passed = "select (extract(epoch from clock_timestamp()) * 1000)::bigint";
    let wall: i64 = ask(&url, passed).await[0][0].as_deref().unwrap().parse().unwrap();
    let (stored, true_time) = (last.at.0 - ahead.at.0, wall - start.at.0);
    assert!(stored < true_time, "slower than the database's clock: {stored} of {true_time}");
    assert_eq!(last.stopped, start.stopped);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_in_use_passes_verify() {
    let url = stores::a_database().await;
    let (one_node, other_node) = (connect(&url).await, connect(&url).await);
    let load = Load::start(&[one_node.clone(), other_node]);
    for _ in 0..20 {
        load.more(20).await;
        assert_lawful(&one_node).await;
    }
    let acknowledged = load.end().await;
    assert_kept(&one_node, &acknowledged).await;
}
