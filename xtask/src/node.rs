//! Installs npm packages, each set in a separate folder under the target folder.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use crate::{cargo, install, step};

/// The folder in which node finds these packages. Runs npm only if one is missing, and installs npm if it is missing.
pub fn with(name: &str, packages: &[&str]) -> Result<PathBuf> {
    install::once(name, packages, |folder| {
        self::install()?;
        let mut npm = Command::new("npm");
        npm.args(["install", "--no-save", "--no-audit", "--no-fund", "--prefix"]).arg(folder).args(packages);
        step::command(&format!("{name}-npm"), &mut npm)
            .with_context(|| format!("npm cannot install {}", packages.join(", ")))
    })
}

/// Installs Node and npm if they are missing.
pub(crate) fn install() -> Result<()> {
    if !has_npm() {
        install::packages(&["nodejs", "npm"])?;
    }
    Ok(())
}

fn has_npm() -> bool {
    ["node", "npm"].iter().all(|program| cargo::succeeds(Command::new(program).arg("--version")))
}
