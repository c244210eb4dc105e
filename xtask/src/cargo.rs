//! Runs cargo in the workspace's root and reads its metadata and messages.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::Value;

pub const SIM_PACKAGE: &str = "tenure-sim";

/// The workspace's root.
pub fn root() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.parent().unwrap_or(package).to_path_buf()
}

/// Cargo's target folder.
pub fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), |folder| root().join(folder))
}

/// Subcommands that read `Cargo.lock`. With `--locked` they fail instead of changing it.
const LOCKED: &[&str] = &["build", "clippy", "doc", "metadata", "nextest run", "run", "test"];

/// The cargo that runs this program, in the workspace's root, with arguments that contain no spaces. No run changes
/// `Cargo.lock`.
pub fn command(arguments: &str) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(locked(arguments).split(' ')).current_dir(root());
    if std::env::var_os("CI").is_some() {
        // Nothing is built twice there, and nothing debugged.
        command.env("CARGO_INCREMENTAL", "0").env("CARGO_PROFILE_DEV_DEBUG", "0");
    }
    command
}

/// The arguments, with `--locked` after a subcommand that takes it.
fn locked(arguments: &str) -> String {
    for name in LOCKED {
        if let Some(rest) = arguments.strip_prefix(name).filter(|rest| rest.starts_with(' ')) {
            return format!("{name} --locked{rest}");
        }
    }
    arguments.to_owned()
}

/// Whether `cargo NAME` exists.
pub fn has(subcommand: &str) -> bool {
    succeeds(&mut command(&format!("{subcommand} --version")))
}

/// Whether a command can be started and succeeds; its output is not shown.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

/// `cargo metadata` of the workspace and all dependencies.
pub fn metadata() -> Result<Value> {
    let output = command("metadata --format-version 1").output().context("cannot start cargo")?;
    if !output.status.success() {
        bail!("cargo metadata: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    serde_json::from_slice(&output.stdout).context("cargo metadata did not print JSON")
}

/// A program that cargo built.
#[derive(Debug, PartialEq, Eq)]
pub struct Program {
    pub name: String,
    pub example: bool,
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

/// The path of one of the programs.
pub fn path_of<'a>(programs: &'a [Program], name: &str, example: bool) -> Result<&'a Path> {
    let found = programs.iter().find(|program| program.name == name && program.example == example);
    found.map(|program| program.path.as_path()).with_context(|| format!("cargo did not build {name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_read_from_cargos_messages() {
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
    fn what_reads_the_lock_file_does_not_change_it() {
        assert_eq!(locked("build --quiet -p xtask"), "build --locked --quiet -p xtask");
        assert_eq!(locked("run --release -- bench"), "run --locked --release -- bench");
        assert_eq!(locked("nextest run --workspace"), "nextest run --locked --workspace");
        for other in ["fmt --all --check", "nextest --version", "deny check bans", "runner x"] {
            assert_eq!(locked(other), other);
        }
    }

    #[test]
    fn the_root_is_the_workspaces() {
        assert!(root().join("xtask/src/cargo.rs").is_file());
    }
}
