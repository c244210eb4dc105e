//! Lifecycle files: which are refused and with what message, what is derived from them, and how versions differ.

#![allow(clippy::unwrap_used, reason = "fixtures may panic")]

#[macro_use]
mod cases;

mod broken;
mod built_in;
mod consequences;
mod diffs;
mod doc;
mod mutated;
mod mutations;
mod snapshots;

use tenure_core::lifecycle::{Flaw, Lifecycle};

/// A valid file that uses every feature. The tests break it, one piece at a time.
const REVIEW: &str = include_str!("review.toml");

/// The file with pieces replaced. Each piece must occur once, so that a test breaks what it intends to.
fn review(changes: &[(&str, &str)]) -> String {
    let mut source = REVIEW.to_owned();
    for (old, new) in changes {
        assert_eq!(source.matches(old).count(), 1, "`{old}` should occur once");
        source = source.replace(old, new);
    }
    source
}

/// The flaws of the changed file.
fn flaws(changes: &[(&str, &str)]) -> Vec<Flaw> {
    Lifecycle::parse(&review(changes)).err().unwrap_or_default()
}

#[test]
fn the_base_file_passes() {
    assert_eq!(flaws(&[]), []);
}
