//! What the tool asks of cargo: commands in the workspace's root, its packages, its built programs.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// The simulator's package and program.
pub const SIM_PACKAGE: &str = "tenure-sim";
/// The example that is a bench: built with the others, but not run among them.
pub const BENCH_EXAMPLE: &str = "bench";

/// The workspace's root: where this package's folder lies.
pub fn root() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.parent().unwrap_or(package).to_path_buf()
}

/// Where cargo builds.
pub fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), |folder| root().join(folder))
}

/// The cargo that started us, in the workspace's root.
pub fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments).current_dir(root());
    command
}

/// Whether `cargo NAME` exists: a component or an installed subcommand.
pub fn has(subcommand: &str) -> bool {
    command(&[subcommand, "--version"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// `cargo metadata`, of the workspace alone or with everything it depends on.
pub fn metadata(with_dependencies: bool) -> Result<Value> {
    let mut command = command(&["metadata", "--format-version", "1"]);
    if !with_dependencies {
        command.arg("--no-deps");
    }
    let output = command.output().context("cargo cannot be started")?;
    if !output.status.success() {
        bail!("cargo metadata: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    serde_json::from_slice(&output.stdout).context("cargo metadata answered no JSON")
}

/// Whether the workspace has a package of this name.
pub fn has_package(name: &str) -> Result<bool> {
    let metadata = metadata(false)?;
    let packages = metadata["packages"].as_array().context("cargo metadata names no packages")?;
    Ok(packages.iter().any(|package| package["name"] == name))
}

/// A program that cargo built.
#[derive(Debug, PartialEq, Eq)]
pub struct Program {
    /// Its target's name.
    pub name: String,
    /// An example, not a binary.
    pub example: bool,
    /// Where it lies.
    pub path: PathBuf,
}

/// The programs named in cargo's `--message-format=json` output, in its order.
pub fn programs(messages: &str) -> Vec<Program> {
    let artifacts = messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let programs = artifacts.filter_map(|artifact| {
        let path = artifact["executable"].as_str()?;
        let target = &artifact["target"];
        let example = target["kind"].as_array()?.iter().any(|kind| kind == "example");
        Some(Program { name: target["name"].as_str()?.to_string(), example, path: path.into() })
    });
    programs.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_among_cargos_messages() {
        let messages = r#"
            {"reason":"compiler-artifact","target":{"kind":["lib"],"name":"a"},"executable":null}
            {"reason":"compiler-artifact","target":{"kind":["example"],"name":"b"},"executable":"/t/b"}
            {"reason":"compiler-artifact","target":{"kind":["bin"],"name":"c"},"executable":"/t/c"}
            {"reason":"build-finished","success":true}"#;
        let expected = [
            Program { name: "b".into(), example: true, path: "/t/b".into() },
            Program { name: "c".into(), example: false, path: "/t/c".into() },
        ];
        assert_eq!(programs(messages), expected);
    }

    #[test]
    fn the_root_is_where_the_workspace_lies() {
        assert!(root().join("xtask/src/cargo.rs").is_file());
    }
}
