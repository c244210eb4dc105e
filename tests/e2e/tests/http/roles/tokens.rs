//! Tokens of an issuer.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use serde_json::{Value, json};
use tenure_e2e::{Setup, Store, path};

use super::ROLES;

/// Signs tokens.
struct Issuer(Ed25519KeyPair);

impl Issuer {
    fn new() -> Self {
        let key = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        Self(Ed25519KeyPair::from_pkcs8(key.as_ref()).unwrap())
    }

    fn jwks(&self) -> String {
        let x = URL_SAFE_NO_PAD.encode(self.0.public_key().as_ref());
        json!({ "keys": [{ "kty": "OKP", "crv": "Ed25519", "kid": "k1", "use": "sig", "x": x }] }).to_string()
    }

    fn token(&self, claims: &Value) -> String {
        let header = json!({ "alg": "EdDSA", "typ": "JWT", "kid": "k1" });
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let message = format!("{}.{}", part(&header), part(claims));
        let signature = URL_SAFE_NO_PAD.encode(self.0.sign(message.as_bytes()).as_ref());
        format!("{message}.{signature}")
    }
}

#[tokio::test]
async fn a_token_of_the_issuer_works_like_a_key() {
    let config =
        "[auth.jwt]\nissuer = \"https://login.example.com/\"\naudience = \"tenure\"\njwks = \"jwks.json\"\n";
    for store in Store::ALL {
        let issuer = Issuer::new();
        let setup = Setup::new(store).await.config(config).file("jwks.json", issuer.jwks());
        let server = setup.start().await;
        server.get("/api/jobs").await.problem(401, "unauthenticated");
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
        let good = |role: &str| {
            json!({ "iss": "https://login.example.com/", "aud": "tenure", "sub": "u1", "role": role,
                    "iat": now, "exp": now + 300 })
        };
        for role in ROLES {
            server.get_as(&issuer.token(&good(role)), "/api/jobs").await.expect(200);
        }
        let producer = issuer.token(&good("producer"));
        let job = server.post_as(&producer, "/api/jobs", &json!({ "type": "a" })).await.expect(202);
        assert_eq!(job["user_id"], "u1");
        let other = json!({ "type": "a", "user_id": "u2" });
        server.post_as(&producer, "/api/jobs", &other).await.problem(403, "forbidden");
        server
            .post_as(&issuer.token(&good("viewer")), &path(&job, "cancel"), &json!({}))
            .await
            .problem(403, "forbidden");
        server.get_as(&issuer.token(&good("admin")), "/api/keys").await.expect(200);

        let but = |field: &str, value: Value| {
            let mut claims = good("admin");
            claims[field] = value;
            issuer.token(&claims)
        };
        let stranger = Issuer::new().token(&good("admin"));
        let mut bad = vec![
            but("exp", json!(now - 3600)),
            but("nbf", json!(now + 3600)),
            but("aud", json!("other")),
            but("iss", json!("https://evil.example.com/")),
            but("role", json!("king")),
            but("role", Value::Null),
            but("exp", Value::Null),
            stranger,
        ];
        let token = issuer.token(&good("admin"));
        let mut parts: Vec<&str> = token.split('.').collect();
        let unsigned = URL_SAFE_NO_PAD.encode(json!({ "alg": "none", "typ": "JWT" }).to_string());
        bad.push(format!("{unsigned}.{}.", parts[1]));
        let changed = URL_SAFE_NO_PAD.encode(good("operator").to_string());
        parts[1] = &changed;
        bad.push(parts.join("."));
        for token in &bad {
            server.get_as(token, "/api/jobs").await.problem(401, "unauthenticated");
        }
    }
}
