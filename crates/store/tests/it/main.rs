//! Tests of the stores: one list of promises for all of them, then the failures of each.

#![allow(clippy::unwrap_used, reason = "a test fails with a panic")]

mod capacity;
mod child;
mod conformance;
mod crash;
mod differential;
mod earlier_version;
mod faults;
mod fixture;
mod journal;
mod memory;
mod notifications;
mod plans;
mod postgres;
mod prelude;
mod races;
mod schema;
mod sqlite;
mod stores;
mod upgrade;
