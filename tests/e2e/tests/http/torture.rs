//! Short forms of `cargo xtask torture`.

use tenure_e2e::Store;
use tenure_e2e::torture::{Fault, Until, run};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_or_doubled_by_25_kills_of_the_embedded_server() {
    run(Fault::Kill, Store::Sqlite, Until::Faults(25)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_or_doubled_by_25_kills_of_nodes() {
    run(Fault::Kill, Store::Postgres, Until::Faults(25)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_or_doubled_while_nodes_freeze() {
    run(Fault::Freeze, Store::Postgres, Until::Faults(5)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_or_doubled_while_the_network_loses_answers() {
    for store in Store::ALL {
        run(Fault::Network, store, Until::Faults(20)).await;
    }
}
