//! The two kinds of credentials: API keys that this server issued, and JWTs that an external issuer signed. What a role may
//! do is decided in `caller`.

pub mod jwt;
pub mod key;
