//! Verifies JWTs of the configured issuer by RFC 8725.
//!
//! What is accepted comes from the configuration, never from the JWT: only configured algorithms with key pairs, `kid` only
//! selects a key, and `jku`, `x5u`, `x5c` and `jwk` in the header are ignored. `jsonwebtoken` parses and checks the times,
//! with stricter settings than its defaults; ring verifies the signatures.

mod keys;
mod source;
mod verifier;

use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::{Algorithm, DecodingKey, Header, Validation, decode, decode_header};
use serde_json::{Map, Value};
use source::KeySource;
use tenure_config::JwtConfig;
use tenure_core::api_key::Role;

/// Longer JWTs are refused without parsing.
const JWT_BYTES_MAX: usize = 8 * 1024;
/// The accepted difference between the issuer's clock and ours.
const LEEWAY_S: u64 = 5;
/// Names from claims are written to events and log lines.
const NAME_CHARS_MAX: usize = 255;

/// The claims of a verified JWT.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// `sub`.
    pub subject: String,
    pub role: Role,
    /// The user claim, if present: a producer sees this user's jobs.
    pub user: Option<String>,
    /// `exp`, in seconds since 1970. Streams end then, too.
    pub expires_at_unix: i64,
}

/// Why a JWT is refused. Only logged; the caller just receives `unauthenticated`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JwtFlaw {
    #[error("longer than {JWT_BYTES_MAX} bytes")]
    TooLong,
    /// Not a JWT, or not an access token.
    #[error("not a signed JWT access token")]
    Malformed,
    #[error("algorithm is not allowed")]
    Algorithm,
    #[error("the issuer has no matching key")]
    UnknownKey,
    #[error("signature is wrong")]
    Signature,
    #[error("expired")]
    Expired,
    #[error("not valid yet")]
    NotYet,
    #[error("issuer is missing or wrong")]
    Issuer,
    #[error("audience is missing or wrong")]
    Audience,
    #[error("claim {0:?} is missing or has the wrong type")]
    Claim(String),
    #[error("role is unknown")]
    Role,
    /// Not the caller's fault.
    #[error("issuer keys are unavailable: {0}")]
    KeysUnavailable(String),
}

/// Verifies JWTs of one issuer, and caches its keys.
#[derive(Debug)]
pub struct Jwt {
    config: JwtConfig,
    allowed: Vec<Algorithm>,
    source: KeySource,
}

impl Jwt {
    /// Checks the configuration and reads a key file; a URL is fetched at first use.
    pub fn open(config: JwtConfig) -> Result<Self, String> {
        verifier::install();
        let named = [("issuer", &config.issuer), ("audience", &config.audience), ("jwks", &config.jwks)];
        if let Some((name, _)) = named.iter().find(|(_, value)| value.is_empty()) {
            return Err(format!("auth.jwt.{name} is empty"));
        }
        let algorithms = config.algorithms.iter().map(|name| algorithm(name));
        let allowed: Vec<Algorithm> = algorithms.collect::<Result<_, _>>()?;
        if allowed.is_empty() {
            return Err("auth.jwt.algorithms is empty; name at least one, such as RS256".into());
        }
        let source = KeySource::open(&config.jwks, &allowed)?;
        Ok(Self { config, allowed, source })
    }

    /// Opens a configuration that was loaded again, and reads the keys now. If a URL cannot be fetched, the keys that the
    /// running verifier has of it stay valid.
    pub async fn reopen(config: JwtConfig, running: Option<&Self>) -> Result<Self, String> {
        let opened = Self::open(config)?;
        opened.source.load(running.map(|running| &running.source)).await?;
        Ok(opened)
    }

    pub async fn verify(&self, token: &str) -> Result<Identity, JwtFlaw> {
        let header = self.header(token)?;
        let keys = self.source.find(header.kid.as_deref(), header.alg).await?;
        let claims = self.claims(token, header.alg, &keys)?;
        self.identity(&claims)
    }

    fn header(&self, token: &str) -> Result<Header, JwtFlaw> {
        if token.len() > JWT_BYTES_MAX {
            return Err(JwtFlaw::TooLong);
        }
        let header = decode_header(token).map_err(|_| JwtFlaw::Malformed)?;
        // `crit` names extensions that must be understood; none is supported. Other kinds of JWT from the same issuer
        // (proof of possession, logout) do not authorise.
        let kind = header.typ.as_deref().unwrap_or("JWT").to_ascii_lowercase();
        let is_access_token = matches!(kind.trim_start_matches("application/"), "jwt" | "at+jwt");
        if header.crit.is_some() || !is_access_token {
            return Err(JwtFlaw::Malformed);
        }
        if self.allowed.contains(&header.alg) { Ok(header) } else { Err(JwtFlaw::Algorithm) }
    }

    fn claims(
        &self,
        token: &str,
        algorithm: Algorithm,
        keys: &[DecodingKey],
    ) -> Result<Map<String, Value>, JwtFlaw> {
        let mut rules = Validation::new(algorithm);
        rules.leeway = LEEWAY_S;
        rules.validate_nbf = true;
        rules.set_audience(&[&self.config.audience]);
        rules.set_issuer(&[&self.config.issuer]);
        rules.set_required_spec_claims(&["exp", "iss", "aud", "sub"]);
        for key in keys {
            match decode(token, key, &rules) {
                Ok(decoded) => return Ok(decoded.claims),
                Err(error) if matches!(error.kind(), ErrorKind::InvalidSignature) => {}
                Err(error) => return Err(flaw_of(error.kind())),
            }
        }
        Err(JwtFlaw::Signature)
    }

    fn identity(&self, claims: &Map<String, Value>) -> Result<Identity, JwtFlaw> {
        // `jsonwebtoken` also accepts a list of issuers.
        if claims.get("iss").and_then(Value::as_str) != Some(&self.config.issuer) {
            return Err(JwtFlaw::Issuer);
        }
        let role = match claims.get(&self.config.role_claim) {
            None => Role::Producer,
            Some(role) => role.as_str().and_then(Role::parse).ok_or(JwtFlaw::Role)?,
        };
        let subject = name(claims, "sub")?.ok_or_else(|| JwtFlaw::Claim("sub".into()))?;
        let user = name(claims, &self.config.user_claim)?;
        let expires =
            claims.get("exp").and_then(Value::as_f64).ok_or_else(|| JwtFlaw::Claim("exp".into()))?;
        // A token that expires after the last time that can be represented never expires.
        let expires_at_unix = (expires as i64).min(i64::MAX / 1000);
        Ok(Identity { subject, role, user, expires_at_unix })
    }
}

/// A claim with a name: not empty, not too long, no control characters.
fn name(claims: &Map<String, Value>, claim: &str) -> Result<Option<String>, JwtFlaw> {
    match claims.get(claim) {
        None => Ok(None),
        Some(Value::String(name))
            if (1..=NAME_CHARS_MAX).contains(&name.chars().count()) && !name.contains(char::is_control) =>
        {
            Ok(Some(name.clone()))
        }
        Some(_) => Err(JwtFlaw::Claim(claim.to_string())),
    }
}

fn algorithm(name: &str) -> Result<Algorithm, String> {
    let known = verifier::ALGORITHMS.iter().find(|(known, _)| *known == name);
    known.map(|(_, algorithm)| *algorithm).ok_or_else(|| {
        let names: Vec<&str> = verifier::ALGORITHMS.iter().map(|(name, _)| *name).collect();
        format!("auth.jwt.algorithms: {name:?} is not one of {}", names.join(", "))
    })
}

fn flaw_of(kind: &ErrorKind) -> JwtFlaw {
    match kind {
        ErrorKind::ExpiredSignature => JwtFlaw::Expired,
        ErrorKind::ImmatureSignature => JwtFlaw::NotYet,
        ErrorKind::InvalidIssuer => JwtFlaw::Issuer,
        ErrorKind::InvalidAudience => JwtFlaw::Audience,
        ErrorKind::InvalidAlgorithm | ErrorKind::UnsupportedAlgorithm => JwtFlaw::Algorithm,
        ErrorKind::MissingRequiredClaim(claim) | ErrorKind::InvalidClaimFormat(claim) => match claim.as_str()
        {
            "iss" => JwtFlaw::Issuer,
            "aud" => JwtFlaw::Audience,
            _ => JwtFlaw::Claim(claim.clone()),
        },
        _ => JwtFlaw::Malformed,
    }
}

#[cfg(test)]
mod tests;
