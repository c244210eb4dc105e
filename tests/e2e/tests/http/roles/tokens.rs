//! Tokens of an issuer.

use std::time::UNIX_EPOCH;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac;
use ring::rand::SystemRandom;
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use serde_json::{Value, json};
use tenure_e2e::{Setup, on_both_stores_with_setup, path};

use super::ROLES;

const CONFIG: &str = r#"
[auth.jwt]
issuer = "https://issuer.example/"
audience = "tenure"
jwks = "jwks.json"
"#;

/// A setup whose server accepts the tokens of this issuer.
pub(crate) fn with_issuer(issuer: &Issuer) -> impl Fn(Setup) -> Setup {
    let jwks = issuer.jwks();
    move |setup| setup.config(CONFIG).file("jwks.json", &jwks)
}

fn base64(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Header and claims, to be signed.
fn unsigned(header: &Value, claims: &Value) -> String {
    format!("{}.{}", base64(header.to_string().as_bytes()), base64(claims.to_string().as_bytes()))
}

/// The claims of an admin with these changes. Numbers are seconds from now.
fn claims(changes: &Value) -> Value {
    let now = UNIX_EPOCH.elapsed().unwrap().as_secs();
    let mut claims = json!({
        "iss": "https://issuer.example/", "aud": "tenure", "sub": "u1", "role": "admin", "iat": now, "exp": now + 600,
    });
    for (name, value) in changes.as_object().unwrap() {
        claims[name] = match value.as_i64() {
            Some(seconds) => json!(now.saturating_add_signed(seconds)),
            None => value.clone(),
        };
    }
    claims
}

/// Signs tokens.
pub(crate) struct Issuer(Ed25519KeyPair);

impl Issuer {
    pub(crate) fn new() -> Self {
        let key = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        Self(Ed25519KeyPair::from_pkcs8(key.as_ref()).unwrap())
    }

    /// The public key.
    pub(crate) fn jwks(&self) -> String {
        let x = base64(self.0.public_key().as_ref());
        json!({ "keys": [{ "kty": "OKP", "crv": "Ed25519", "kid": "k1", "use": "sig", "x": x }] }).to_string()
    }

    fn sign(&self, header: &Value, claims: &Value) -> String {
        let text = unsigned(header, claims);
        format!("{text}.{}", base64(self.0.sign(text.as_bytes()).as_ref()))
    }

    /// A token for an admin with these changes to its claims.
    pub(crate) fn token(&self, changes: &Value) -> String {
        self.sign(&json!({ "alg": "EdDSA", "typ": "JWT", "kid": "k1" }), &claims(changes))
    }

    /// Tokens with a wrong signature or wrong claims.
    pub(crate) fn invalid_tokens(&self) -> Vec<String> {
        let right = claims(&json!({}));
        let good = self.token(&json!({}));
        let (head, signature) = (good.split_once('.').unwrap().0, good.rsplit_once('.').unwrap().1);
        let secret = hmac::Key::new(hmac::HMAC_SHA256, self.0.public_key().as_ref());
        let shared = unsigned(&json!({ "alg": "HS256", "typ": "JWT", "kid": "k1" }), &right);
        let changed = base64(claims(&json!({ "role": "operator" })).to_string().as_bytes());
        let mut tokens = vec![
            format!("{shared}.{}", base64(hmac::sign(&secret, shared.as_bytes()).as_ref())),
            format!("{}.", unsigned(&json!({ "alg": "none", "typ": "JWT" }), &right)),
            Self::new().token(&json!({})),
            self.sign(&json!({ "alg": "EdDSA", "kid": "k2" }), &right),
            good[..good.len() - 4].to_owned(),
            format!("{head}.{changed}.{signature}"),
            "a.b".to_owned(),
            "..".to_owned(),
        ];
        let wrong = json!([
            { "exp": -600 }, { "exp": null }, { "exp": "soon" }, { "nbf": 600 }, { "aud": "other" }, { "aud": null },
            { "iss": "https://issuer.example" }, { "iss": "https://evil.example.com/" }, { "iss": null },
            { "role": "king" }, { "role": null }, { "role": ["admin"] },
        ]);
        tokens.extend(wrong.as_array().unwrap().iter().map(|changes| self.token(changes)));
        tokens
    }
}

#[test]
fn a_token_of_the_issuer_works_like_a_key() {
    let issuer = Issuer::new();
    on_both_stores_with_setup(with_issuer(&issuer), async |server| {
        server.get("/api/jobs").await.problem(401, "unauthenticated");
        let [producer, _, _, viewer, admin] = ROLES.map(|role| issuer.token(&json!({ "role": role })));
        for role in ROLES {
            server.get_as(&issuer.token(&json!({ "role": role })), "/api/jobs").await.expect(200);
        }
        let job = server.post_as(&producer, "/api/jobs", &json!({ "type": "a" })).await.expect(202);
        assert_eq!(job["user_id"], "u1");
        let other = json!({ "type": "a", "user_id": "u2" });
        server.post_as(&producer, "/api/jobs", &other).await.problem(403, "forbidden");
        server.post_as(&viewer, &path(&job, "cancel"), &json!({})).await.problem(403, "forbidden");
        server.get_as(&admin, "/api/keys").await.expect(200);
        let endless = issuer.token(&json!({ "exp": 1e17 }));
        server.get_as(&endless, "/api/jobs").await.expect(200);
        for token in issuer.invalid_tokens() {
            server.get_as(&token, "/api/jobs").await.problem(401, "unauthenticated");
        }
    });
}

#[test]
fn a_stream_ends_with_the_token_that_opened_it() {
    let issuer = Issuer::new();
    on_both_stores_with_setup(with_issuer(&issuer), async |mut server| {
        server.use_key(Some(&issuer.token(&json!({}))));
        server.create(json!({ "type": "a" })).await;
        server.use_key(Some(&issuer.token(&json!({ "exp": 2 }))));
        let feed = server.stream("/api/events", None).await;
        let received = feed.rest().await;
        assert!(received.len() <= 1, "{received:?}");
    });
}
