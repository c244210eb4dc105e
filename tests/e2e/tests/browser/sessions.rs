//! Signing in, forged requests, and live pages.

use serde_json::{Value, json};
use tenure_e2e::browser::{run_story, run_story_with};
use tenure_e2e::{Server, Setup, Store};

const MAIL: &str = "[types.send]\nlifecycle = \"distributed\"\nqueue = \"mail\"\n";

/// Creates a key for each role.
pub(crate) async fn with_keys(mut server: Server) -> (Server, Value) {
    let mut keys = json!({});
    for role in ["admin", "operator", "viewer"] {
        let key = server.create_key(role, None).await;
        if role == "admin" {
            server.use_key(Some(&key));
        }
        keys[role] = key.into();
    }
    (server, keys)
}

#[tokio::test]
async fn a_session_has_the_rights_of_its_key() {
    for store in Store::ALL {
        let (server, keys) = with_keys(Server::with(MAIL, store).await).await;
        run_story("session", &server, keys).await;
    }
}

#[tokio::test]
async fn cross_site_requests_are_refused() {
    let (server, keys) = with_keys(Server::with(MAIL, Store::Sqlite).await).await;
    run_story("forgery", &server, keys).await;
}

#[tokio::test]
async fn a_page_shows_whether_it_is_live() {
    let setup = Setup::new(Store::Sqlite).await;
    let later = setup.clone();
    let server = setup.start().await;
    server.create(json!({ "type": "a" })).await;
    let (url, address) = (server.url().to_owned(), server.address().to_owned());
    let (mut server, mut later) = (Some(server), Some(later));
    run_story_with("live", &url, json!({}), async |request| match request {
        "kill" => drop(server.take().expect("it runs")),
        "start" => server = Some(later.take().expect("once").start_at(&address).await),
        other => panic!("unknown request: {other}"),
    })
    .await;
}
