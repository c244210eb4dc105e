//! Doors: a lifecycle's own routes, in its own words.

pub(crate) mod words;
