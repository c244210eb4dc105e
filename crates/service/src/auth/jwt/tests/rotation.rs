//! The issuer's keys change: in a file, and behind a URL.

use std::fs::{File, remove_file};
use std::sync::Arc;
use std::time::Duration;

use super::site::Site;
use super::source::{Pace, UrlSource};
use super::*;

const LONG: Duration = Duration::from_hours(1);
/// Only what is unknown is fetched, and that as often as it is asked for.
const EAGER: Pace = Pace { refresh: LONG, apart: Duration::ZERO, apart_without_keys: Duration::ZERO };

fn fetching(url: &str, pace: Pace) -> Jwt {
    let settings = settings(url);
    let allowed: Vec<Algorithm> = verifier::ALGORITHMS.iter().map(|(_, algorithm)| *algorithm).collect();
    verifier::install();
    let source = KeySource::Url(Arc::new(UrlSource::open(url, &allowed, pace).unwrap()));
    Jwt { settings, allowed, source }
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
    let ((old, old_keys), (new, new_keys)) =
        (signed_by(&Issuer::new(), "old"), signed_by(&Issuer::new(), "new"));
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
    assert!(jwt.verify(&new).await.is_ok(), "what cannot be read changes nothing");
    write(&old_keys, 10);
    assert!(jwt.verify(&old).await.is_ok());
    remove_file(file.path()).unwrap();
    assert!(jwt.verify(&old).await.is_ok(), "nor does what is not there");
}

#[tokio::test]
async fn a_url_is_fetched_at_first_use_and_then_kept() {
    let issuer = Issuer::new();
    let site = Site::open(&issuer.jwks()).await;
    let jwt = Jwt::open(settings(&site.url)).unwrap();
    assert_eq!(site.visits(), 0);
    for (algorithm, _) in verifier::ALGORITHMS {
        assert!(jwt.verify(&issuer.sign(algorithm, &claims(&json!({})))).await.is_ok(), "{algorithm}");
    }
    assert_eq!(site.visits(), 1);
}

#[tokio::test]
async fn an_unknown_kid_is_looked_for_but_not_more_than_once_a_minute() {
    let issuer = Issuer::new();
    let site = Site::open(&issuer.jwks()).await;
    let jwt = Jwt::open(settings(&site.url)).unwrap();
    let (stranger, _) = signed_by(&issuer, "stranger");
    let (good, many) = (issuer.sign("ES256", &claims(&json!({}))), 100);
    assert!(jwt.verify(&good).await.is_ok());
    for _ in 0..many {
        assert_eq!(jwt.verify(&stranger).await, Err(JwtFlaw::UnknownKey));
    }
    assert_eq!(site.visits(), 1, "the first fetch was less than a minute ago");
    assert!(jwt.verify(&good).await.is_ok());
}

#[tokio::test]
async fn a_new_key_is_found_and_the_old_one_forgotten() {
    let ((old, old_keys), (new, new_keys)) =
        (signed_by(&Issuer::new(), "old"), signed_by(&Issuer::new(), "new"));
    let site = Site::open(&old_keys).await;
    let jwt = fetching(&site.url, EAGER);
    assert!(jwt.verify(&old).await.is_ok());
    assert_eq!(jwt.verify(&new).await, Err(JwtFlaw::UnknownKey));
    site.show(&new_keys);
    assert!(jwt.verify(&new).await.is_ok());
    assert_eq!(jwt.verify(&old).await, Err(JwtFlaw::UnknownKey));
}

#[tokio::test]
async fn a_key_that_the_issuer_withdrew_is_forgotten_in_time() {
    let ((old, old_keys), (_, new_keys)) =
        (signed_by(&Issuer::new(), "old"), signed_by(&Issuer::new(), "new"));
    let site = Site::open(&old_keys).await;
    let jwt = fetching(&site.url, Pace { refresh: Duration::ZERO, ..EAGER });
    assert!(jwt.verify(&old).await.is_ok());
    site.show(&new_keys);
    assert_eq!(jwt.verify(&old).await, Err(JwtFlaw::UnknownKey), "it was known, but not fresh");
}

#[tokio::test]
async fn an_issuer_that_is_down_locks_out_nobody_whose_key_is_known() {
    let (good, keys) = signed_by(&Issuer::new(), "k");
    let site = Site::open(&keys).await;
    let jwt = fetching(&site.url, Pace { refresh: Duration::ZERO, ..EAGER });
    assert!(jwt.verify(&good).await.is_ok());
    for page in bad_pages(&keys) {
        site.answer(page.clone());
        assert!(jwt.verify(&good).await.is_ok(), "{page:.40}");
    }
}

#[tokio::test]
async fn keys_that_never_came_are_our_trouble_not_the_callers() {
    let (good, keys) = signed_by(&Issuer::new(), "k");
    let elsewhere = Site::open(&keys).await;
    let site = Site::open("").await;
    let jwt = fetching(&site.url, EAGER);
    for page in bad_pages(&keys) {
        site.answer(page.clone());
        let verified = jwt.verify(&good).await;
        assert!(matches!(verified, Err(JwtFlaw::KeysUnavailable(_))), "{page:.40}: {verified:?}");
    }
    site.answer(format!("HTTP/1.1 302 Found\r\nlocation: {}\r\ncontent-length: 0\r\n\r\n", elsewhere.url));
    assert!(matches!(jwt.verify(&good).await, Err(JwtFlaw::KeysUnavailable(_))));
    assert_eq!(elsewhere.visits(), 0, "a redirect is not followed");
    site.show(&keys);
    assert!(jwt.verify(&good).await.is_ok());
}

#[tokio::test]
async fn many_who_ask_at_once_share_one_fetch() {
    let (good, keys) = signed_by(&Issuer::new(), "k");
    let site = Site::open(&keys).await;
    let jwt = Arc::new(fetching(&site.url, Pace { apart_without_keys: LONG, apart: LONG, ..EAGER }));
    let asking: Vec<_> = (0..50)
        .map(|_| {
            let (jwt, good) = (Arc::clone(&jwt), good.clone());
            tokio::spawn(async move { jwt.verify(&good).await.is_ok() })
        })
        .collect();
    for one in asking {
        assert!(one.await.unwrap());
    }
    assert_eq!(site.visits(), 1);
}

#[tokio::test]
async fn a_caller_who_goes_away_does_not_stop_the_fetch() {
    let (good, keys) = signed_by(&Issuer::new(), "k");
    let site = Site::open(&keys).await;
    let jwt = fetching(&site.url, Pace { apart_without_keys: LONG, apart: LONG, ..EAGER });
    {
        let mut impatient = Box::pin(jwt.verify(&good));
        assert!(futures_are_pending(&mut impatient).await);
    }
    assert!(jwt.verify(&good).await.is_ok(), "the fetch that was begun went on");
    assert_eq!(site.visits(), 1);
}

/// Polls once.
async fn futures_are_pending(future: &mut (impl Future + Unpin)) -> bool {
    std::future::poll_fn(|context| {
        let polled = std::pin::Pin::new(&mut *future).poll(context);
        std::task::Poll::Ready(polled.is_pending())
    })
    .await
}

fn bad_pages(keys: &str) -> Vec<String> {
    let page = |status: &str, body: &str| {
        format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len())
    };
    vec![
        page("500 Internal Server Error", keys),
        page("404 Not Found", keys),
        page("204 No Content", ""),
        page("200 OK", "<html>"),
        page("200 OK", r#"{"keys":[]}"#),
        page("200 OK", &format!("{}{keys}", " ".repeat(64 * 1024))),
        "HTTP/1.1 200 OK\r\ncontent-length: 900\r\nconnection: close\r\n\r\n{".into(),
        "gibberish\r\n\r\n".into(),
        String::new(),
    ]
}
