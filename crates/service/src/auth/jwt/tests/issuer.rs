//! An issuer for tests: a key of each kind, its JWKS, and JWTs signed with them, valid or not.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::rsa::PublicKeyComponents;
use ring::signature as signed;
use ring::signature::KeyPair as _;
use serde_json::{Value, json};

/// Used only in tests; ring cannot generate RSA keys.
const RSA: &[u8] = include_bytes!("rsa.der");

pub(super) struct Issuer {
    rsa: signed::RsaKeyPair,
    p256: signed::EcdsaKeyPair,
    p384: signed::EcdsaKeyPair,
    ed: signed::Ed25519KeyPair,
    random: SystemRandom,
}

impl Issuer {
    pub(super) fn new() -> Self {
        let random = SystemRandom::new();
        let ecdsa = |rules| {
            let key = signed::EcdsaKeyPair::generate_pkcs8(rules, &random).unwrap();
            signed::EcdsaKeyPair::from_pkcs8(rules, key.as_ref(), &random).unwrap()
        };
        let ed = signed::Ed25519KeyPair::generate_pkcs8(&random).unwrap();
        Self {
            rsa: signed::RsaKeyPair::from_der(RSA).unwrap(),
            p256: ecdsa(&signed::ECDSA_P256_SHA256_FIXED_SIGNING),
            p384: ecdsa(&signed::ECDSA_P384_SHA384_FIXED_SIGNING),
            ed: signed::Ed25519KeyPair::from_pkcs8(ed.as_ref()).unwrap(),
            random,
        }
    }

    /// The public keys; each one's `kid` is its `kty` or curve.
    pub(super) fn keys(&self) -> Vec<Value> {
        let PublicKeyComponents { n, e }: PublicKeyComponents<Vec<u8>> = self.rsa.public().into();
        let point = |curve: &str, key: &[u8], half: usize| {
            let (x, y) = key[1..].split_at(half);
            json!({ "kty": "EC", "crv": curve, "kid": curve, "x": base64(x), "y": base64(y) })
        };
        vec![
            json!({ "kty": "RSA", "kid": "RSA", "use": "sig", "n": base64(&n), "e": base64(&e) }),
            point("P-256", self.p256.public_key().as_ref(), 32),
            point("P-384", self.p384.public_key().as_ref(), 48),
            json!({ "kty": "OKP", "crv": "Ed25519", "kid": "Ed25519", "x": base64(self.ed.public_key().as_ref()) }),
        ]
    }

    pub(super) fn jwks(&self) -> String {
        json!({ "keys": self.keys() }).to_string()
    }

    /// A JWT with the `kid` of its key.
    pub(super) fn sign(&self, algorithm: &str, claims: &Value) -> String {
        self.sign_as(algorithm, &json!({ "alg": algorithm, "typ": "JWT", "kid": kid(algorithm) }), claims)
    }

    /// A JWT signed by this algorithm, with any header.
    pub(super) fn sign_as(&self, algorithm: &str, header: &Value, claims: &Value) -> String {
        self.sign_text(algorithm, &header.to_string(), &claims.to_string())
    }

    pub(super) fn sign_text(&self, algorithm: &str, header: &str, claims: &str) -> String {
        let message = format!("{}.{}", base64(header.as_bytes()), base64(claims.as_bytes()));
        let signature = self.signature(algorithm, message.as_bytes());
        format!("{message}.{}", base64(&signature))
    }

    fn signature(&self, algorithm: &str, message: &[u8]) -> Vec<u8> {
        let padding: &dyn signed::RsaEncoding = match algorithm {
            "RS256" => &signed::RSA_PKCS1_SHA256,
            "RS384" => &signed::RSA_PKCS1_SHA384,
            "RS512" => &signed::RSA_PKCS1_SHA512,
            "PS256" => &signed::RSA_PSS_SHA256,
            "PS384" => &signed::RSA_PSS_SHA384,
            "PS512" => &signed::RSA_PSS_SHA512,
            "ES256" => return self.p256.sign(&self.random, message).unwrap().as_ref().to_vec(),
            "ES384" => return self.p384.sign(&self.random, message).unwrap().as_ref().to_vec(),
            "EdDSA" => return self.ed.sign(message).as_ref().to_vec(),
            _ => panic!("no key for {algorithm}"),
        };
        let mut signature = vec![0; self.rsa.public().modulus_len()];
        self.rsa.sign(padding, &self.random, message, &mut signature).unwrap();
        signature
    }
}

pub(super) fn kid(algorithm: &str) -> &'static str {
    match algorithm {
        "ES256" => "P-256",
        "ES384" => "P-384",
        "EdDSA" => "Ed25519",
        _ => "RSA",
    }
}

pub(super) fn base64(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}
