//! Tokens for the stream of one job, also as an attacker uses them.

use serde_json::{Value, json};
use tenure_e2e::*;

use crate::roles::create_keys;
use crate::roles::tokens::{Issuer, with_issuer};

/// The token that a key gets for the stream of a job.
async fn token_of(server: &Server, key: &str, job: &Value) -> String {
    let created = server.post_as(key, &path(job, "stream-token"), &json!({})).await.expect(201);
    assert_field_names(&created, "token expires_at");
    created["token"].as_str().unwrap().to_owned()
}

fn with_token(job: &Value, token: &str) -> String {
    format!("{}?token={token}", path(job, "stream"))
}

/// Whether a token opens the stream of a job.
async fn opens(server: &Server, job: &Value, token: &str) -> bool {
    let response = server.request("GET", &with_token(job, token)).open().await;
    let status = response.status().as_u16();
    assert!([200, 401].contains(&status), "{status}");
    status == 200
}

async fn refused(server: &Server, path: &str) {
    let reply = server.get(path).await;
    assert!([400, 401].contains(&reply.status), "{path}: {} {}", reply.status, reply.text);
}

#[test]
fn a_token_opens_the_stream_of_its_job_without_a_header() {
    on_both_stores(async |mut server| {
        let [producer, worker, _, viewer, _] = create_keys(&mut server).await;
        let job = server.create(json!({ "type": "a", "user_id": "u1" })).await;
        let others = server.create(json!({ "type": "a", "user_id": "u2" })).await;
        server.call_ok(&job, "logs", &json!({ "lines": [{ "text": "one" }] })).await;
        // Only a caller that may read the job gets a token.
        let ask =
            async |key: &str, job: &Value| server.post_as(key, &path(job, "stream-token"), &json!({})).await;
        ask(&producer, &others).await.problem(403, "forbidden");
        ask(&worker, &job).await.problem(403, "forbidden");
        ask(&producer, &json!({ "id": "01990c3a-7d2e-7000-8000-000000000000" }))
            .await
            .problem(404, "not_found");
        let tokens = [token_of(&server, &producer, &job).await, token_of(&server, &viewer, &job).await];
        assert_ne!(tokens[0], tokens[1]);
        server.use_key(None);
        server.post(&path(&job, "stream-token"), &json!({})).await.problem(401, "unauthenticated");
        for token in &tokens {
            let mut stream = server.stream(&with_token(&job, token), None).await;
            assert_eq!(stream.next().await.expect("the first line").data["text"], "one");
            // For its reconnects, too.
            let _again = server.stream(&with_token(&job, token), Some("1")).await;
        }
        server.use_key(Some(&producer));
        server.call_ok(&job, "cancel", &json!({})).await;
        server.use_key(None);
        let events = server.stream(&with_token(&job, &tokens[0]), Some("1")).await.rest().await;
        assert_eq!((events.len(), &events[0].data["state"]), (1, &json!("cancelled")));
        let seen = server.request("GET", &with_token(&job, &tokens[0])).header("last-event-id", "final");
        assert_eq!(seen.send().await.status, 204, "a browser stops reconnecting");
    });
}

#[test]
fn a_token_is_of_no_use_for_anything_else() {
    on_both_stores(async |mut server| {
        let [.., admin] = create_keys(&mut server).await;
        let job = server.create(json!({ "type": "a" })).await;
        let other = server.create(json!({ "type": "a" })).await;
        let token = token_of(&server, &admin, &job).await;
        server.use_key(None);
        assert!(opens(&server, &job, &token).await);
        // Another job, and a changed token.
        assert!(!opens(&server, &other, &token).await);
        let last = token.chars().last().unwrap();
        let changed = format!("{}{}", &token[..token.len() - 1], if last == '0' { '1' } else { '0' });
        let secret = token.strip_prefix("tns_").unwrap();
        let digest = |text: &str| {
            let digest = ring::digest::digest(&ring::digest::SHA256, text.as_bytes());
            digest.as_ref().iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
        };
        let stored = digest(&token);
        let upper = token.to_uppercase();
        let row = format!("stream:{stored}");
        let texts = [changed.as_str(), secret, &upper, &stored, &row, &admin, "", "%00", "x%27--"];
        for bad in texts {
            assert!(!opens(&server, &job, bad).await, "{bad}");
        }
        let twice = format!("{}&token={token}", with_token(&job, &changed));
        refused(&server, &twice).await;
        // Another route, by the query, by the header, and as a cookie.
        let routes = ["", "/logs", "/events", "/explain", "/replay", "/assets"];
        let mut routes: Vec<String> =
            routes.iter().map(|route| format!("/api/jobs/{}{route}", id(&job))).collect();
        routes.extend(
            ["/api/jobs", "/api/events", "/api/stats", "/api/keys", "/api/workers"].map(str::to_owned),
        );
        for route in &routes {
            refused(&server, &format!("{route}?token={token}")).await;
            server.get_as(&token, route).await.problem(401, "unauthenticated");
        }
        server.get_as(&token, &path(&job, "stream")).await.problem(401, "unauthenticated");
        for value in [token.clone(), format!("stream:{token}"), stored] {
            for name in ["tenure_session", "tenure_key"] {
                let cookie = format!("{name}={value}");
                let page = server.request("GET", "/ui/jobs").header("accept", "application/json");
                let page = page.header("cookie", &cookie).send().await;
                assert!(!page.text.contains(id(&job)), "{cookie}");
            }
        }
        // A change, under the token: not even of its job.
        for call in ["cancel", "logs", "stream-token", "retry"] {
            let reply = server.post(&format!("{}?token={token}", path(&job, call)), &json!({})).await;
            assert_eq!(reply.status, 401, "{call}: {}", reply.text);
        }
        server.use_key(Some(&admin));
        assert_eq!(server.job(&job).await["state"], "queued");
    });
}

#[test]
fn a_token_ends_with_the_key_that_asked_for_it() {
    on_both_stores(async |mut server| {
        let admin = server.use_admin_key().await;
        let job = server.create(json!({ "type": "a" })).await;
        let viewer = server.create_key("viewer", None).await;
        let brief = server.post("/api/keys", &json!({ "role": "viewer", "ttl": "3s" })).await.expect(201);
        let token = token_of(&server, &viewer, &job).await;
        let of_brief = token_of(&server, brief["key"].as_str().unwrap(), &job).await;
        let of_admin = token_of(&server, &admin, &job).await;
        server.use_key(None);
        let stream = server.stream(&with_token(&job, &token), None).await;
        let expiring = server.stream(&with_token(&job, &of_brief), None).await;
        server.use_key(Some(&admin));
        server.revoke(&viewer).await;
        assert!(!opens(&server, &job, &token).await);
        assert_eq!((stream.rest().await, expiring.rest().await), (vec![], vec![]), "both streams end");
        assert!(!opens(&server, &job, &of_brief).await, "its key has expired");
        assert!(opens(&server, &job, &of_admin).await);
        // The token counts, not the header beside it.
        server
            .request("GET", &with_token(&job, &token))
            .key(&admin)
            .send()
            .await
            .problem(401, "unauthenticated");
    });
}

#[test]
fn a_token_ends_with_the_jwt_that_asked_for_it() {
    let issuer = Issuer::new();
    on_both_stores_with_setup(with_issuer(&issuer), async |server| {
        let admin = issuer.token(&json!({}));
        let created = server.post_as(&admin, "/api/jobs", &json!({ "type": "a", "user_id": "u1" })).await;
        let job = created.expect(202);
        let user = json!({ "role": "producer", "sub": "u1" });
        let lasting = token_of(&server, &issuer.token(&user), &job).await;
        let brief = issuer.token(&json!({ "role": "producer", "sub": "u1", "exp": 3 }));
        let brief = token_of(&server, &brief, &job).await;
        let stream = server.stream(&with_token(&job, &brief), None).await;
        assert_eq!(stream.rest().await, []);
        assert!(!opens(&server, &job, &brief).await);
        assert!(opens(&server, &job, &lasting).await);
    });
}

#[tokio::test]
async fn a_token_is_valid_on_every_node_until_its_key_is_revoked() {
    let mut one = Server::postgres().await;
    one.use_admin_key().await;
    let two = one.second_node().await;
    let viewer = one.create_key("viewer", None).await;
    let job = one.create(json!({ "type": "a" })).await;
    let token = token_of(&one, &viewer, &job).await;
    let stream = two.stream(&with_token(&job, &token), None).await;
    one.revoke(&viewer).await;
    assert!(!opens(&two, &job, &token).await);
    assert_eq!(stream.rest().await, []);
}

#[test]
fn a_token_of_an_open_server_ends_when_the_server_is_closed() {
    on_both_stores(async |mut server| {
        let job = server.create(json!({ "type": "a" })).await;
        let created = server.call(&job, "stream-token", &json!({})).await.expect(201);
        let token = created["token"].as_str().unwrap().to_owned();
        assert!(opens(&server, &job, &token).await);
        assert!(
            !opens(&server, &job, "tns_0").await,
            "a wrong token is refused, so that a mistake is seen early"
        );
        let stream = server.stream(&with_token(&job, &token), None).await;
        server.use_admin_key().await;
        assert_eq!(stream.rest().await, []);
        assert!(!opens(&server, &job, &token).await);
    });
}

#[test]
fn a_lifecycle_api_has_tokens_for_its_jobs() {
    on_both_stores(async |mut server| {
        let admin = server.use_admin_key().await;
        let asked = json!({ "action": "workflow", "input": { "n": 1 } });
        let job = server.post("/so1/api/jobs", &asked).await.expect(202);
        let stream = format!("/so1/api/jobs/{}/stream", id(&job));
        let created = server.post(&format!("{stream}-token"), &json!({})).await.expect(201);
        let token = created["token"].as_str().unwrap().to_owned();
        let other = server.create(json!({ "type": "a" })).await;
        let of_other = token_of(&server, &admin, &other).await;
        server.use_key(None);
        let _open = server.stream(&format!("{stream}?token={token}"), None).await;
        server.get(&format!("{stream}?token={of_other}")).await.problem(401, "unauthenticated");
        let elsewhere = format!("/so1/api/jobs/{}/stream?token={of_other}", id(&other));
        server.get(&elsewhere).await.problem(404, "not_found");
    });
}

#[tokio::test]
async fn no_log_has_a_token() {
    let mut server = Server::with("[log]\nfilter = \"trace\"\n", Store::Sqlite).await;
    let admin = server.use_admin_key().await;
    let job = server.create(json!({ "type": "a" })).await;
    let token = token_of(&server, &admin, &job).await;
    assert!(opens(&server, &job, &token).await);
    let other = server.create(json!({ "type": "a" })).await;
    let refusal = server.get(&with_token(&other, &token)).await;
    let secret = token.strip_prefix("tns_").unwrap();
    assert!(!refusal.text.contains(secret), "{}", refusal.text);
    server.terminate().await;
    let logs = server.logs();
    assert!(logs.contains("TRACE"), "the filter is in force");
    assert!(!logs.contains(secret), "the log has a token");
}
