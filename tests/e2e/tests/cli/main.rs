//! The command line: whole outputs and exit codes.

#![allow(
    clippy::unwrap_used,
    clippy::needless_raw_string_hashes,
    reason = "a test fails by a panic, and snapshots are written by a tool"
)]

mod backup;
mod bench;
mod dev;
mod doctor;
mod exits;
mod fake_server;
mod help;
mod hostile_text;
mod jobs;
mod lifecycle;
mod mcp;
mod old_store;
mod operators;
mod runs;
mod test_server;
mod top;
mod verify;
mod what_if;
mod work;

use tenure_e2e::cli::CliServer;

/// A server with the lifecycle and the job types of `fixtures`.
fn start_server() -> CliServer {
    CliServer::start(&[
        ("gate.toml", include_str!("fixtures/gate.toml")),
        ("tenure.toml", include_str!("fixtures/tenure.toml")),
    ])
}
