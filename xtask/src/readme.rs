//! Runs the commands of README.md, so that the first thing a newcomer types works.
//!
//! Every block fenced as `sh` is run, in order, by one shell, in a folder that looks like the workspace but is not:
//! files may be written there. Blocks fenced as `sh no-run` are only shown. Lines that fetch and build are left out,
//! because the program is already built and on the path: `cargo run --release --` is `tenure`. What a reader starts in a
//! terminal of its own is started beside the rest, which waits until it answers.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::step::{self, Report};
use crate::{all, cargo};

const SECONDS_MAX: &str = "120";
const FETCH_AND_BUILD: &[&str] = &["git clone ", "cd ", "cargo "];
/// How a reader runs what was just built.
const RUN: &str = "cargo run --release -- ";
const BESIDE: &str = "tenure dev &\nuntil tenure queue list > /dev/null 2>&1; do kill -0 $!; done\n";
/// Whatever the commands left running ends with them.
const PROLOGUE: &str = "set -euo pipefail\ntrap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n";

/// The step.
pub fn run() -> Result<Report> {
    let text = fs::read_to_string(cargo::root().join("README.md")).context("README.md is missing")?;
    let commands = commands(&text);
    if commands.is_empty() {
        return Ok(Report::remark("README.md has no command to run: fence the first steps as ```sh"));
    }
    let program = all::tenure()?;
    let programs = program.parent().context("a program lies in a folder")?;
    let folder = cargo::target().join("xtask/readme");
    imitate(&cargo::root(), &folder)?;
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
            commands.push_str(BESIDE);
        } else if let Some(arguments) = line.strip_prefix(RUN).filter(|_| inside) {
            commands.extend(["tenure ", arguments, "\n"]);
        } else if inside && !FETCH_AND_BUILD.iter().any(|word| line.starts_with(word)) {
            commands.push_str(line);
            commands.push('\n');
        }
    }
    commands
}

fn imitate(root: &Path, folder: &Path) -> Result<()> {
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
    fn only_what_is_fenced_as_sh_is_run() {
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
