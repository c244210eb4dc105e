//! Installs Python packages with pip, each set in a separate virtual environment under the target folder.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use crate::{cargo, install, step};

const PYTHON: &str = "bin/python";

/// The Python that has these packages; their programs are in the same folder. Runs pip only if one is missing.
pub fn with(name: &str, packages: &[&str]) -> Result<PathBuf> {
    let folder = install::once(name, packages, |folder| {
        self::install()?;
        let mut venv = Command::new("python3");
        step::command(&format!("{name}-venv"), venv.args(["-m", "venv", "--clear"]).arg(folder))?;
        let mut pip = Command::new(folder.join(PYTHON));
        pip.args(["-m", "pip", "install", "--disable-pip-version-check"]).args(packages);
        step::command(&format!("{name}-pip"), &mut pip)
            .with_context(|| format!("pip cannot install {}", packages.join(", ")))
    })?;
    Ok(folder.join(PYTHON))
}

/// Installs Python with virtual environments if it is missing.
pub(crate) fn install() -> Result<()> {
    if !has_venv() {
        install::packages(&["python3", "python3-venv"])?;
    }
    Ok(())
}

fn has_venv() -> bool {
    cargo::succeeds(Command::new("python3").args(["-c", "import ensurepip, venv"]))
}
