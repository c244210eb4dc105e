//! The id of a used idempotency key.

use sha2::{Digest, Sha256};
use uuid::Uuid;

/// The prefix of keys that clients generate. A UUID of version 7 follows.
pub const GENERATED_KEY_PREFIX: &str = "auto-";

/// The id under which an idempotency key is stored: a digest of scope and key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyId(pub [u8; 16]);

impl KeyId {
    /// Each part is hashed with its length, so that different lists of parts give different ids.
    pub fn of(parts: &[&[u8]]) -> Self {
        let mut hash = Sha256::new();
        for part in parts {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
        let digest: [u8; 32] = hash.finalize().into();
        let mut id = [0; 16];
        id.copy_from_slice(&digest[..16]);
        Self(id)
    }

    /// Begins with the time in a generated key, so that keys of about the same time are stored next to each other: otherwise each
    /// key changes a different page of the database. 80 bits of the digest remain.
    #[must_use]
    pub(crate) fn in_order_of(mut self, key: &str) -> Self {
        let generated = key.strip_prefix(GENERATED_KEY_PREFIX).and_then(|id| Uuid::parse_str(id).ok());
        if let Some(id) = generated.filter(|id| id.get_version_num() == 7) {
            self.0[..6].copy_from_slice(&id.as_bytes()[..6]);
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_keys_are_stored_in_the_order_of_their_time() {
        let id = |key: &str| KeyId::of(&[b"given", key.as_bytes()]).in_order_of(key);
        let (early, late) = ("0198c0de-0000-7abc-8000-000000000000", "0198c0de-0001-7000-8000-000000000000");
        assert!(id(&format!("auto-{early}")) < id(&format!("auto-{late}")));
        assert_eq!(id(&format!("auto-{early}")).0[..6], [0x01, 0x98, 0xc0, 0xde, 0, 0]);
        let other_scope = KeyId::of(&[b"other"]).in_order_of(&format!("auto-{early}"));
        assert_ne!(other_scope, id(&format!("auto-{early}")));
        let random = "auto-7d444840-9dc0-41d1-b245-5ffdce74fad2";
        for key in [early, "auto-", "auto-x", random, "page-1"] {
            assert_eq!(id(key), KeyId::of(&[b"given", key.as_bytes()]), "{key} is as in earlier versions");
        }
    }
}
