//! The engine socket from outside: the real binary, and the Socket.IO clients that others use.

#![allow(clippy::unwrap_used, reason = "fixtures may panic")]

mod engines;
#[path = "../http/harness.rs"]
#[allow(dead_code, reason = "shared with the tests of HTTP, which need all of it")]
mod harness;
mod peer;
