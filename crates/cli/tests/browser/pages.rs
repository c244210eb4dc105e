//! Every page: nothing on it complains, and everybody can use it.

use serde_json::json;

use crate::harness::Server;
use crate::story::play;

#[tokio::test]
async fn pages_for_programmers_are_quiet() {
    let server = Server::sqlite().await;
    play("reference", &server, json!({})).await;
}
