//! The promises, kept in memory.

crate::conformance::promises!(crate::beds::memory);
