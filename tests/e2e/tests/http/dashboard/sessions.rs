//! Sessions: a cookie without the key, which ends with the key, with signing out and with its time.

use serde_json::json;
use tenure_e2e::{Reply, Server, eventually, http_client, in_time, on_both_stores_with_setup};

use super::{ask, form, on_both_stores_without_redirects, send};
use crate::roles::tokens::{Issuer, with_issuer};

/// Signs in; the cookie as the browser sends it back, and all attributes.
async fn sign_in(server: &Server, key: &str) -> (String, String) {
    let reply = send(server, "/ui/sign-in", &[("key", key), ("to", "/ui/jobs")]).await;
    assert_eq!((reply.status, reply.header("location")), (303, Some("/ui/jobs")), "{}", reply.text);
    let cookie = reply.header("set-cookie").expect("a session").to_owned();
    (cookie.split(';').next().unwrap().to_owned(), cookie)
}

async fn page(server: &Server, cookie: &str) -> Reply {
    server.request("GET", "/ui/jobs").header("accept", "text/html").header("cookie", cookie).send().await
}

/// Whether a page is shown; otherwise the browser is sent to the sign-in page.
async fn is_shown(server: &Server, cookie: &str) -> bool {
    page(server, cookie).await.status == 200
}

#[test]
fn the_cookie_is_a_session_and_not_the_key() {
    on_both_stores_without_redirects(async |mut server| {
        let admin = server.use_admin_key().await;
        let key = server.create_key("viewer", None).await;
        server.use_key(None);
        let (cookie, all) = sign_in(&server, &key).await;
        let secret = key.split('_').nth(2).unwrap();
        assert!(!all.contains(secret), "{all}");
        for attribute in ["HttpOnly", "SameSite=Lax", "Path=/ui"] {
            assert!(all.contains(attribute), "{all}");
        }
        assert!(!all.contains("Secure"), "without TLS a browser would not send it back: {all}");
        assert!(is_shown(&server, &cookie).await);
        // A key in a cookie, as in earlier versions, is not accepted.
        assert!(!is_shown(&server, &format!("tenure_key={key}")).await);
        assert!(!is_shown(&server, &format!("tenure_session={key}")).await);
        assert_ne!(sign_in(&server, &key).await.0, cookie, "each session has its own id");
        // The session does not authenticate calls of the API.
        let call = server.request("GET", "/api/jobs").header("cookie", &cookie).send().await;
        call.problem(401, "unauthenticated");
        server.use_key(Some(&admin));
        server.revoke(&key).await;
        server.use_key(None);
        assert!(!is_shown(&server, &cookie).await, "it ends with its key");
    });
}

#[test]
fn a_cookie_is_secure_if_the_browser_uses_tls() {
    on_both_stores_without_redirects(async |mut server| {
        let key = server.use_admin_key().await;
        server.use_key(None);
        let origin = server.url().replace("http://", "https://");
        let request = server.request("POST", "/ui/sign-in").header("origin", &origin);
        let request = request.header("content-type", "application/x-www-form-urlencoded");
        let reply = request.bytes(format!("key={key}&to=/ui")).send().await;
        let cookie = reply.header("set-cookie").expect("a session");
        assert!(cookie.contains("; Secure"), "{cookie}");
    });
}

#[test]
fn signing_out_ends_the_session_and_its_streams() {
    on_both_stores_without_redirects(async |mut server| {
        let key = server.use_admin_key().await;
        server.use_key(None);
        let (cookie, _) = sign_in(&server, &key).await;
        let (other, _) = sign_in(&server, &key).await;
        let stream = server.request("GET", "/ui/jobs").header("accept", "text/event-stream");
        let mut stream = stream.header("cookie", &cookie).open().await;
        assert_eq!(stream.status(), 200);
        let out = form(&server, "/ui/sign-out", "").header("cookie", &cookie).send().await;
        assert_eq!((out.status, out.header("location")), (303, Some("/ui/sign-in")));
        assert!(!is_shown(&server, &cookie).await, "a copied cookie is of no use");
        assert!(is_shown(&server, &other).await, "other sessions of the key continue");
        let ended = async { while stream.chunk().await.is_ok_and(|chunk| chunk.is_some()) {} };
        in_time("the stream ends", ended).await;
    });
}

#[test]
fn a_session_ends_with_the_time_of_its_key() {
    on_both_stores_without_redirects(async |mut server| {
        server.use_admin_key().await;
        let created = server.post("/api/keys", &json!({ "role": "viewer", "ttl": "2s" })).await.expect(201);
        server.use_key(None);
        let (cookie, _) = sign_in(&server, created["key"].as_str().unwrap()).await;
        eventually("the session ends", async || !is_shown(&server, &cookie).await).await;
    });
}

#[test]
fn a_session_of_a_token_ends_when_the_token_expires() {
    let issuer = Issuer::new();
    let with_issuer = with_issuer(&issuer);
    let client = http_client().redirect(reqwest::redirect::Policy::none()).build().unwrap();
    on_both_stores_with_setup(
        |setup| with_issuer(setup).client(client.clone()),
        async |server| {
            let (lasting, _) = sign_in(&server, &issuer.token(&json!({}))).await;
            let (cookie, _) = sign_in(&server, &issuer.token(&json!({ "exp": 3 }))).await;
            let stream = server.request("GET", "/ui/jobs").header("accept", "text/event-stream");
            let mut stream = stream.header("cookie", &cookie).open().await;
            let ended = async { while stream.chunk().await.is_ok_and(|chunk| chunk.is_some()) {} };
            in_time("the stream ends", ended).await;
            eventually("the session ends", async || !is_shown(&server, &cookie).await).await;
            assert!(is_shown(&server, &lasting).await, "the session of a valid token continues");
        },
    );
}

#[tokio::test]
async fn a_session_is_valid_on_every_node_until_it_ends() {
    let client = http_client().redirect(reqwest::redirect::Policy::none()).build().unwrap();
    let mut one = tenure_e2e::Setup::new(tenure_e2e::Store::Postgres).await.client(client).start().await;
    let key = one.use_admin_key().await;
    one.use_key(None);
    let two = one.second_node().await;
    let (cookie, _) = sign_in(&one, &key).await;
    assert!(is_shown(&two, &cookie).await);
    form(&two, "/ui/sign-out", "").header("cookie", &cookie).send().await;
    assert!(!is_shown(&one, &cookie).await);
    assert_eq!(ask(&one, "/ui/jobs").await.status, 303);
}
