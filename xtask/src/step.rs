//! One step of `cargo xtask test`: one line if it passes, its whole output if it fails.
//!
//! While a step runs, its output goes to a file under the target folder, where it can be followed.

use std::fs::{self, File};
use std::io::Write;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::cargo;

/// The result of a step that passed.
#[derive(Debug, Default)]
pub struct Report {
    pub output: String,
    /// Warnings, printed below the step's line.
    pub remarks: Vec<String>,
}

impl Report {
    pub fn remark(text: impl Into<String>) -> Self {
        Self { remarks: vec![text.into()], ..Self::default() }
    }

    pub fn append(&mut self, other: Self) {
        self.output.push_str(&other.output);
        self.remarks.extend(other.remarks);
    }
}

/// Runs a step and prints its line.
pub fn run(name: &str, step: impl FnOnce() -> Result<Report>) -> Result<Report> {
    let start = Instant::now();
    match step() {
        Ok(report) => {
            println!("ok    {name:<9} {:>4}", seconds(start.elapsed()));
            for remark in &report.remarks {
                println!("      ! {remark}");
            }
            Ok(report)
        }
        Err(error) => {
            println!("FAIL  {name:<9} {:>4}", seconds(start.elapsed()));
            Err(error)
        }
    }
}

/// Runs a command for the step `name` with both output streams in one log. If it fails, the log is the error.
pub fn command(name: &str, command: &mut Command) -> Result<Report> {
    let folder = cargo::target().join("xtask");
    fs::create_dir_all(&folder)?;
    let path = folder.join(format!("{name}.log"));
    let log = File::create(&path).with_context(|| format!("cannot write {}", path.display()))?;
    let status = command
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log)
        .status()
        .with_context(|| format!("cannot start {}", command.get_program().display()))?;
    let output = String::from_utf8_lossy(&fs::read(&path)?).into_owned();
    if !status.success() {
        std::io::stdout().flush()?;
        bail!("{status}\n$ {}\n{output}", shown(command));
    }
    Ok(Report { output, remarks: Vec::new() })
}

pub fn seconds(time: Duration) -> String {
    format!("{:.0} s", time.as_secs_f64())
}

fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failing_command_returns_its_output() {
        let mut shell = Command::new("sh");
        let error = command("step-test", shell.args(["-c", "echo out; echo err >&2; exit 3"])).unwrap_err();
        let text = format!("{error:#}");
        assert!(text.contains("out\nerr"), "{text}");
        assert!(text.contains("exit status: 3"), "{text}");
    }

    #[test]
    fn a_passing_command_returns_its_output() {
        assert_eq!(command("step-test-2", Command::new("echo").arg("12")).unwrap().output, "12\n");
    }
}
