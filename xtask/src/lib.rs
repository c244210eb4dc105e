//! Checks and tools of the workspace, as a library: tests of other crates start a [`scratch`] PostgreSQL or a scratch
//! [`bucket`] with the same code as `cargo xtask test`.
//!
//! Nothing here depends on the crates that it checks, only on `tenure-launcher`: the tool must work while they do not
//! compile.

pub mod all;
pub mod browser;
pub mod bucket;
pub mod cargo;
pub mod comparison;
pub mod deny;
pub mod dist;
pub mod fuzz;
pub mod fuzz_targets;
pub mod generators;
mod http;
pub mod install;
pub mod node;
pub mod peers;
pub mod prometheus;
pub mod python;
pub mod readme;
pub mod scratch;
pub mod scripts;
pub mod shim;
pub mod step;
pub mod systems;
pub mod tally;
pub mod tidy;
pub mod torture;
