//! Doors: a lifecycle's own words.

#[allow(dead_code, reason = "events need a part of them")]
pub(crate) mod words;
