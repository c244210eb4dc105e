//! Missing, invalid and insufficient credentials.

use std::collections::BTreeMap;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use serde_json::{Value, json};
use tenure_e2e::{Server, Setup, Store, in_time, on_both_stores_with_config};

use super::http::{raw, wire};
use super::{CONFIG, lines, prepare, snapshot};

#[test]
fn invalid_credentials_are_refused() {
    on_both_stores_with_config(CONFIG, async |mut server| {
        let jobs = prepare(&server).await;
        let admin = server.use_admin_key().await;
        let revoked = server.create_key("admin", None).await;
        server.revoke(&revoked).await;
        let before = snapshot(&server, &jobs).await;
        let (other, shorter) = (format!("{}~", &admin[..admin.len() - 1]), &admin[..admin.len() - 9]);
        let mut credentials =
            vec![String::new(), "Authorization: \r\n".into(), format!("Authorization: {admin}\r\n")];
        for value in ["Bearer", "Bearer ", "Bearer a.b.c", &format!("Basic {admin}")] {
            credentials.push(format!("Authorization: {value}\r\n"));
        }
        for key in [
            &admin.replace('_', "-"),
            &other,
            shorter,
            &format!("{admin} {admin}"),
            &revoked,
            &"x".repeat(4000),
        ] {
            credentials.push(format!("Authorization: Bearer {key}\r\n"));
        }
        let mut bodies: Vec<Value> = Vec::new();
        for given in &credentials {
            for line in ["GET /api/jobs", "GET /api/keys", &format!("POST /api/jobs/{}/cancel", jobs.ready)] {
                let (status, head, mut body) = raw(&server, &wire(line, given, "")).await;
                assert_eq!(
                    (status, &body["code"]),
                    (401, &json!("unauthenticated")),
                    "{line} {given} {body}"
                );
                assert!(head.contains("www-authenticate: bearer"), "{head}");
                body["instance"].take();
                bodies.push(body);
            }
        }
        // The answer does not reveal what is wrong with a key: there is one for a missing key and one for any other.
        bodies.sort_by_key(Value::to_string);
        bodies.dedup();
        assert!(bodies.len() <= 2, "{bodies:?}");
        let (status, _, body) =
            raw(&server, &wire(&format!("GET /api/jobs?access_token={admin}"), "", "")).await;
        assert_eq!(
            (status, &body["code"]),
            (401, &json!("unauthenticated")),
            "a key in the URL is not accepted"
        );
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

const JWT: &str = r#"
[auth.jwt]
issuer = "https://issuer.example/"
audience = "tenure"
jwks = "jwks.json"
"#;

fn base64(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Header and claims, to be signed.
fn unsigned(header: &Value, claims: &Value) -> String {
    format!("{}.{}", base64(header.to_string().as_bytes()), base64(claims.to_string().as_bytes()))
}

fn signed(key: &Ed25519KeyPair, header: &Value, claims: &Value) -> String {
    let text = unsigned(header, claims);
    format!("{text}.{}", base64(key.sign(text.as_bytes()).as_ref()))
}

fn claims(change: &Value) -> Value {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    let mut claims = json!({ "iss": "https://issuer.example/", "aud": "tenure", "sub": "ann", "role": "admin", "exp": now + 600 });
    for (name, value) in change.as_object().unwrap() {
        claims[name] = match value.as_i64() {
            Some(seconds) => json!(now.saturating_add_signed(seconds)),
            None => value.clone(),
        };
    }
    claims
}

/// A valid token, invalid tokens, and the key set.
fn tokens() -> (String, Vec<String>, Value) {
    let random = ring::rand::SystemRandom::new();
    let new = || {
        let key = Ed25519KeyPair::generate_pkcs8(&random).unwrap();
        Ed25519KeyPair::from_pkcs8(key.as_ref()).unwrap()
    };
    let (key, stranger) = (new(), new());
    let public = base64(key.public_key().as_ref());
    let jwks = json!({ "keys": [{ "kty": "OKP", "crv": "Ed25519", "kid": "k1", "x": public }] });
    let head = json!({ "alg": "EdDSA", "typ": "JWT", "kid": "k1" });
    let right = claims(&json!({}));
    let good = signed(&key, &head, &right);
    let secret = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, key.public_key().as_ref());
    let shared = unsigned(&json!({ "alg": "HS256", "typ": "JWT", "kid": "k1" }), &right);
    let shared = format!("{shared}.{}", base64(ring::hmac::sign(&secret, shared.as_bytes()).as_ref()));
    let mut bad = vec![
        shared,
        format!("{}.", unsigned(&json!({ "alg": "none", "typ": "JWT" }), &right)),
        signed(&stranger, &head, &right),
        signed(&key, &json!({ "alg": "EdDSA", "kid": "k2" }), &right),
        good[..good.len() - 4].to_owned(),
        "a.b".to_owned(),
        "..".to_owned(),
    ];
    // Numbers are seconds from now.
    for change in [
        json!({ "exp": -600 }),
        json!({ "exp": null }),
        json!({ "exp": "soon" }),
        json!({ "nbf": 600 }),
        json!({ "aud": "other" }),
        json!({ "aud": null }),
        json!({ "iss": "https://issuer.example" }),
        json!({ "iss": null }),
        json!({ "role": "king" }),
        json!({ "role": null }),
        json!({ "role": ["admin"] }),
    ] {
        bad.push(signed(&key, &head, &claims(&change)));
    }
    (good, bad, jwks)
}

#[tokio::test]
async fn invalid_tokens_are_refused() {
    let (good, bad, jwks) = tokens();
    for store in Store::ALL {
        let setup = Setup::new(store).await.config(JWT).file("jwks.json", jwks.to_string());
        let server = setup.start().await;
        server.get_as(&good, "/api/jobs").await.expect(200);
        for token in &bad {
            let reply = server.get_as(token, "/api/jobs").await;
            reply.problem(401, "unauthenticated");
        }
        server.get_as(&good, "/api/jobs").await.expect(200);
        server.get("/api/jobs").await.problem(401, "unauthenticated");
    }
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
