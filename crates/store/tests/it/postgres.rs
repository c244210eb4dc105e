//! The promises, kept by PostgreSQL for two nodes at once.

crate::conformance::promises!(crate::stores::postgres);
