//! The HTTP interface of the real binary, on both stores.

#![allow(clippy::unwrap_used, reason = "fixtures may panic")]

mod assets;
mod audit;
mod bad_input;
mod chaos;
mod coalesce;
mod credits;
mod dashboard;
mod database_certificates;
mod dead_letters;
mod flow;
mod generated_clients;
mod jobs;
mod large_answers;
mod lifecycle_api;
mod limits;
mod logs;
mod metrics;
mod minimal;
mod nodes;
mod operators;
mod pages;
mod promises;
mod reload;
mod roles;
mod schedules;
mod shutdown;
mod stats;
mod streams;
mod torture;
mod traces;
mod webhooks;
mod workers;
