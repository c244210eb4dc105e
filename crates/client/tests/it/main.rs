//! The SDK against a scripted server, and against a server in memory.

#![allow(clippy::unwrap_used, reason = "a test fails by a panic")]

mod calls;
mod coalesce;
mod fake_server;
mod following;
mod kit;
mod leases;
mod paths;
mod reports;
mod timeouts;
#[cfg(feature = "otel")]
mod traces;
