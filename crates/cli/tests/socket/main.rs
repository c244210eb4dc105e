//! The engine socket from outside: the real binary, and the Socket.IO clients that others use.

#![allow(clippy::unwrap_used, reason = "fixtures may panic")]

mod cancels;
mod endings;
mod engines;
mod front_ends;
#[path = "../http/harness.rs"]
#[allow(dead_code, reason = "shared with the tests of HTTP, which need all of it")]
mod harness;
mod limits;
mod nodes;
mod peer;
mod seed;
