//! The configuration through its public interface: files, variables and flags in, settings or flaws out.

#![allow(clippy::needless_raw_string_hashes, reason = "snapshots are written by a tool")]

mod documentation;
mod fixture;
mod flaws;
mod layers;
mod lifecycles;
mod types;
