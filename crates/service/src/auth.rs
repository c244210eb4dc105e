//! Who calls: the proofs that a caller may present, and what each of them says once it has been checked.
//!
//! A key is a text that this server made; a JWT is one that an issuer signed. What a role may do is not decided here.

pub mod jwt;
pub mod key;
