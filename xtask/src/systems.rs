//! `cargo xtask systems`: each folder of `examples/` is a whole system, whose `run` starts it, tries it, and says by its
//! exit code whether it did what its README says.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::cargo::{self, Program};
use crate::install;
use crate::step::{self, Report};

const SECONDS_MAX: &str = "60";
/// What `examples/engine/package.json` asks for.
const SOCKET_IO: &str = "socket.io-client@4.8.4";

/// The step, with the programs that cargo has built.
pub fn run(built: &[Program]) -> Result<Report> {
    let program = |name: &str, example: bool| {
        let found = built.iter().find(|program| program.name == name && program.example == example);
        found.map(|program| &program.path).with_context(|| format!("cargo built no {name}"))
    };
    let mut report = Report::default();
    for name in names()? {
        let mut run = Command::new("timeout");
        run.args(["--kill-after=5", SECONDS_MAX])
            .arg(cargo::root().join("examples").join(&name).join("run"))
            .env("TENURE", program("tenure", false)?)
            .env("WORKER", program("distributed", true)?)
            .env("NODE_PATH", node_modules()?);
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

/// Where `socket.io-client` is installed. Only if it is missing is npm asked, and apt for what runs the examples.
pub fn node_modules() -> Result<PathBuf> {
    let folder = cargo::target().join("xtask/node");
    let mark = folder.join("installed");
    if fs::read_to_string(&mark).is_ok_and(|installed| installed == SOCKET_IO) {
        return Ok(folder.join("node_modules"));
    }
    if !has("npm") {
        install::packages(&["nodejs", "npm"])?;
    }
    fs::create_dir_all(&folder)?;
    let mut npm = Command::new("npm");
    npm.args(["install", "--no-audit", "--no-fund", "--prefix"]).arg(&folder).arg(SOCKET_IO);
    step::command("systems-npm", &mut npm).with_context(|| format!("npm cannot install {SOCKET_IO}"))?;
    fs::write(mark, SOCKET_IO)?;
    Ok(folder.join("node_modules"))
}

fn has(program: &str) -> bool {
    let mut asked = Command::new(program);
    asked.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
    asked.status().is_ok_and(|status| status.success())
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
        let (name, version) = SOCKET_IO.split_once('@').unwrap();
        assert!(package.contains(&format!("\"{name}\": \"{version}\"")), "{package}");
    }
}
