//! The server from outside: the real binary, real sockets, both stores.

#![allow(clippy::unwrap_used, reason = "fixtures may panic")]

mod assets;
mod bad_input;
mod harness;
mod jobs;
mod nodes;
mod operators;
mod pages;
mod roles;
mod shutdown;
mod streams;
mod workers;
