//! Every page: nothing on it complains, and everybody can use it.

use serde_json::json;
use tenure_e2e::browser::run_story;
use tenure_e2e::{Server, Store};

use crate::sample_data::busy_server;

#[tokio::test]
async fn every_page_is_for_everybody_in_a_light_room() {
    run_story("every_page", &busy_server(Store::Sqlite).await, json!({ "theme": "light" })).await;
}

#[tokio::test]
async fn every_page_is_for_everybody_in_a_dark_room() {
    run_story("every_page", &busy_server(Store::Postgres).await, json!({ "theme": "dark" })).await;
}

#[tokio::test]
async fn an_empty_server_says_what_would_fill_it() {
    run_story("nothing_yet", &Server::sqlite().await, json!({})).await;
}

#[tokio::test]
async fn without_scripts_everything_is_links_and_forms() {
    run_story("without_scripts", &busy_server(Store::Sqlite).await, json!({})).await;
}

#[tokio::test]
async fn pages_for_programmers_are_quiet() {
    run_story("reference", &Server::sqlite().await, json!({})).await;
}
