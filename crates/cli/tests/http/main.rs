//! The server from outside: the real binary, real sockets, both stores.

#![allow(clippy::unwrap_used, reason = "fixtures may panic")]

mod assets;
mod bad_input;
mod chaos;
mod credits;
mod doors;
mod harness;
mod jobs;
mod limits;
mod logs;
mod minimal;
mod nodes;
mod operators;
mod pages;
mod pulse;
mod roles;
mod schedules;
mod seeds;
mod shutdown;
mod streams;
mod ui_dead_letters;
mod ui_job;
mod ui_jobs;
mod webhooks;
mod workers;
