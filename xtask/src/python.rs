//! Programs of the Python package index, each in a virtual environment of its own under the target folder.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use crate::{cargo, install, step};

/// An installed program. Only if it is missing is pip asked, and apt for the virtual environment.
pub fn program(name: &str, requirement: &str) -> Result<PathBuf> {
    let folder = cargo::target().join("xtask").join(name);
    let (python, program) = (folder.join("bin/python"), folder.join("bin").join(name));
    let mark = folder.join("installed");
    if fs::read_to_string(&mark).is_ok_and(|installed| installed == requirement) {
        return Ok(program);
    }
    if !has_venv() {
        install::packages(&["python3", "python3-venv"])?;
    }
    let mut venv = Command::new("python3");
    step::command(&format!("{name}-venv"), venv.args(["-m", "venv", "--clear"]).arg(&folder))?;
    let mut pip = Command::new(python);
    pip.args(["-m", "pip", "install", "--disable-pip-version-check", requirement]);
    step::command(&format!("{name}-pip"), &mut pip)
        .with_context(|| format!("{requirement} cannot be installed from PyPI"))?;
    fs::write(mark, requirement)?;
    Ok(program)
}

fn has_venv() -> bool {
    let mut python = Command::new("python3");
    python.args(["-c", "import ensurepip, venv"]).stderr(Stdio::null());
    python.status().is_ok_and(|status| status.success())
}
