//! The workspace's own tool, as a library so that a test of another crate can start a [`scratch`] PostgreSQL or a scratch
//! [`bucket`] with the same code as `cargo xtask test`.
//!
//! Nothing in here knows Tenure's own types: the tool must work while everything else does not compile.

pub mod all;
pub mod browser;
pub mod bucket;
pub mod cargo;
pub mod deny;
pub mod fuzz;
pub mod install;
pub mod node;
pub mod peers;
pub mod python;
pub mod readme;
pub mod scratch;
pub mod step;
pub mod systems;
pub mod tally;
pub mod tidy;
