//! Third-party Socket.IO clients for tests of the engine socket: the official one for JavaScript, and one for Python.

use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::{node, python};

/// The official client; `examples/engine` uses the same version.
pub const JAVASCRIPT: &str = "socket.io-client@4.8.4";
const PYTHON: &[&str] = &["python-socketio==5.18.1", "requests==2.32.5", "websocket-client==1.9.2"];

/// Installs both, if missing.
pub fn install() -> Result<()> {
    javascript()?;
    python()?;
    Ok(())
}

/// The folder with the JavaScript client.
pub fn javascript() -> Result<PathBuf> {
    node::with("socket-javascript", &[JAVASCRIPT])
        .context("tests of the engine socket need the official client")
}

/// The Python that has the Python client.
pub fn python() -> Result<PathBuf> {
    python::with("socket-python", PYTHON)
}
