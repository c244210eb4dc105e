//! The issuer's keys change: in a file, and behind a URL.

use std::fs::{File, remove_file};
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;

use super::key_server::KeyServer;
use super::source::{FetchIntervals, UrlSource};
use super::*;

const LONG: Duration = Duration::from_hours(1);
/// Every unknown key causes a fetch.
const EAGER: FetchIntervals =
    FetchIntervals { refresh: LONG, min: Duration::ZERO, min_without_keys: Duration::ZERO };

fn fetching(url: &str, intervals: FetchIntervals) -> Jwt {
    let config = settings(url);
    let allowed: Vec<Algorithm> = verifier::ALGORITHMS.iter().map(|(_, algorithm)| *algorithm).collect();
    verifier::install();
    let source = KeySource::Url(Arc::new(UrlSource::open(url, &allowed, intervals).unwrap()));
    Jwt { config, allowed, source }
}

/// A JWT by a key with this `kid`, and the JWKS that has only this key.
fn signed_by(issuer: &Issuer, kid: &str) -> (String, String) {
    let mut key = issuer.keys()[3].clone();
    key["kid"] = json!(kid);
    let token = issuer.sign_as("EdDSA", &json!({ "alg": "EdDSA", "kid": kid }), &claims(&json!({})));
    (token, json!({ "keys": [key] }).to_string())
}

#[tokio::test]
async fn a_changed_file_is_read_again() {
    let [(old, old_keys), (new, new_keys)] = ["old", "new"].map(|kid| signed_by(&Issuer::new(), kid));
    let file = file_of(&old_keys);
    let jwt = Jwt::open(settings(file.path().to_str().unwrap())).unwrap();
    assert!(jwt.verify(&old).await.is_ok());
    assert_eq!(jwt.verify(&new).await, Err(JwtFlaw::UnknownKey));

    let write = |text: &str, age: u64| {
        std::fs::write(file.path(), text).unwrap();
        let changed_at = SystemTime::now() - Duration::from_secs(age);
        File::options().write(true).open(file.path()).unwrap().set_modified(changed_at).unwrap();
    };
    write(&new_keys, 30);
    assert!(jwt.verify(&new).await.is_ok());
    assert_eq!(jwt.verify(&old).await, Err(JwtFlaw::UnknownKey));

    write("half a fi", 20);
    assert!(jwt.verify(&new).await.is_ok(), "an invalid file changes nothing");
    write(&old_keys, 10);
    assert!(jwt.verify(&old).await.is_ok());
    remove_file(file.path()).unwrap();
    assert!(jwt.verify(&old).await.is_ok(), "a missing file changes nothing");
}

#[tokio::test]
async fn a_url_is_fetched_at_first_use_and_cached() {
    let issuer = Issuer::new();
    let server = KeyServer::start(&issuer.jwks()).await;
    let jwt = Jwt::open(settings(&server.url)).unwrap();
    assert_eq!(server.requests(), 0);
    for (algorithm, _) in verifier::ALGORITHMS {
        assert!(jwt.verify(&issuer.sign(algorithm, &claims(&json!({})))).await.is_ok(), "{algorithm}");
    }
    assert_eq!(server.requests(), 1);
}

#[tokio::test]
async fn an_unknown_kid_causes_at_most_one_fetch_a_minute() {
    let issuer = Issuer::new();
    let server = KeyServer::start(&issuer.jwks()).await;
    let jwt = Jwt::open(settings(&server.url)).unwrap();
    let (stranger, _) = signed_by(&issuer, "stranger");
    let (good, many) = (issuer.sign("ES256", &claims(&json!({}))), 100);
    assert!(jwt.verify(&good).await.is_ok());
    for _ in 0..many {
        assert_eq!(jwt.verify(&stranger).await, Err(JwtFlaw::UnknownKey));
    }
    assert_eq!(server.requests(), 1, "the first fetch was less than a minute ago");
    assert!(jwt.verify(&good).await.is_ok());
}

#[tokio::test]
async fn a_new_key_is_found_and_the_old_one_dropped() {
    let [(old, old_keys), (new, new_keys)] = ["old", "new"].map(|kid| signed_by(&Issuer::new(), kid));
    let server = KeyServer::start(&old_keys).await;
    let jwt = fetching(&server.url, EAGER);
    assert!(jwt.verify(&old).await.is_ok());
    assert_eq!(jwt.verify(&new).await, Err(JwtFlaw::UnknownKey));
    server.serve(&new_keys);
    assert!(jwt.verify(&new).await.is_ok());
    assert_eq!(jwt.verify(&old).await, Err(JwtFlaw::UnknownKey));
}

#[tokio::test]
async fn a_withdrawn_key_is_dropped_at_the_next_refresh() {
    let [(old, old_keys), (_, new_keys)] = ["old", "new"].map(|kid| signed_by(&Issuer::new(), kid));
    let server = KeyServer::start(&old_keys).await;
    let jwt = fetching(&server.url, FetchIntervals { refresh: Duration::ZERO, ..EAGER });
    assert!(jwt.verify(&old).await.is_ok());
    server.serve(&new_keys);
    assert_eq!(jwt.verify(&old).await, Err(JwtFlaw::UnknownKey), "the cached key was stale");
}

#[tokio::test]
async fn a_jwks_without_a_usable_key_revokes_the_known_ones() {
    let (good, keys) = signed_by(&Issuer::new(), "k");
    let unusable = json!({ "keys": [{ "kty": "oct", "k": "AAAA" }] }).to_string();
    for none in [r#"{"keys":[]}"#, &unusable] {
        let server = KeyServer::start(&keys).await;
        let jwt = fetching(&server.url, FetchIntervals { refresh: Duration::ZERO, ..EAGER });
        assert!(jwt.verify(&good).await.is_ok());
        server.serve(none);
        assert_eq!(jwt.verify(&good).await, Err(JwtFlaw::UnknownKey), "{none}");
        server.serve(&keys);
        assert!(jwt.verify(&good).await.is_ok());

        let file = file_of(&keys);
        let jwt = Jwt::open(settings(file.path().to_str().unwrap())).unwrap();
        assert!(jwt.verify(&good).await.is_ok());
        std::fs::write(file.path(), none).unwrap();
        assert_eq!(jwt.verify(&good).await, Err(JwtFlaw::UnknownKey), "{none}");
    }
}

#[tokio::test]
async fn an_issuer_outage_does_not_affect_known_keys() {
    let (good, keys) = signed_by(&Issuer::new(), "k");
    let server = KeyServer::start(&keys).await;
    let jwt = fetching(&server.url, FetchIntervals { refresh: Duration::ZERO, ..EAGER });
    assert!(jwt.verify(&good).await.is_ok());
    for response in bad_responses(&keys) {
        server.respond(response.clone());
        assert!(jwt.verify(&good).await.is_ok(), "{response:.40}");
    }
}

#[tokio::test]
async fn unavailable_keys_are_not_the_callers_fault() {
    let (good, keys) = signed_by(&Issuer::new(), "k");
    let elsewhere = KeyServer::start(&keys).await;
    let server = KeyServer::start("").await;
    let jwt = fetching(&server.url, EAGER);
    for response in bad_responses(&keys) {
        server.respond(response.clone());
        let verified = jwt.verify(&good).await;
        assert!(matches!(verified, Err(JwtFlaw::KeysUnavailable(_))), "{response:.40}: {verified:?}");
    }
    server.respond(format!("HTTP/1.1 302 Found\r\nlocation: {}\r\ncontent-length: 0\r\n\r\n", elsewhere.url));
    assert!(matches!(jwt.verify(&good).await, Err(JwtFlaw::KeysUnavailable(_))));
    assert_eq!(elsewhere.requests(), 0, "a redirect is not followed");
    server.serve(&keys);
    assert!(jwt.verify(&good).await.is_ok());
}

#[tokio::test]
async fn concurrent_callers_share_one_fetch() {
    let (good, keys) = signed_by(&Issuer::new(), "k");
    let server = KeyServer::start(&keys).await;
    let jwt = Arc::new(fetching(&server.url, FetchIntervals { min_without_keys: LONG, min: LONG, ..EAGER }));
    let callers: Vec<_> = (0..50)
        .map(|_| {
            let (jwt, good) = (Arc::clone(&jwt), good.clone());
            tokio::spawn(async move { jwt.verify(&good).await.is_ok() })
        })
        .collect();
    for caller in callers {
        assert!(caller.await.unwrap());
    }
    assert_eq!(server.requests(), 1);
}

#[tokio::test]
async fn a_caller_that_disconnects_does_not_stop_the_fetch() {
    let (good, keys) = signed_by(&Issuer::new(), "k");
    let server = KeyServer::start(&keys).await;
    let jwt = fetching(&server.url, FetchIntervals { min_without_keys: LONG, min: LONG, ..EAGER });
    assert!(jwt.verify(&good).now_or_never().is_none());
    assert!(jwt.verify(&good).await.is_ok(), "the first fetch continued");
    assert_eq!(server.requests(), 1);
}

fn bad_responses(keys: &str) -> Vec<String> {
    let response = |status: &str, body: &str| {
        format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len())
    };
    vec![
        response("500 Internal Server Error", keys),
        response("404 Not Found", keys),
        response("204 No Content", ""),
        response("200 OK", "<html>"),
        response("200 OK", &format!("{}{keys}", " ".repeat(64 * 1024))),
        "HTTP/1.1 200 OK\r\ncontent-length: 900\r\nconnection: close\r\n\r\n{".into(),
        "gibberish\r\n\r\n".into(),
        String::new(),
    ]
}
