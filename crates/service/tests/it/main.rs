//! The service on a runtime without a network interface.

#![allow(clippy::unwrap_used, reason = "fixtures may panic")]

mod bulk_actions;
mod finished_jobs;
mod leases;
mod listings;
mod time_machine;
mod watched_store;
mod webhooks;
mod world;
