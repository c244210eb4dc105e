//! Every page: nothing on it complains, and everybody can use it.

use serde_json::json;

use crate::harness::{Server, Store};
use crate::story::play;
use crate::town::lively;

#[tokio::test]
async fn every_page_is_for_everybody_in_a_light_room() {
    play("every_page", &lively(Store::Sqlite).await, json!({ "theme": "light" })).await;
}

#[tokio::test]
async fn every_page_is_for_everybody_in_a_dark_room() {
    play("every_page", &lively(Store::Postgres).await, json!({ "theme": "dark" })).await;
}

#[tokio::test]
async fn an_empty_server_says_what_would_fill_it() {
    play("nothing_yet", &Server::sqlite().await, json!({})).await;
}

#[tokio::test]
async fn without_scripts_everything_is_links_and_forms() {
    play("without_scripts", &lively(Store::Sqlite).await, json!({})).await;
}

#[tokio::test]
async fn pages_for_programmers_are_quiet() {
    play("reference", &Server::sqlite().await, json!({})).await;
}
