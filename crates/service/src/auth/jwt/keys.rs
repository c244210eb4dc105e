//! A JWKS as a list of keys that can be used: public, for signatures, of a kind that the settings allow.

use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, KeyAlgorithm, KeyOperations, PublicKeyUse};
use jsonwebtoken::{Algorithm, AlgorithmFamily, DecodingKey};
use serde::Deserialize;
use serde_json::Value;

/// A JWT without `kid` is tried with every key that fits, if there are no more than these.
const TRIES_MAX: usize = 8;

/// The keys of an issuer.
#[derive(Debug, Default)]
pub(super) struct Keys(Vec<Key>);

#[derive(Debug)]
struct Key {
    kid: Option<String>,
    /// What it may verify.
    algorithms: Vec<Algorithm>,
    public: DecodingKey,
}

#[derive(Deserialize)]
struct Jwks {
    keys: Vec<Value>,
}

impl Keys {
    /// Reads a JWKS. Keys that are of no use here are left out; that none remains is an error.
    pub(super) fn parse(jwks: &[u8], allowed: &[Algorithm]) -> Result<Self, String> {
        let jwks: Jwks = serde_json::from_slice(jwks).map_err(|error| format!("not a JWKS: {error}"))?;
        let read = jwks.keys.into_iter().filter_map(|key| serde_json::from_value(key).ok());
        let keys: Vec<Key> = read.filter_map(|jwk| Key::of(&jwk, allowed)).collect();
        if keys.is_empty() { Err("no key in it fits the allowed algorithms".into()) } else { Ok(Self(keys)) }
    }

    /// The keys that may have signed a JWT with this header; none if that is a guess among many.
    pub(super) fn fitting(&self, kid: Option<&str>, algorithm: Algorithm) -> Vec<DecodingKey> {
        let fits =
            |key: &&Key| key.algorithms.contains(&algorithm) && (kid.is_none() || key.kid.as_deref() == kid);
        let fitting: Vec<DecodingKey> =
            self.0.iter().filter(fits).take(TRIES_MAX + 1).map(|key| key.public.clone()).collect();
        if fitting.len() > TRIES_MAX { Vec::new() } else { fitting }
    }
}

impl Key {
    fn of(jwk: &Jwk, allowed: &[Algorithm]) -> Option<Self> {
        let common = &jwk.common;
        let for_signatures = matches!(common.public_key_use, None | Some(PublicKeyUse::Signature))
            && common.key_operations.as_ref().is_none_or(|all| all.contains(&KeyOperations::Verify));
        let fits = |algorithm: &&Algorithm| {
            kind_fits(jwk, **algorithm)
                && common.key_algorithm.is_none_or(|only| only == KeyAlgorithm::from(**algorithm))
        };
        let algorithms: Vec<Algorithm> = allowed.iter().filter(fits).copied().collect();
        let public = DecodingKey::from_jwk(jwk).ok()?;
        let usable = for_signatures && !algorithms.is_empty();
        usable.then(|| Self { kid: common.key_id.clone(), algorithms, public })
    }
}

fn kind_fits(jwk: &Jwk, algorithm: Algorithm) -> bool {
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
