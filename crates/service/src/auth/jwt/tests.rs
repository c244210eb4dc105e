//! Which JWTs are accepted, and when the issuer's keys are read again.

mod issuer;
mod key_server;
mod rotation;

use std::time::{SystemTime, UNIX_EPOCH};

use issuer::{Issuer, base64, kid};
use serde_json::json;
use tempfile::NamedTempFile;

use super::*;

const ISSUER: &str = "https://id.example";
const AUDIENCE: &str = "tenure";

fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() as i64
}

fn settings(jwks: &str) -> JwtConfig {
    JwtConfig {
        issuer: ISSUER.into(),
        audience: AUDIENCE.into(),
        jwks: jwks.into(),
        algorithms: verifier::ALGORITHMS.iter().map(|(name, _)| (*name).to_string()).collect(),
        role_claim: "role".into(),
        user_claim: "sub".into(),
    }
}

fn file_of(jwks: &str) -> NamedTempFile {
    let file = NamedTempFile::new().unwrap();
    std::fs::write(file.path(), jwks).unwrap();
    file
}

/// A `Jwt` that accepts these keys with every algorithm.
fn accepting(jwks: &str) -> Jwt {
    accepting_with(jwks, |_| {})
}

fn accepting_with(jwks: &str, change: impl FnOnce(&mut JwtConfig)) -> Jwt {
    let file = file_of(jwks);
    let mut settings = settings(file.path().to_str().unwrap());
    change(&mut settings);
    Jwt::open(settings).unwrap()
}

/// An issuer, and a `Jwt` that accepts it.
fn opened() -> (Issuer, Jwt) {
    let issuer = Issuer::new();
    let jwt = accepting(&issuer.jwks());
    (issuer, jwt)
}

/// Valid claims with changes; a claim changed to null is removed.
fn claims(changed: &Value) -> Value {
    let mut claims =
        json!({ "iss": ISSUER, "aud": AUDIENCE, "sub": "ann", "exp": now() + 600, "role": "worker" });
    for (name, value) in changed.as_object().unwrap().clone() {
        if value.is_null() {
            claims.as_object_mut().unwrap().remove(&name);
        } else {
            claims[name] = value;
        }
    }
    claims
}

#[tokio::test]
async fn a_valid_jwt_of_every_algorithm_is_accepted() {
    let (issuer, jwt) = opened();
    for (algorithm, _) in verifier::ALGORITHMS {
        let claims = claims(&json!({}));
        let expected = Identity {
            subject: "ann".into(),
            role: Role::Worker,
            user: Some("ann".into()),
            expires_at_unix: claims["exp"].as_i64().unwrap(),
        };
        assert_eq!(jwt.verify(&issuer.sign(algorithm, &claims)).await, Ok(expected.clone()), "{algorithm}");
        let unnamed = issuer.sign_as(algorithm, &json!({ "alg": algorithm, "typ": "at+jwt" }), &claims);
        assert_eq!(jwt.verify(&unnamed).await, Ok(expected), "{algorithm} without kid");
    }
}

#[tokio::test]
async fn claims_are_checked() {
    let (issuer, jwt) = opened();
    let now = now();
    let claim = |name: &str| Err(JwtFlaw::Claim(name.into()));
    let cases = [
        (json!({ "exp": now - 1 }), Ok("worker")),
        (json!({ "exp": now - 7 }), Err(JwtFlaw::Expired)),
        (json!({ "exp": 0 }), Err(JwtFlaw::Expired)),
        (json!({ "exp": null }), claim("exp")),
        (json!({ "exp": "tomorrow" }), claim("exp")),
        (json!({ "exp": -1 }), claim("exp")),
        (json!({ "nbf": now + 4 }), Ok("worker")),
        (json!({ "nbf": now + 30 }), Err(JwtFlaw::NotYet)),
        (json!({ "nbf": "now" }), claim("nbf")),
        (json!({ "nbf": now - 60 }), Ok("worker")),
        (json!({ "iss": null }), Err(JwtFlaw::Issuer)),
        (json!({ "iss": "https://id.example/" }), Err(JwtFlaw::Issuer)),
        (json!({ "iss": "HTTPS://id.example" }), Err(JwtFlaw::Issuer)),
        (json!({ "iss": [ISSUER] }), Err(JwtFlaw::Issuer)),
        (json!({ "aud": null }), Err(JwtFlaw::Audience)),
        (json!({ "aud": "others" }), Err(JwtFlaw::Audience)),
        (json!({ "aud": [] }), Err(JwtFlaw::Audience)),
        (json!({ "aud": ["others", AUDIENCE] }), Ok("worker")),
        (json!({ "sub": null }), claim("sub")),
        (json!({ "sub": "" }), claim("sub")),
        (json!({ "sub": "a\nb" }), claim("sub")),
        (json!({ "sub": "a".repeat(256) }), claim("sub")),
        (json!({ "sub": 7 }), claim("sub")),
        (json!({ "role": null }), Ok("producer")),
        (json!({ "role": "admin" }), Ok("admin")),
        (json!({ "role": "Admin" }), Err(JwtFlaw::Role)),
        (json!({ "role": "root" }), Err(JwtFlaw::Role)),
        (json!({ "role": "" }), Err(JwtFlaw::Role)),
        (json!({ "role": ["admin"] }), Err(JwtFlaw::Role)),
    ];
    for (changed, expected) in cases {
        let verified = jwt.verify(&issuer.sign("ES256", &claims(&changed))).await;
        assert_eq!(verified.map(|identity| identity.role.as_str()), expected, "{changed}");
    }
    let null_role = json!({ "iss": ISSUER, "aud": AUDIENCE, "sub": "ann", "exp": now + 9, "role": null });
    assert_eq!(jwt.verify(&issuer.sign("ES256", &null_role)).await, Err(JwtFlaw::Role));
}

#[tokio::test]
async fn the_user_is_read_from_the_configured_claim() {
    let issuer = Issuer::new();
    let jwt = accepting_with(&issuer.jwks(), |settings| settings.user_claim = "uid".into());
    let verified = async |changed: Value| jwt.verify(&issuer.sign("EdDSA", &claims(&changed))).await;
    assert_eq!(verified(json!({ "uid": "u1" })).await.unwrap().user.as_deref(), Some("u1"));
    assert_eq!(verified(json!({})).await.unwrap().user, None);
    assert_eq!(verified(json!({ "uid": 1 })).await, Err(JwtFlaw::Claim("uid".into())));
    assert_eq!(verified(json!({ "uid": "" })).await, Err(JwtFlaw::Claim("uid".into())));
}

#[tokio::test]
async fn a_header_cannot_weaken_the_configuration() {
    let (issuer, jwt) = opened();
    let (good, own) = (claims(&json!({})), Issuer::new().keys()[3].clone());
    let none = |header: Value| {
        format!("{}.{}.", base64(header.to_string().as_bytes()), base64(good.to_string().as_bytes()))
    };
    let stranger = Issuer::new();
    let signed = |header: Value| issuer.sign_as("EdDSA", &header, &good);
    let another_key = issuer.sign_as("ES256", &json!({ "alg": "ES256", "kid": "P-384" }), &good);
    let key_inside = stranger.sign_as("EdDSA", &json!({ "alg": "EdDSA", "jwk": own }), &good);
    let crit = json!({ "alg": "EdDSA", "crit": ["b64"], "b64": false });
    let cases = [
        ("none", none(json!({ "alg": "none" })), JwtFlaw::Malformed),
        ("None", none(json!({ "alg": "None" })), JwtFlaw::Malformed),
        ("no signature", none(json!({ "alg": "EdDSA", "kid": "Ed25519" })), JwtFlaw::Signature),
        ("no alg", signed(json!({ "kid": "Ed25519" })), JwtFlaw::Malformed),
        ("HS256", secret_is_the_public_key(&issuer, &good), JwtFlaw::Algorithm),
        ("another key of the kind", another_key, JwtFlaw::UnknownKey),
        ("unknown kid", signed(json!({ "alg": "EdDSA", "kid": "other" })), JwtFlaw::UnknownKey),
        ("kid as a path", signed(json!({ "alg": "EdDSA", "kid": "../../etc/passwd" })), JwtFlaw::UnknownKey),
        ("a stranger's key inside", key_inside, JwtFlaw::Signature),
        ("a stranger's signature", stranger.sign("ES384", &good), JwtFlaw::Signature),
        ("crit", signed(crit), JwtFlaw::Malformed),
        ("a logout", signed(json!({ "alg": "EdDSA", "typ": "logout+jwt" })), JwtFlaw::Malformed),
    ];
    for (what, token, expected) in cases {
        assert_eq!(jwt.verify(&token).await, Err(expected), "{what}");
    }
}

/// The classic attack: the public key used as the secret of an HMAC.
fn secret_is_the_public_key(issuer: &Issuer, claims: &Value) -> String {
    let modulus = issuer.keys()[0]["n"].as_str().unwrap().to_string();
    let header = json!({ "alg": "HS256", "typ": "JWT", "kid": "RSA" });
    let message =
        format!("{}.{}", base64(header.to_string().as_bytes()), base64(claims.to_string().as_bytes()));
    let secret = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, modulus.as_bytes());
    format!("{message}.{}", base64(ring::hmac::sign(&secret, message.as_bytes()).as_ref()))
}

#[tokio::test]
async fn keys_and_urls_in_a_header_are_ignored() {
    let (issuer, jwt) = opened();
    let header = json!({
        "alg": "EdDSA", "kid": "Ed25519", "jku": "https://evil.example", "x5u": "https://evil.example",
        "jwk": Issuer::new().keys()[3],
    });
    let token = issuer.sign_as("EdDSA", &header, &claims(&json!({})));
    assert!(jwt.verify(&token).await.is_ok(), "only the issuer's signature counts");
}

#[tokio::test]
async fn a_changed_jwt_is_refused() {
    let (issuer, jwt) = opened();
    for (algorithm, _) in verifier::ALGORITHMS {
        let token = issuer.sign(algorithm, &claims(&json!({})));
        let [header, _, signature] = token.split('.').collect::<Vec<_>>().try_into().unwrap();
        let raised = base64(claims(&json!({ "role": "admin" })).to_string().as_bytes());
        let tampered = format!("{header}.{raised}.{signature}");
        assert_eq!(jwt.verify(&tampered).await, Err(JwtFlaw::Signature), "{algorithm}");
        let twisted = json!({ "alg": algorithm, "typ": "JWT", "kid": kid(algorithm), "x": 1 });
        let payload = token.split('.').nth(1).unwrap();
        let tampered = format!("{}.{payload}.{signature}", base64(twisted.to_string().as_bytes()));
        assert_eq!(jwt.verify(&tampered).await, Err(JwtFlaw::Signature), "{algorithm}: header");
    }
}

#[tokio::test]
async fn malformed_tokens_are_refused() {
    let (issuer, jwt) = opened();
    let good = issuer.sign("EdDSA", &claims(&json!({})));
    let twice = format!(r#"{{"iss":"{ISSUER}","iss":"x","aud":"{AUDIENCE}","sub":"a","exp":{}}}"#, now() + 9);
    let header = r#"{"alg":"EdDSA"}"#;
    let cases = [
        String::new(),
        ".".into(),
        "..".into(),
        "...".into(),
        "a.b.c".into(),
        "é.é.é".into(),
        format!("{good}."),
        format!(".{good}"),
        format!("{good}.{good}"),
        format!("{good}="),
        format!("{good} "),
        format!("Bearer {good}"),
        good.replacen('.', "..", 1),
        good.rsplit_once('.').unwrap().0.into(),
        issuer.sign_text("EdDSA", header, "[]"),
        issuer.sign_text("EdDSA", header, "null"),
        issuer.sign_text("EdDSA", header, ""),
        issuer.sign_text("EdDSA", header, &twice),
        issuer.sign_text("EdDSA", r#"{"alg":"EdDSA","alg":"none"}"#, &claims(&json!({})).to_string()),
        issuer.sign_text("EdDSA", "{", &claims(&json!({})).to_string()),
    ];
    for token in cases {
        let verified = jwt.verify(&token).await;
        assert!(verified.is_err(), "{token:.60}: {verified:?}");
    }
    let huge = issuer.sign("EdDSA", &claims(&json!({ "more": "x".repeat(JWT_BYTES_MAX) })));
    assert_eq!(jwt.verify(&huge).await, Err(JwtFlaw::TooLong));
}

#[tokio::test]
async fn only_configured_algorithms_are_accepted() {
    let issuer = Issuer::new();
    let jwt = accepting_with(&issuer.jwks(), |settings| settings.algorithms = vec!["ES256".into()]);
    for (algorithm, _) in verifier::ALGORITHMS {
        let verified = jwt.verify(&issuer.sign(algorithm, &claims(&json!({})))).await;
        let expected = if algorithm == "ES256" { Ok(()) } else { Err(JwtFlaw::Algorithm) };
        assert_eq!(verified.map(|_| ()), expected, "{algorithm}");
    }
}

#[tokio::test]
async fn a_key_is_used_only_as_its_jwk_allows() {
    let issuer = Issuer::new();
    for (limit, expected) in [
        (json!({ "alg": "RS256" }), Ok(())),
        (json!({ "key_ops": ["verify"] }), Ok(())),
        (json!({ "alg": "RS512" }), Err(JwtFlaw::UnknownKey)),
        (json!({ "alg": "RSA-OAEP" }), Err(JwtFlaw::UnknownKey)),
        (json!({ "use": "enc" }), Err(JwtFlaw::UnknownKey)),
        (json!({ "key_ops": ["encrypt"] }), Err(JwtFlaw::UnknownKey)),
    ] {
        let mut keys = issuer.keys();
        for (name, value) in limit.as_object().unwrap() {
            keys[0][name] = value.clone();
        }
        let jwt = accepting(&json!({ "keys": keys }).to_string());
        let verified = jwt.verify(&issuer.sign("RS256", &claims(&json!({})))).await;
        assert_eq!(verified.map(|_| ()), expected, "{limit}");
    }
}

#[tokio::test]
async fn without_a_kid_many_keys_are_not_tried() {
    let (issuer, mut keys) = (Issuer::new(), Vec::new());
    for number in 0..9 {
        let mut key = issuer.keys()[3].clone();
        key["kid"] = json!(number.to_string());
        keys.push(key);
    }
    let jwt = accepting(&json!({ "keys": keys }).to_string());
    let unnamed = issuer.sign_as("EdDSA", &json!({ "alg": "EdDSA" }), &claims(&json!({})));
    assert_eq!(jwt.verify(&unnamed).await, Err(JwtFlaw::UnknownKey));
    let named = issuer.sign_as("EdDSA", &json!({ "alg": "EdDSA", "kid": "8" }), &claims(&json!({})));
    assert!(jwt.verify(&named).await.is_ok());
}

#[test]
fn invalid_settings_are_refused_at_start() {
    let issuer = Issuer::new();
    let [good, symmetric, broken, large] =
        [&*issuer.jwks(), r#"{"keys":[{"kty":"oct","k":"c2VjcmV0"}]}"#, "{", &" ".repeat(65 * 1024)]
            .map(file_of);
    let in_file = |file: &NamedTempFile| settings(file.path().to_str().unwrap());
    let with = |change: fn(&mut JwtConfig)| {
        let mut settings = in_file(&good);
        change(&mut settings);
        settings
    };
    let cases = [
        (with(|it| it.issuer.clear()), "issuer is empty"),
        (with(|it| it.audience.clear()), "audience is empty"),
        (with(|it| it.jwks.clear()), "jwks is empty"),
        (with(|it| it.algorithms.clear()), "algorithms is empty"),
        (with(|it| it.algorithms = vec!["HS256".into()]), r#""HS256" is not one of RS256"#),
        (with(|it| it.algorithms = vec!["none".into()]), r#""none" is not one of"#),
        (settings("/no/such/file"), "No such file"),
        (in_file(&symmetric), "no key has an allowed algorithm"),
        (in_file(&broken), "not a JWKS"),
        (in_file(&large), "larger than"),
        (settings("http://id.example/keys"), "use https"),
        (settings("http://127.0.0.1.example/keys"), "use https"),
        (settings("ftp://127.0.0.1/keys"), "use https"),
        (settings("file:///keys"), "use https"),
        (settings("https://a:b@id.example/keys"), "user name"),
    ];
    for (settings, expected) in cases {
        let flaw = Jwt::open(settings.clone()).map(|_| ()).unwrap_err();
        assert!(flaw.contains(expected) && flaw.contains("auth.jwt"), "{settings:?}: {flaw}");
    }
    for url in ["https://id.example/k", "http://127.0.0.1:1/k", "http://localhost/k", "http://[::1]:1/k"] {
        assert!(Jwt::open(settings(url)).is_ok(), "{url} is fetched at first use");
    }
}
