//! Verifies signatures with ring, as a crypto provider of `jsonwebtoken`.
//!
//! Signing, shared secrets (HS256 and others) and private keys are refused, so that no mistake elsewhere can make a public
//! key act as a shared secret.

use jsonwebtoken::crypto::{CryptoProvider, JwtVerifier, KeyUtils};
use jsonwebtoken::errors::{Error, ErrorKind, Result, new_error};
use jsonwebtoken::signature::{self, Verifier};
use jsonwebtoken::{Algorithm, AlgorithmFamily, DecodingKey, DecodingKeyKind};
use ring::signature as signed;

/// The algorithms that can be configured, by the names of RFC 7518 and RFC 8037.
pub(super) const ALGORITHMS: [(&str, Algorithm); 9] = [
    ("RS256", Algorithm::RS256),
    ("RS384", Algorithm::RS384),
    ("RS512", Algorithm::RS512),
    ("PS256", Algorithm::PS256),
    ("PS384", Algorithm::PS384),
    ("PS512", Algorithm::PS512),
    ("ES256", Algorithm::ES256),
    ("ES384", Algorithm::ES384),
    ("EdDSA", Algorithm::EdDSA),
];

static PROVIDER: CryptoProvider = CryptoProvider {
    signer_factory: |_, _| Err(unsupported()),
    verifier_factory: |algorithm, key| verifier(*algorithm, key),
    key_utils: KeyUtils {
        rsa_pub_components_from_private_key: |_| Err(unsupported()),
        rsa_pub_components_from_public_key: |_| Err(unsupported()),
        ec_pub_components_from_private_key: |_, _| Err(unsupported()),
        ed_pub_components_from_private_key: |_, _| Err(unsupported()),
        compute_digest: |_, _| Err(unsupported()),
    },
};

/// Installs the provider for the process; a second call does nothing.
pub(super) fn install() {
    let _already = PROVIDER.install_default();
}

struct RingVerifier {
    algorithm: Algorithm,
    key: VerifyingKey,
}

enum VerifyingKey {
    Rsa { rules: &'static signed::RsaParameters, n: Vec<u8>, e: Vec<u8> },
    Point { rules: &'static dyn signed::VerificationAlgorithm, bytes: Vec<u8> },
}

impl Verifier<Vec<u8>> for RingVerifier {
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> std::result::Result<(), signature::Error> {
        let verified = match &self.key {
            VerifyingKey::Rsa { rules, n, e } => {
                signed::RsaPublicKeyComponents { n, e }.verify(rules, message, signature)
            }
            VerifyingKey::Point { rules, bytes } => {
                signed::UnparsedPublicKey::new(*rules, bytes).verify(message, signature)
            }
        };
        verified.map_err(|_| signature::Error::new())
    }
}

impl JwtVerifier for RingVerifier {
    fn algorithm(&self) -> Algorithm {
        self.algorithm
    }
}

fn verifier(algorithm: Algorithm, key: &DecodingKey) -> Result<Box<dyn JwtVerifier>> {
    let key = match key.family() {
        AlgorithmFamily::Hmac => return Err(unsupported()),
        AlgorithmFamily::Rsa => rsa(algorithm, key)?,
        AlgorithmFamily::Ec | AlgorithmFamily::Ed => point(algorithm, key)?,
    };
    Ok(Box::new(RingVerifier { algorithm, key }))
}

/// Ring refuses a modulus of less than 2048 or more than 8192 bits.
fn rsa(algorithm: Algorithm, key: &DecodingKey) -> Result<VerifyingKey> {
    let rules = match algorithm {
        Algorithm::RS256 => &signed::RSA_PKCS1_2048_8192_SHA256,
        Algorithm::RS384 => &signed::RSA_PKCS1_2048_8192_SHA384,
        Algorithm::RS512 => &signed::RSA_PKCS1_2048_8192_SHA512,
        Algorithm::PS256 => &signed::RSA_PSS_2048_8192_SHA256,
        Algorithm::PS384 => &signed::RSA_PSS_2048_8192_SHA384,
        Algorithm::PS512 => &signed::RSA_PSS_2048_8192_SHA512,
        _ => return Err(new_error(ErrorKind::InvalidAlgorithm)),
    };
    let DecodingKeyKind::RsaModulusExponent { n, e } = key.kind() else { return Err(unsupported()) };
    Ok(VerifyingKey::Rsa { rules, n: without_leading_zeros(n), e: without_leading_zeros(e) })
}

/// A point on a curve. The algorithm determines its length, so that a key of another curve is refused.
fn point(algorithm: Algorithm, key: &DecodingKey) -> Result<VerifyingKey> {
    let (rules, family, length): (&dyn signed::VerificationAlgorithm, _, _) = match algorithm {
        Algorithm::ES256 => (&signed::ECDSA_P256_SHA256_FIXED, AlgorithmFamily::Ec, 65),
        Algorithm::ES384 => (&signed::ECDSA_P384_SHA384_FIXED, AlgorithmFamily::Ec, 97),
        Algorithm::EdDSA => (&signed::ED25519, AlgorithmFamily::Ed, 32),
        _ => return Err(new_error(ErrorKind::InvalidAlgorithm)),
    };
    let bytes = key.try_get_as_bytes()?;
    if key.family() != family || bytes.len() != length {
        return Err(new_error(ErrorKind::InvalidAlgorithm));
    }
    Ok(VerifyingKey::Point { rules, bytes: bytes.to_vec() })
}

/// Some issuers encode numbers with a leading zero, which ring rejects.
fn without_leading_zeros(number: &[u8]) -> Vec<u8> {
    number.iter().copied().skip_while(|byte| *byte == 0).collect()
}

fn unsupported() -> Error {
    new_error(ErrorKind::UnsupportedAlgorithm)
}
