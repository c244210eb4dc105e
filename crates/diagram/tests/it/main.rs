//! Diagrams and maps of the built-in lifecycles, and of one that uses every feature of the format.

#![allow(clippy::unwrap_used, reason = "fixtures may panic")]

mod drawings;
mod maps;
#[allow(dead_code, reason = "the tests of core also read the original")]
#[path = "../../../core/tests/lifecycle/mutated.rs"]
mod mutated;
mod overlaps;
mod svg;

use tenure_core::lifecycle::{BUILT_IN, Lifecycle};

const REVIEW: &str = include_str!("../../../core/tests/lifecycle/review.toml");

fn all() -> Vec<Lifecycle> {
    BUILT_IN.iter().chain([&REVIEW]).map(|source| Lifecycle::parse(source).unwrap()).collect()
}

fn assert_snapshot(file: &str, text: &str) {
    expect_test::expect_file![format!("snapshots/{file}")].assert_eq(text);
}

fn named(name: &str) -> Lifecycle {
    all().into_iter().find(|lifecycle| lifecycle.name == name).unwrap()
}
