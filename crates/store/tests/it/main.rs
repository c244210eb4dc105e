//! The stores, held to one list of promises, and then to everything that can go wrong with each.

#![allow(clippy::unwrap_used, reason = "a test says by its panic what it did not expect")]

mod beds;
mod child;
mod conformance;
mod crash;
mod differential;
mod faults;
mod fixture;
mod memory;
mod plans;
mod postgres;
mod races;
mod schema;
mod sqlite;
mod upgrade;
