//! What operators come for: what is wrong, why, and what may be done about it.

use serde_json::json;
use tenure_e2e::browser::run_story;
use tenure_e2e::{Server, Store};

use crate::sample_data::busy_server;
use crate::sessions::with_keys;

#[tokio::test]
async fn a_failed_job_is_found_read_and_retried() {
    run_story("woken_at_night", &busy_server(Store::Sqlite).await, json!({})).await;
}

#[tokio::test]
async fn a_redriven_dead_letter_moves_on_the_map() {
    for store in [Store::Sqlite, Store::Postgres] {
        run_story("redrive", &busy_server(store).await, json!({})).await;
    }
}

#[tokio::test]
async fn a_running_job_is_cancelled() {
    run_story("cancel", &busy_server(Store::Sqlite).await, json!({})).await;
}

#[tokio::test]
async fn a_viewer_sees_why_he_may_not() {
    let (server, keys) = with_keys(busy_server(Store::Sqlite).await).await;
    run_story("viewer", &server, keys).await;
}

#[tokio::test]
async fn rows_stay_still_and_many_are_counted_first() {
    run_story("still_rows", &Server::sqlite().await, json!({})).await;
}

#[tokio::test]
async fn no_mouse_is_needed() {
    run_story("keyboard", &busy_server(Store::Sqlite).await, json!({})).await;
}

#[tokio::test]
async fn what_was_said_is_shown_as_it_was_said() {
    run_story("exact", &Server::sqlite().await, json!({})).await;
}
