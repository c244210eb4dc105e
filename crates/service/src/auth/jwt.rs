//! JWTs of an issuer that the settings name, checked as RFC 8725 asks.
//!
//! What is allowed comes from the settings, never from the JWT: the algorithms are a list of signatures by key pair,
//! `kid` only looks a key up, and `jku`, `x5u`, `x5c` and `jwk` in the header are not looked at. The parsing and the
//! claims' times are left to `jsonwebtoken`, whose defaults are tightened here; the mathematics is ring's.

mod keys;
mod source;
mod verifier;

use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::{Algorithm, DecodingKey, Header, Validation, decode, decode_header};
use serde_json::{Map, Value};
use source::KeySource;

/// More is not read: no honest JWT is larger than what a header line may be.
const JWT_BYTES_MAX: usize = 8 * 1024;
/// How far the issuer's clock and ours may differ.
const LEEWAY_S: u64 = 5;
/// Bounds names that go into events and lines of the log.
const NAME_CHARS_MAX: usize = 255;
const ROLES: [&str; 5] = ["producer", "worker", "operator", "viewer", "admin"];
const ROLE_UNLESS_SAID: &str = "producer";

/// Whose JWTs are believed, and what they are read for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JwtSettings {
    /// What `iss` must be, letter by letter.
    pub issuer: String,
    /// What `aud` must be or contain.
    pub audience: String,
    /// The issuer's keys: a file, or a URL with https, or with http on this machine.
    pub jwks: String,
    /// Which signatures are accepted, such as `RS256`.
    pub algorithms: Vec<String>,
    /// The claim that names the role.
    pub role_claim: String,
    /// The claim that names the user.
    pub user_claim: String,
}

/// What a JWT that passed says about its bearer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// `sub`.
    pub subject: String,
    /// One of the five roles.
    pub role: String,
    /// Whose jobs a producer may see, if the user claim is there.
    pub user: Option<String>,
    /// `exp`: when the authority of this JWT ends, in seconds since 1970. Long streams end then, too.
    pub expires_at_unix: i64,
}

/// Why a JWT is not believed. For the log; whoever presented it is told no more than "unauthenticated".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JwtFlaw {
    /// Larger than any header should be.
    #[error("it is longer than {JWT_BYTES_MAX} bytes")]
    TooLong,
    /// Not a JWT, or not one that is meant as an access token.
    #[error("it is not a signed JWT for access")]
    Malformed,
    /// The algorithm is not on the list of the settings.
    #[error("its algorithm is not allowed")]
    Algorithm,
    /// No key of the issuer fits.
    #[error("the issuer has no such key")]
    UnknownKey,
    /// The signature is not by that key.
    #[error("its signature does not fit")]
    Signature,
    /// `exp` is past.
    #[error("it has expired")]
    Expired,
    /// `nbf` is to come.
    #[error("it is not in force yet")]
    NotYet,
    /// `iss` is missing or another.
    #[error("its issuer is another")]
    Issuer,
    /// `aud` is missing or another.
    #[error("it is meant for another audience")]
    Audience,
    /// A claim is missing or not of its form.
    #[error("its claim {0:?} is missing or not of its form")]
    Claim(String),
    /// The role claim names no role.
    #[error("its role is not one that there is")]
    Role,
    /// The issuer's keys are not known: this is our trouble, not the caller's.
    #[error("the issuer's keys cannot be had: {0}")]
    KeysUnavailable(String),
}

/// Checks JWTs of one issuer. Keeps the issuer's keys, and keeps them fresh.
#[derive(Debug)]
pub struct Jwt {
    settings: JwtSettings,
    allowed: Vec<Algorithm>,
    source: KeySource,
}

impl Jwt {
    /// Checks the settings and reads the keys if they are in a file; keys behind a URL are fetched at first use.
    pub fn open(settings: JwtSettings) -> Result<Self, String> {
        verifier::install();
        let named =
            [("issuer", &settings.issuer), ("audience", &settings.audience), ("jwks", &settings.jwks)];
        if let Some((name, _)) = named.iter().find(|(_, value)| value.is_empty()) {
            return Err(format!("auth.jwt: {name} is empty"));
        }
        let algorithms = settings.algorithms.iter().map(|name| algorithm(name));
        let allowed: Vec<Algorithm> = algorithms.collect::<Result<_, _>>()?;
        if allowed.is_empty() {
            return Err("auth.jwt: algorithms is empty; name at least one, such as RS256".into());
        }
        let source = KeySource::open(&settings.jwks, &allowed)?;
        Ok(Self { settings, allowed, source })
    }

    /// Who the bearer of this JWT is.
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
        // `crit` names extensions that must be understood, and we understand none. Other types of JWT (proofs of
        // possession, log-outs, …) may come from the same issuer, but do not authorise.
        let kind = header.typ.as_deref().unwrap_or("JWT").to_ascii_lowercase();
        let for_access = matches!(kind.trim_start_matches("application/"), "jwt" | "at+jwt");
        if header.crit.is_some() || !for_access {
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
        rules.set_audience(&[&self.settings.audience]);
        rules.set_issuer(&[&self.settings.issuer]);
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
        // `jsonwebtoken` also takes a list of issuers that contains ours.
        if claims.get("iss").and_then(Value::as_str) != Some(&self.settings.issuer) {
            return Err(JwtFlaw::Issuer);
        }
        let role = match claims.get(&self.settings.role_claim) {
            None => ROLE_UNLESS_SAID,
            Some(Value::String(role)) if ROLES.contains(&role.as_str()) => role,
            Some(_) => return Err(JwtFlaw::Role),
        };
        let subject = name(claims, "sub")?.ok_or_else(|| JwtFlaw::Claim("sub".into()))?;
        let user = name(claims, &self.settings.user_claim)?;
        let expires =
            claims.get("exp").and_then(Value::as_f64).ok_or_else(|| JwtFlaw::Claim("exp".into()))?;
        Ok(Identity { subject, role: role.to_string(), user, expires_at_unix: expires as i64 })
    }
}

/// A claim that is a name: short, not empty, and nothing in it that moves a cursor.
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
        format!("auth.jwt: algorithm {name:?} is not one of {}", names.join(", "))
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
