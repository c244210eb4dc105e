//! The Socket.IO clients that others use, for tests of the engine socket: the official one for JavaScript, and Python's.

use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::{node, python};

/// The official client, as npm names it; `examples/engine` asks for the same.
pub const JAVASCRIPT: &str = "socket.io-client@4.8.4";
const PYTHON: &[&str] = &["python-socketio==5.18.1", "requests==2.32.5", "websocket-client==1.9.2"];

/// Installs what is missing of both.
pub fn install() -> Result<()> {
    javascript()?;
    python()?;
    Ok(())
}

/// The folder with the official client's package.
pub fn javascript() -> Result<PathBuf> {
    node::with("socket-javascript", &[JAVASCRIPT]).context("no other client is the official one")
}

/// The Python that has its client.
pub fn python() -> Result<PathBuf> {
    python::with("socket-python", PYTHON)
}
