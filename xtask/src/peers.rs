//! The Socket.IO clients that others use, for tests of the engine socket: the official one for JavaScript, and Python's.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use crate::{cargo, install, python, step};

/// The official client, as npm names it; `examples/engine` asks for the same.
pub const JAVASCRIPT: &str = "socket.io-client@4.8.4";
const PYTHON: &[&str] = &["python-socketio==5.18.1", "requests==2.32.5", "websocket-client==1.9.2"];

/// Installs what is missing of both.
pub fn install() -> Result<()> {
    javascript()?;
    python()?;
    Ok(())
}

/// The folder with the official client's package. Only if it is missing is npm asked, and apt for npm.
pub fn javascript() -> Result<PathBuf> {
    let folder = cargo::target().join("xtask/socket-javascript");
    let mark = folder.join("installed");
    if fs::read_to_string(&mark).is_ok_and(|installed| installed == JAVASCRIPT) {
        return Ok(folder);
    }
    if !has_npm() {
        install::packages(&["nodejs", "npm"])?;
    }
    fs::create_dir_all(&folder)?;
    let mut npm = Command::new("npm");
    npm.args(["install", "--no-save", "--no-audit", "--no-fund", "--prefix"]).arg(&folder).arg(JAVASCRIPT);
    step::command("socket-npm", &mut npm).with_context(|| {
        format!("{JAVASCRIPT} cannot be installed by npm, and no other client is the official one")
    })?;
    fs::write(mark, JAVASCRIPT)?;
    Ok(folder)
}

/// The Python that has its client.
pub fn python() -> Result<PathBuf> {
    python::with("socket-python", PYTHON)
}

fn has_npm() -> bool {
    let has = |program: &str| {
        let mut command = Command::new(program);
        command.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    has("node") && has("npm")
}
