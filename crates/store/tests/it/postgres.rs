//! The promises, checked on PostgreSQL, with two nodes.

crate::conformance::promises!(crate::stores::postgres);
