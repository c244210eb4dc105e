//! API keys: `tn_<id>_<secret>_<check>`.
//!
//! The id finds the row, the secret proves, and the check catches a typing error before anything is looked up and
//! lets a scanner tell a leaked key from noise. Only the id and the digest of the secret are kept. The secret has 256
//! bits of chance, so one round of SHA-256 is enough: there is nothing to guess, and a slow hash would only give
//! strangers a way to keep the server busy.

use std::fmt;

use ring::rand::{SecureRandom as _, SystemRandom};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

const PREFIX: &str = "tn";
/// Base 32 without the letters that are mistaken for digits.
const ID_ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
const ID_CHARS: usize = 12;
const SECRET_BYTES: usize = 32;
const CHECK_BYTES: usize = 4;

/// A key at the moment of its making, the only one at which its text exists.
#[derive(Debug)]
pub struct Issued {
    /// Finds the key again; not a secret.
    pub id: String,
    /// What its owner is shown, once.
    pub text: Secret,
    /// What the server keeps.
    pub digest: [u8; 32],
}

impl Issued {
    /// A new key from the operating system's randomness.
    pub fn new() -> Self {
        let mut chance = [0; ID_CHARS + SECRET_BYTES];
        SystemRandom::new().fill(&mut chance).expect("the operating system gives random bytes");
        let (for_id, secret) = chance.split_at(ID_CHARS);
        Self::of(for_id, secret)
    }

    /// The same, with an id that a repeat of the request makes again.
    pub fn repeatable(idempotency_key: &str) -> Self {
        let mut secret = [0; SECRET_BYTES];
        SystemRandom::new().fill(&mut secret).expect("the operating system gives random bytes");
        Self::of(&Sha256::digest(idempotency_key)[..ID_CHARS], &secret)
    }

    fn of(for_id: &[u8], secret: &[u8]) -> Self {
        let id: String = for_id.iter().map(|byte| char::from(ID_ALPHABET[usize::from(byte % 32)])).collect();
        let body = format!("{PREFIX}_{id}_{}", hex(secret));
        let text = Secret(format!("{body}_{}", check_of(&body)));
        Self { id, text, digest: Sha256::digest(secret).into() }
    }
}

/// A text that must not be printed by accident: its `Debug` hides it, and it has no `Display`.
pub struct Secret(String);

impl Secret {
    /// The text itself, for the one answer that shows it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Secret(hidden)")
    }
}

/// What a caller's key says before it has been compared with what is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Presented {
    /// Which key it claims to be.
    pub id: String,
    /// To be compared with the kept digest, by [`same`].
    pub digest: [u8; 32],
}

impl Presented {
    /// Reads a key's text; `None` if it is not exactly of that form or its check does not fit.
    pub fn parse(text: &str) -> Option<Self> {
        let (body, check) = text.rsplit_once('_')?;
        let (id, secret) = body.strip_prefix(PREFIX)?.strip_prefix('_')?.split_once('_')?;
        let id_fits = id.len() == ID_CHARS && id.bytes().all(|letter| ID_ALPHABET.contains(&letter));
        let secret = unhex(secret).filter(|secret| secret.len() == SECRET_BYTES)?;
        let fits = id_fits && check == check_of(body);
        fits.then(|| Self { id: id.to_string(), digest: Sha256::digest(secret).into() })
    }
}

/// Whether two digests are equal, in a time that does not say where they differ.
pub fn same(kept: &[u8; 32], presented: &[u8; 32]) -> bool {
    kept.ct_eq(presented).into()
}

fn check_of(body: &str) -> String {
    hex(&Sha256::digest(body)[..CHECK_BYTES])
}

fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.map(|digit| char::from(DIGITS[usize::from(digit)])).collect()
}

/// Lower-case digits only, so that a key has one spelling.
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
