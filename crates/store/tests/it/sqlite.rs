//! The promises, kept by SQLite.

crate::conformance::promises!(crate::stores::sqlite);
