//! The HTTP interface of the real binary, on both stores.

#![allow(clippy::unwrap_used, reason = "fixtures may panic")]

mod assets;
mod bad_input;
mod chaos;
mod coalesce;
mod credits;
mod dashboard;
mod dead_letters;
mod jobs;
mod lifecycle_api;
mod limits;
mod logs;
mod minimal;
mod nodes;
mod operators;
mod pages;
mod promises;
mod roles;
mod schedules;
mod shutdown;
mod stats;
mod streams;
mod webhooks;
mod workers;
