//! The promises, kept in memory.

crate::conformance::promises!(crate::stores::memory);
