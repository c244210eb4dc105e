//! Missing, invalid and insufficient credentials.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};
use tenure_e2e::{Server, in_time, on_both_stores_with_config, on_both_stores_with_setup};

use super::http::{raw, wire};
use super::{CONFIG, lines, prepare, snapshot};
use crate::roles::tokens::{Issuer, with_issuer};

#[test]
fn invalid_credentials_are_refused() {
    on_both_stores_with_config(CONFIG, async |mut server| {
        let jobs = prepare(&server).await;
        let admin = server.use_admin_key().await;
        let revoked = server.create_key("admin", None).await;
        server.revoke(&revoked).await;
        let before = snapshot(&server, &jobs).await;
        let (other, shorter) = (format!("{}~", &admin[..admin.len() - 1]), &admin[..admin.len() - 9]);
        let (dashes, twice, long) = (admin.replace('_', "-"), format!("{admin} {admin}"), "x".repeat(4000));
        let mut values = ["", &admin, "Bearer", "Bearer ", "Bearer a.b.c"].map(str::to_owned).to_vec();
        values.push(format!("Basic {admin}"));
        values.extend([&dashes, &other, shorter, &twice, &revoked, &long].map(|key| format!("Bearer {key}")));
        let headers = values.iter().map(|value| format!("Authorization: {value}\r\n"));
        let credentials: Vec<String> = headers.chain([String::new()]).collect();
        let mut bodies: Vec<Value> = Vec::new();
        for given in &credentials {
            for line in ["GET /api/jobs", "GET /api/keys", &format!("POST /api/jobs/{}/cancel", jobs.ready)] {
                let (status, head, mut body) = raw(&server, &wire(line, given, "")).await;
                let is_refused = status == 401 && body["code"] == "unauthenticated";
                assert!(is_refused, "{line} {given} {status} {body}");
                assert!(head.contains("www-authenticate: bearer"), "{head}");
                body["instance"].take();
                bodies.push(body);
            }
        }
        // The answer does not reveal what is wrong with a key: there is one for a missing key and one for any other.
        bodies.sort_by_key(Value::to_string);
        bodies.dedup();
        assert!(bodies.len() <= 2, "{bodies:?}");
        let line = format!("GET /api/jobs?access_token={admin}");
        let (status, _, body) = raw(&server, &wire(&line, "", "")).await;
        let is_refused = status == 401 && body["code"] == "unauthenticated";
        assert!(is_refused, "a key in the URL is not accepted: {status} {body}");
        assert_eq!(snapshot(&server, &jobs).await, before);
    });
}

/// A role, and a request that it must not make.
const FORBIDDEN: &str = include_str!("forbidden.txt");

#[test]
fn insufficient_roles_are_refused() {
    on_both_stores_with_config(CONFIG, async |mut server| {
        let jobs = prepare(&server).await;
        server.use_admin_key().await;
        let mut keys = BTreeMap::new();
        for role in ["viewer", "producer", "worker", "operator"] {
            let user = (role == "producer").then_some("u2");
            keys.insert(role, server.create_key(role, user).await);
        }
        let before = snapshot(&server, &jobs).await;
        for line in lines(FORBIDDEN) {
            let line = line.replace("READY", &jobs.ready).replace("HELD", &jobs.held);
            let words: Vec<&str> = line.splitn(4, ' ').collect();
            let request = server.request(words[1], words[2]).key(&keys[words[0]]);
            let request = request.header("content-type", "application/json");
            request.bytes(*words.get(3).unwrap_or(&"")).send().await.problem(403, "forbidden");
        }
        assert_eq!(snapshot(&server, &jobs).await, before);
    });
}

#[test]
fn invalid_tokens_are_refused() {
    let issuer = Issuer::new();
    on_both_stores_with_setup(with_issuer(&issuer), async |server| {
        let good = issuer.token(&json!({}));
        server.get_as(&good, "/api/jobs").await.expect(200);
        for token in issuer.invalid_tokens() {
            server.get_as(&token, "/api/jobs").await.problem(401, "unauthenticated");
        }
        server.get_as(&good, "/api/jobs").await.expect(200);
        server.get("/api/jobs").await.problem(401, "unauthenticated");
    });
}

#[tokio::test]
async fn guessing_keys_is_rate_limited() {
    let mut server = Server::sqlite().await;
    server.use_admin_key().await;
    let guesses = async {
        loop {
            let reply = server.get_as("guess", "/api/jobs").await;
            if reply.status == 429 {
                return reply;
            }
            reply.problem(401, "unauthenticated");
        }
    };
    let reply = in_time("guesses are limited", guesses).await;
    let wait: u64 = reply.header("retry-after").unwrap().parse().unwrap();
    assert!(Duration::from_secs(wait) <= Duration::from_mins(1));
    reply.problem(429, "rate_limited");
    server.read("/api/jobs").await;
}
