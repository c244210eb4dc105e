//! Every page loads without errors and is accessible.

use serde_json::json;
use tenure_e2e::browser::run_story;
use tenure_e2e::{Server, Store, server_with_past};

use crate::sample_data::busy_server;

#[tokio::test]
async fn every_page_is_accessible_in_the_light_theme() {
    run_story("every_page", &busy_server(Store::Sqlite).await, json!({ "theme": "light" })).await;
}

#[tokio::test]
async fn every_page_is_accessible_in_the_dark_theme() {
    run_story("every_page", &busy_server(Store::Postgres).await, json!({ "theme": "dark" })).await;
}

#[tokio::test]
async fn an_empty_server_suggests_first_steps() {
    run_story("empty_server", &Server::sqlite().await, json!({})).await;
}

#[tokio::test]
async fn every_page_works_without_javascript() {
    run_story("without_scripts", &busy_server(Store::Sqlite).await, json!({})).await;
}

#[tokio::test]
async fn time_ranges_are_chosen_by_links_and_a_form() {
    run_story("time_ranges", &server_with_past(Store::Sqlite).await, json!({})).await;
}

#[tokio::test]
async fn reference_pages_log_no_errors() {
    run_story("reference", &Server::sqlite().await, json!({})).await;
}
