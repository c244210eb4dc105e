//! Harness of the end-to-end tests: starts the real `tenure` binary on either store and talks to it over HTTP, over
//! Socket.IO, through the command line, as an MCP client, in a terminal and in a browser.

#![allow(clippy::unwrap_used, reason = "a test fails by a panic")]

mod binary;
pub mod browser;
mod calls;
pub mod cli;
mod http;
mod json;
pub mod mcp;
mod past;
mod postgres;
mod random;
mod screen;
mod server;
mod setup;
pub mod socket;
mod sse;
pub mod terminal;
pub mod torture;
mod wait;

pub use binary::tenure;
pub use calls::Metrics;
pub use http::{Reply, Request, http_client};
pub use json::{
    assert_field_names, assert_fields, column, field_names, find, id, merged, millis, path, rows,
    sorted_words,
};
pub use past::{PastMinute, server_with_past};
pub use postgres::{new_database, server_url};
pub use random::SeededRandom;
pub use server::Server;
pub use setup::{
    Setup, Store, on_both_stores, on_both_stores_with_config, on_both_stores_with_files,
    on_both_stores_with_setup,
};
pub use sse::{EventStream, SseEvent};
pub use tenure_launcher::{DEADLINE, Process, Signal};
pub use wait::{eventually, in_time};
