//! Installs Python packages with pip, each set in a separate virtual environment under the target folder.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use crate::{cargo, install, step};

/// The Python that has these packages; their programs are in the same folder. Runs pip only if one is missing.
pub fn with(name: &str, packages: &[&str]) -> Result<PathBuf> {
    let folder = cargo::target().join("xtask").join(name);
    let (python, mark, wanted) = (folder.join("bin/python"), folder.join("installed"), packages.join("\n"));
    if fs::read_to_string(&mark).is_ok_and(|installed| installed == wanted) {
        return Ok(python);
    }
    if !has_venv() {
        install::packages(&["python3", "python3-venv"])?;
    }
    let mut venv = Command::new("python3");
    step::command(&format!("{name}-venv"), venv.args(["-m", "venv", "--clear"]).arg(&folder))?;
    let mut pip = Command::new(&python);
    pip.args(["-m", "pip", "install", "--disable-pip-version-check"]).args(packages);
    step::command(&format!("{name}-pip"), &mut pip)
        .with_context(|| format!("pip cannot install {}", packages.join(", ")))?;
    fs::write(mark, wanted)?;
    Ok(python)
}

fn has_venv() -> bool {
    cargo::succeeds(Command::new("python3").args(["-c", "import ensurepip, venv"]))
}
