//! Keys, roles and tokens.

mod access;
mod credentials;
mod revocation;
mod routes;
mod scopes;
pub(crate) mod tokens;
mod visibility;

use serde_json::{Value, json};
use tenure_e2e::{
    Server, Store, assert_field_names, assert_fields, eventually, find, on_both_stores, path, rows,
};

const UNKNOWN_ID: &str = "01990c3a-7d2e-7000-8000-000000000000";

const ROLES: [&str; 5] = ["producer", "worker", "operator", "viewer", "admin"];

/// Creates a key per role, in the order of [`ROLES`]; the producer's user is `u1`. The server's key is the admin's from now
/// on.
pub(crate) async fn create_keys(server: &mut Server) -> [String; 5] {
    let admin = server.use_admin_key().await;
    let producer = server.create_key("producer", Some("u1")).await;
    let worker = server.create_key("worker", None).await;
    let operator = server.create_key("operator", None).await;
    let viewer = server.create_key("viewer", None).await;
    [producer, worker, operator, viewer, admin]
}

#[test]
fn the_first_key_must_be_an_admin_key_and_closes_the_server() {
    on_both_stores(async |mut server| {
        for role in ["producer", "worker", "operator", "viewer"] {
            let early = server.post("/api/keys", &json!({ "role": role, "user_id": "u" })).await;
            assert!((400..500).contains(&early.status), "{role}: {}", early.text);
        }
        assert_eq!(server.read("/api/keys").await["keys"], json!([]), "the server is open");
        let created = server.post("/api/keys", &json!({ "role": "admin" })).await.expect(201);
        let key = created["key"].as_str().unwrap().to_owned();

        let closed = server.get("/api/jobs").await;
        let challenge = closed.header("www-authenticate").map(str::to_owned);
        assert!(challenge.is_some_and(|value| value.starts_with("Bearer")));
        closed.problem(401, "unauthenticated");
        for bad in [format!("{key}x"), "nonsense".to_owned(), key[..key.len() - 1].to_owned()] {
            server.get_as(&bad, "/api/jobs").await.problem(401, "unauthenticated");
        }
        let basic = server.request("GET", "/api/jobs").header("authorization", "Basic YTpi");
        basic.send().await.problem(401, "unauthenticated");
        server.read("/healthz").await;
        server.read("/readyz").await;

        server.use_key(Some(&key));
        let page = server.read("/api/keys").await;
        let names = "id role roles name user_id created_at created_by expires_at scopes last_used_at rotated_at \
             earlier_secrets_until revoked_at";
        assert_field_names(&page["keys"][0], names);
        assert!(!page.to_string().contains(&key), "a key is shown once");
        assert_eq!(page["keys"][0]["role"], "admin");
        server.post("/api/keys", &json!({ "role": "king" })).await.problem(400, "malformed");
        let unknown = server.post("/api/keys", &json!({ "role": "producer" })).await;
        assert!((400..500).contains(&unknown.status), "a producer key needs a user: {}", unknown.text);
        assert!(server.column("/api/audit", "action").await.contains(&json!("key_create")));
        // It stays closed across a restart.
        let mut server = server.restart().await;
        server.read("/api/jobs").await;
        server.use_key(None);
        server.get("/api/jobs").await.problem(401, "unauthenticated");
    });
}

#[test]
fn creating_a_key_is_idempotent() {
    on_both_stores(async |mut server| {
        server.use_admin_key().await;
        let ask = async |body: Value| server.post_keyed("k", "/api/keys", &body).await;
        let first = ask(json!({ "role": "viewer" })).await.expect(201);
        let again = ask(json!({ "role": "viewer" })).await.expect_replay();
        assert_eq!((&again["id"], again.get("key")), (&first["id"], None));
        ask(json!({ "role": "operator" })).await.problem(422, "idempotency_mismatch");
        assert_eq!(server.rows("/api/keys").await.len(), 2);
    });
}

#[test]
fn a_revoked_key_is_refused_at_once() {
    on_both_stores(async |mut server| {
        let [_, _, _, viewer, _] = create_keys(&mut server).await;
        let page = server.read("/api/keys").await;
        let row = find(&page["keys"], "role", "viewer");
        server.get_as(&viewer, "/api/jobs").await.expect(200);
        assert!(server.revoke(&viewer).await["revoked_at"].is_string());
        let audit = server.read("/api/audit").await;
        let line = rows(&audit["audit"]).last().unwrap();
        assert_fields(line, json!({ "action": "key_revoke", "reason": row["id"] }));
        server.get_as(&viewer, "/api/jobs").await.problem(401, "unauthenticated");
        server.delete("/api/keys/nothing").await.problem(404, "not_found");
    });
}

#[tokio::test]
async fn a_key_revoked_on_one_node_is_refused_on_the_other() {
    let mut one = Server::postgres().await;
    let two = one.second_node().await;
    one.use_admin_key().await;
    for round in 0..3 {
        let key = one.create_key("viewer", None).await;
        for node in [&one, &two] {
            let accepted = node.get_as(&key, "/api/jobs").await;
            assert_eq!(accepted.status, 200, "round {round}, a new key: {}", accepted.text);
        }
        one.revoke(&key).await;
        for node in [&one, &two] {
            let refused = node.get_as(&key, "/api/jobs").await;
            assert_eq!(refused.status, 401, "round {round}: {}", refused.text);
        }
    }
}

#[tokio::test]
async fn the_first_key_closes_every_node() {
    let mut one = Server::postgres().await;
    let two = one.second_node().await;
    two.read("/api/jobs").await;
    let admin = one.create_key("admin", None).await;
    two.get("/api/jobs").await.problem(401, "unauthenticated");
    two.get_as(&admin, "/api/jobs").await.expect(200);
    one.use_key(Some(&admin));
    one.read("/api/jobs").await;
}

#[tokio::test]
async fn failed_authentication_is_rate_limited_without_blocking_others() {
    let mut server = Server::sqlite().await;
    let admin = server.create_key("admin", None).await;
    server.use_key(Some("nonsense"));
    let mut statuses = Vec::new();
    for _ in 0..200 {
        // The address is that of the connection.
        let elsewhere = format!("10.0.0.{}", statuses.len());
        let reply = server.request("GET", "/api/jobs").header("x-forwarded-for", &elsewhere);
        let reply = reply.header("forwarded", &format!("for={elsewhere}")).send().await;
        statuses.push(reply.status);
        if reply.status == 429 {
            let wait: u32 = reply.header("retry-after").unwrap().parse().unwrap();
            assert!(wait > 0);
            reply.problem(429, "rate_limited");
            break;
        }
    }
    assert_eq!(statuses.pop(), Some(429));
    assert!(statuses.iter().all(|status| *status == 401));
    server.get_as(&admin, "/api/jobs").await.expect(200);
}

#[test]
fn streams_end_when_their_key_is_revoked() {
    on_both_stores(async |mut server| {
        let [_, _, _, viewer, admin] = create_keys(&mut server).await;
        let job = server.create(json!({ "type": "a" })).await;
        server.use_key(Some(&viewer));
        let mut feed = server.stream("/api/events", None).await;
        feed.next().await.expect("the creation");
        let mut log = server.stream(&path(&job, "stream"), None).await;
        server.use_key(Some(&admin));
        server.revoke(&viewer).await;
        server.call_ok(&job, "logs", &json!({ "lines": [{ "text": "secret" }] })).await;
        server.create(json!({ "type": "secret" })).await;
        assert_eq!((feed.next().await, log.next().await), (None, None), "no further events");
    });
}

#[tokio::test]
async fn a_failed_attempt_is_logged_with_the_id_of_the_key_and_no_log_has_a_secret() {
    let mut server = Server::with("[log]\nfilter = \"trace\"\n", Store::Sqlite).await;
    let admin = server.use_admin_key().await;
    let revoked = server.create_key("viewer", None).await;
    server.get_as(&revoked, "/api/jobs").await.expect(200);
    server.revoke(&revoked).await;
    server.get_as(&revoked, "/api/jobs").await.problem(401, "unauthenticated");
    server.get_as("guessed.secret.text", "/api/jobs").await.problem(401, "unauthenticated");
    server.create(json!({ "type": "a", "payload": "confidential" })).await;
    let id = revoked.split('_').nth(1).unwrap();
    let line = format!("key {id}");
    eventually("it is logged", async || {
        let logs = server.logs();
        logs.lines().any(|it| it.contains("authentication failed") && it.contains(&line))
    })
    .await;
    let logs = server.logs();
    for secret in
        [admin.split('_').nth(2).unwrap(), revoked.split('_').nth(2).unwrap(), "guessed", "confidential"]
    {
        assert!(!logs.contains(secret), "{secret} is in the log");
    }
}
