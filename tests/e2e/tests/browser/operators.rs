//! What operators do in the dashboard.

use serde_json::json;
use tenure_e2e::browser::run_story;
use tenure_e2e::{Server, Store};

use crate::sample_data::{busy_server, deployed_server};
use crate::sessions::with_keys;

#[tokio::test]
async fn a_failed_job_is_found_read_and_retried() {
    run_story("find_a_failure", &busy_server(Store::Sqlite).await, json!({})).await;
}

#[tokio::test]
async fn questions_are_answered_with_at_most_three_clicks() {
    run_story("questions", &busy_server(Store::Sqlite).await, json!({})).await;
}

#[tokio::test]
async fn what_a_deploy_changed_is_found_with_at_most_three_clicks() {
    for store in Store::ALL {
        run_story("deploy", &deployed_server(store).await, json!({})).await;
    }
}

#[tokio::test]
async fn an_earlier_minute_is_compared_with_now() {
    run_story("time_machine", &Server::sqlite().await, json!({})).await;
}

#[tokio::test]
async fn a_new_lifecycle_version_is_tried() {
    run_story("what_if", &busy_server(Store::Sqlite).await, json!({})).await;
}

#[tokio::test]
async fn a_redriven_dead_letter_moves_on_the_map() {
    for store in Store::ALL {
        run_story("redrive", &busy_server(store).await, json!({})).await;
    }
}

#[tokio::test]
async fn what_matters_on_a_job_page_is_above_the_fold() {
    run_story("job_page", &busy_server(Store::Sqlite).await, json!({})).await;
}

#[tokio::test]
async fn a_running_job_is_cancelled() {
    run_story("cancel", &busy_server(Store::Sqlite).await, json!({})).await;
}

#[tokio::test]
async fn a_viewer_sees_why_actions_are_disabled() {
    let (server, keys) = with_keys(busy_server(Store::Sqlite).await).await;
    run_story("viewer", &server, keys).await;
}

#[tokio::test]
async fn rows_keep_their_place_and_bulk_actions_show_a_count_first() {
    run_story("stable_rows", &Server::sqlite().await, json!({})).await;
}

#[tokio::test]
async fn every_action_works_with_the_keyboard() {
    run_story("keyboard", &busy_server(Store::Sqlite).await, json!({})).await;
}

#[tokio::test]
async fn payloads_and_results_are_shown_exactly() {
    run_story("exact", &Server::sqlite().await, json!({})).await;
}
