//! The promises, checked on SQLite.

crate::conformance::promises!(crate::stores::sqlite);
