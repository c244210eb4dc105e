//! The promises, checked on the store in memory.

crate::conformance::promises!(crate::stores::memory);
