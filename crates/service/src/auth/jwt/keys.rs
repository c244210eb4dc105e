//! The usable keys of a JWKS: public, for signatures, of an allowed algorithm.

use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, KeyAlgorithm, KeyOperations, PublicKeyUse};
use jsonwebtoken::{Algorithm, AlgorithmFamily, DecodingKey};
use serde::Deserialize;
use serde_json::Value;

/// A JWT without `kid` is tried with every matching key, unless there are more than these.
const TRIES_MAX: usize = 8;

#[derive(Debug, Default)]
pub(super) struct IssuerKeys(Vec<IssuerKey>);

#[derive(Debug)]
struct IssuerKey {
    kid: Option<String>,
    algorithms: Vec<Algorithm>,
    public: DecodingKey,
}

#[derive(Deserialize)]
struct Jwks {
    keys: Vec<Value>,
}

impl IssuerKeys {
    /// Skips unusable keys. There may be none: then no token is accepted.
    pub(super) fn parse(jwks: &[u8], allowed: &[Algorithm]) -> Result<Self, String> {
        let jwks: Jwks = serde_json::from_slice(jwks).map_err(|error| format!("not a JWKS: {error}"))?;
        let parsed = jwks.keys.into_iter().filter_map(|key| serde_json::from_value(key).ok());
        let keys: Vec<IssuerKey> = parsed.filter_map(|jwk| IssuerKey::of(&jwk, allowed)).collect();
        Ok(Self(keys))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The keys that may have signed a JWT with this header; none if there are too many.
    pub(super) fn matching(&self, kid: Option<&str>, algorithm: Algorithm) -> Vec<DecodingKey> {
        let matches = |key: &&IssuerKey| {
            key.algorithms.contains(&algorithm) && (kid.is_none() || key.kid.as_deref() == kid)
        };
        let matching: Vec<DecodingKey> =
            self.0.iter().filter(matches).take(TRIES_MAX + 1).map(|key| key.public.clone()).collect();
        if matching.len() > TRIES_MAX { Vec::new() } else { matching }
    }
}

impl IssuerKey {
    fn of(jwk: &Jwk, allowed: &[Algorithm]) -> Option<Self> {
        let common = &jwk.common;
        let for_signatures = matches!(common.public_key_use, None | Some(PublicKeyUse::Signature))
            && common.key_operations.as_ref().is_none_or(|all| all.contains(&KeyOperations::Verify));
        let is_usable = |algorithm: &&Algorithm| {
            has_key_type(jwk, **algorithm)
                && common.key_algorithm.is_none_or(|only| only == KeyAlgorithm::from(**algorithm))
        };
        let algorithms: Vec<Algorithm> = allowed.iter().filter(is_usable).copied().collect();
        let public = DecodingKey::from_jwk(jwk).ok()?;
        let usable = for_signatures && !algorithms.is_empty();
        usable.then(|| Self { kid: common.key_id.clone(), algorithms, public })
    }
}

fn has_key_type(jwk: &Jwk, algorithm: Algorithm) -> bool {
    match &jwk.algorithm {
        AlgorithmParameters::RSA(_) => algorithm.family() == AlgorithmFamily::Rsa,
        AlgorithmParameters::EllipticCurve(key) => match key.curve {
            EllipticCurve::P256 => algorithm == Algorithm::ES256,
            EllipticCurve::P384 => algorithm == Algorithm::ES384,
            _ => false,
        },
        AlgorithmParameters::OctetKeyPair(key) => {
            key.curve == EllipticCurve::Ed25519 && algorithm == Algorithm::EdDSA
        }
        _ => false,
    }
}
