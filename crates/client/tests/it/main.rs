//! The SDK against a scripted server over real sockets.

#![allow(clippy::unwrap_used, reason = "a test says by its panic what it did not expect")]

mod calls;
mod clocks;
mod following;
mod kit;
mod leases;
mod paths;
mod reports;
mod server;
