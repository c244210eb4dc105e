//! `cargo xtask systems`: runs the systems of `examples/`. Each folder has a script `run` that starts the system and checks
//! that it does what its README says.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::cargo::{self, Program};
use crate::peers;
use crate::step::{self, Report};

const SECONDS_MAX: &str = "60";

/// Runs every system with the programs that cargo has built.
pub fn run(built: &[Program]) -> Result<Report> {
    let mut report = Report::default();
    for name in names()? {
        let mut run = Command::new("timeout");
        run.args(["--kill-after=5", SECONDS_MAX])
            .arg(cargo::root().join("examples").join(&name).join("run"))
            .env("TENURE", cargo::path_of(built, "tenure", false)?)
            .env("WORKER", cargo::path_of(built, "distributed", true)?)
            .env("NODE_PATH", peers::javascript()?.join("node_modules"));
        report.append(step::command(&format!("systems-{name}"), &mut run)?);
    }
    Ok(report)
}

/// The folders of `examples/`, each of which must have a `run`.
fn names() -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(cargo::root().join("examples")).context("examples/ is missing")? {
        let path = entry?.path();
        if path.join("run").is_file() {
            names.extend(path.file_name().map(|name| name.to_string_lossy().into_owned()));
        } else if path.is_dir() {
            bail!("{} has no `run`", path.display());
        }
    }
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_system_has_a_readme_that_its_overview_links() {
        let overview = fs::read_to_string(cargo::root().join("examples/README.md")).unwrap();
        for name in names().unwrap() {
            assert!(cargo::root().join("examples").join(&name).join("README.md").is_file(), "{name}");
            assert!(overview.contains(&format!("[{name}]({name})")), "{name}");
        }
    }

    #[test]
    fn the_engine_asks_for_the_package_that_is_installed() {
        let package = fs::read_to_string(cargo::root().join("examples/engine/package.json")).unwrap();
        let (name, version) = peers::JAVASCRIPT.split_once('@').unwrap();
        assert!(package.contains(&format!("\"{name}\": \"{version}\"")), "{package}");
    }
}
