//! What operators come for: what is wrong, why, and what may be done about it.

use serde_json::json;

use crate::harness::{Server, Store};
use crate::story::play;
use crate::town::lively;
use crate::visits::closed;

#[tokio::test]
async fn a_failed_job_is_found_read_and_retried() {
    play("woken_at_night", &lively(Store::Sqlite).await, json!({})).await;
}

#[tokio::test]
async fn a_redriven_dead_letter_moves_on_the_map() {
    for store in [Store::Sqlite, Store::Postgres] {
        play("redrive", &lively(store).await, json!({})).await;
    }
}

#[tokio::test]
async fn a_running_job_is_cancelled() {
    play("cancel", &lively(Store::Sqlite).await, json!({})).await;
}

#[tokio::test]
async fn a_viewer_sees_why_he_may_not() {
    let (server, keys) = closed(lively(Store::Sqlite).await).await;
    play("viewer", &server, keys).await;
}

#[tokio::test]
async fn rows_stay_still_and_many_are_counted_first() {
    play("still_rows", &Server::sqlite().await, json!({})).await;
}

#[tokio::test]
async fn no_mouse_is_needed() {
    play("keyboard", &lively(Store::Sqlite).await, json!({})).await;
}

#[tokio::test]
async fn what_was_said_is_shown_as_it_was_said() {
    play("exact", &Server::sqlite().await, json!({})).await;
}
