//! The HTTP interface of the real binary, on both stores.

#![allow(clippy::unwrap_used, reason = "fixtures may panic")]

mod assets;
mod audit;
mod bad_input;
mod changes;
mod chaos;
mod coalesce;
mod credits;
mod dashboard;
mod database_certificates;
mod dead_letters;
mod flow;
mod generated_clients;
mod intake;
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
mod resources;
mod roles;
mod schedules;
mod shutdown;
mod statistics;
mod stats;
mod stream_tokens;
mod streams;
mod time_machine;
mod torture;
mod traces;
mod webhooks;
mod what_if;
mod workers;
