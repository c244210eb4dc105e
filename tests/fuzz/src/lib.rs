//! Fuzz targets: the parsers and decoders that read untrusted input, each with the properties that hold for every input.
//!
//! A target panics if a property does not hold. The seed inputs of a target are the files of its folder in `corpus`.
//! `cargo xtask test` replays them and changes them at random, from a fixed seed; `cargo xtask fuzz-targets` runs libFuzzer,
//! which keeps the changes that reach new code.

pub mod corpus;
pub mod mutator;
pub mod runner;
mod targets;

pub use targets::{TARGETS, Target};
