//! Short forms of `cargo xtask torture` that need no root.

use std::time::Duration;

use tenure_e2e::Store;
use tenure_e2e::torture::{Fault, Plan, Until, Victim, run};

async fn survive(fault: Fault, store: Store, faults: usize) {
    run(Plan::new(fault, store, Until::Faults(faults))).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_or_doubled_by_25_kills_of_the_embedded_server_and_workers() {
    survive(Fault::Kill, Store::Sqlite, 25).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_or_doubled_by_25_kills_of_nodes_and_workers() {
    survive(Fault::Kill, Store::Postgres, 25).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_or_doubled_while_nodes_workers_and_the_database_freeze() {
    survive(Fault::Freeze, Store::Postgres, 5).await;
}

/// The time until the first write depends on the machine and is measured by `cargo xtask torture freeze --only database`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_stay_up_and_write_again_after_a_freeze_of_the_database() {
    let plan = Plan::new(Fault::Freeze, Store::Postgres, Until::Faults(1));
    let (hold, only) = (Some(Duration::from_secs(12)), Some(Victim::Database));
    let survived = run(Plan { hold, only, ..plan }).await;
    assert_eq!(survived.measured.len(), 1, "the time until the first write is measured: {survived:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_or_doubled_when_a_standby_replaces_the_killed_primary() {
    survive(Fault::Failover, Store::Postgres, 1).await;
}

/// The check can fail: a standby that missed commits loses acknowledged work.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[should_panic(expected = "lost")]
async fn a_failover_to_a_standby_that_is_behind_loses_work() {
    let plan = Plan::new(Fault::Failover, Store::Postgres, Until::Faults(1));
    run(Plan { without_sync: true, ..plan }).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_or_doubled_while_the_network_loses_answers() {
    for store in Store::ALL {
        survive(Fault::Network, store, 20).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_or_doubled_while_the_disk_is_full_or_fails_to_sync() {
    survive(Fault::Disk, Store::Sqlite, 6).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_synced_files_are_needed_after_a_power_cut() {
    survive(Fault::Power, Store::Sqlite, 10).await;
}

/// The check can fail: without syncs, a power cut loses acknowledged jobs.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[should_panic(expected = "lost")]
async fn a_power_cut_loses_jobs_of_a_store_that_does_not_sync() {
    let plan = Plan::new(Fault::Power, Store::Sqlite, Until::Faults(1));
    run(Plan { without_sync: true, ..plan }).await;
}

/// The share that is finished depends on the machine and is measured by `cargo xtask torture overload`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_overloaded_server_refuses_creations_and_no_heartbeat_or_report() {
    let span = Duration::from_secs(4);
    let survived = run(Plan::new(Fault::Overload, Store::Sqlite, Until::Elapsed(span))).await;
    let missed: Vec<&String> =
        survived.missed.iter().filter(|sentence| !sentence.contains("goodput")).collect();
    assert!(missed.is_empty(), "{survived:?}");
}
