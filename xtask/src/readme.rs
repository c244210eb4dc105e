//! Runs the commands of README.md.
//!
//! One shell runs every block fenced as `sh`, in order, in a copy of the workspace made of links, so that files may be
//! written. Blocks fenced as `sh no-run` are skipped, and so are lines that fetch and build: the program is already built
//! and on the path as `tenure`, which replaces `cargo run --release --`. The server, which a reader starts in a second
//! terminal, runs in the background; the next commands wait until it answers.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::step::{self, Report};
use crate::{all, cargo};

const SECONDS_MAX: &str = "120";
const FETCH_AND_BUILD: &[&str] = &["git clone ", "cd ", "cargo "];
/// How the README runs the program.
const RUN: &str = "cargo run --release -- ";
const BACKGROUND: &str = "tenure dev &\nuntil tenure queue list > /dev/null 2>&1; do kill -0 $!; done\n";
/// Kills background processes at the end.
const PROLOGUE: &str = "set -euo pipefail\ntrap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n";

/// The step.
pub fn run() -> Result<Report> {
    let text = fs::read_to_string(cargo::root().join("README.md")).context("README.md is missing")?;
    let commands = commands(&text);
    if commands.is_empty() {
        return Ok(Report::remark("README.md has no commands: fence the first steps as ```sh"));
    }
    let program = all::tenure()?;
    let programs = program.parent().context("the program has no folder")?;
    let folder = cargo::target().join("xtask/readme");
    link_tree(&cargo::root(), &folder)?;
    let path = std::env::var("PATH").unwrap_or_default();
    let mut bash = Command::new("timeout");
    bash.args([SECONDS_MAX, "bash", "-c", &format!("{PROLOGUE}{commands}")]);
    step::command("readme", bash.current_dir(&folder).env("PATH", format!("{}:{path}", programs.display())))
}

fn commands(readme: &str) -> String {
    let mut inside = false;
    let mut commands = String::new();
    for line in readme.lines() {
        if line.trim_start().starts_with("```") {
            inside = !inside && line.trim() == "```sh";
        } else if inside && line == format!("{RUN}dev") {
            commands.push_str(BACKGROUND);
        } else if let Some(arguments) = line.strip_prefix(RUN).filter(|_| inside) {
            commands.extend(["tenure ", arguments, "\n"]);
        } else if inside && !FETCH_AND_BUILD.iter().any(|word| line.starts_with(word)) {
            commands.push_str(line);
            commands.push('\n');
        }
    }
    commands
}

fn link_tree(root: &Path, folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    fs::create_dir_all(folder)?;
    for entry in fs::read_dir(root)? {
        let entry = entry?;
        if entry.file_name() != "target" {
            symlink(entry.path(), folder.join(entry.file_name()))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_blocks_fenced_as_sh_are_run() {
        let readme = "\
text
```sh
git clone https://example.org/tenure
tenure serve &
```
```toml
a = 1
```
```sh no-run
tenure never
```
```sh
tenure job list
```";
        assert_eq!(commands(readme), "tenure serve &\ntenure job list\n");
    }
}
