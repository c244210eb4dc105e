//! API keys: `tn_<id>_<secret>_<check>`.
//!
//! The id finds the row, the secret authenticates, and the check detects typing errors without a lookup and lets scanners
//! recognise leaked keys. Only the id and the digest of the secret are stored. The secret has 256 random bits, so one
//! round of SHA-256 is enough; a slow hash would only let unauthenticated callers load the server.

use std::fmt;

use ring::rand::{SecureRandom as _, SystemRandom};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

const PREFIX: &str = "tn";
/// Base 32 without letters that resemble digits.
const ID_ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
const ID_CHARS: usize = 12;
const SECRET_BYTES: usize = 32;
const CHECK_BYTES: usize = 4;

/// A new key. Its text exists only here.
#[derive(Debug)]
pub struct IssuedKey {
    /// Not a secret.
    pub id: String,
    /// Shown once, in the answer that creates the key.
    pub text: KeyText,
    /// Stored by the server.
    pub digest: [u8; 32],
}

impl IssuedKey {
    pub fn random() -> Self {
        let mut random = [0; ID_CHARS + SECRET_BYTES];
        SystemRandom::new().fill(&mut random).expect("the operating system has random bytes");
        let (id_bytes, secret) = random.split_at(ID_CHARS);
        Self::of(id_bytes, secret)
    }

    /// A new secret for the key with this id.
    pub fn for_id(id: &str) -> Self {
        let mut secret = [0; SECRET_BYTES];
        SystemRandom::new().fill(&mut secret).expect("the operating system has random bytes");
        Self::with(id.to_owned(), &secret)
    }

    /// As `random`, with an id that a repeated request generates again.
    pub fn repeatable(idempotency_key: &str) -> Self {
        let mut secret = [0; SECRET_BYTES];
        SystemRandom::new().fill(&mut secret).expect("the operating system has random bytes");
        Self::of(&Sha256::digest(idempotency_key)[..ID_CHARS], &secret)
    }

    fn of(id_bytes: &[u8], secret: &[u8]) -> Self {
        let id: String =
            id_bytes.iter().map(|byte| char::from(ID_ALPHABET[usize::from(byte % 32)])).collect();
        Self::with(id, secret)
    }

    fn with(id: String, secret: &[u8]) -> Self {
        let body = format!("{PREFIX}_{id}_{}", hex(secret));
        let text = KeyText(format!("{body}_{}", check_of(&body)));
        Self { id, text, digest: Sha256::digest(secret).into() }
    }
}

/// The text of a key. `Debug` hides it, and it has no `Display`, so that it is not printed by accident.
pub struct KeyText(String);

impl KeyText {
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for KeyText {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("KeyText(hidden)")
    }
}

/// A caller's key before it is compared with the stored digest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PresentedKey {
    pub id: String,
    /// Compared by [`is_same_digest`].
    pub digest: [u8; 32],
}

impl PresentedKey {
    /// `None` if the text has another form, or its check is wrong.
    pub fn parse(text: &str) -> Option<Self> {
        let (body, check) = text.rsplit_once('_')?;
        let (id, secret) = body.strip_prefix(PREFIX)?.strip_prefix('_')?.split_once('_')?;
        let is_id = id.len() == ID_CHARS && id.bytes().all(|byte| ID_ALPHABET.contains(&byte));
        let secret = unhex(secret).filter(|secret| secret.len() == SECRET_BYTES)?;
        let is_key = is_id && check == check_of(body);
        is_key.then(|| Self { id: id.to_string(), digest: Sha256::digest(secret).into() })
    }
}

/// SHA-256.
pub(crate) fn digest_of(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// Compares in constant time.
pub fn is_same_digest(stored: &[u8; 32], presented: &[u8; 32]) -> bool {
    stored.ct_eq(presented).into()
}

fn check_of(body: &str) -> String {
    hex(&Sha256::digest(body)[..CHECK_BYTES])
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.map(|digit| char::from(DIGITS[usize::from(digit)])).collect()
}

/// Only lower-case digits, so that a key has one spelling.
fn unhex(text: &str) -> Option<Vec<u8>> {
    let value = |digit: &u8| match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    };
    let pairs = text.as_bytes().chunks(2);
    pairs.map(|pair| Some(value(pair.first()?)? << 4 | value(pair.get(1)?)?)).collect()
}

#[cfg(test)]
mod tests;
