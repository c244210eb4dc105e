//! One step of `cargo xtask test`: a line when it is green, everything it said when it is not.
//!
//! A step's output goes to a file under the target folder while it runs, so that it can be followed, and read again
//! afterwards.

use std::fs::{self, File};
use std::io::Write;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::cargo;

/// What a step left behind: its output, and what must be said loudly although it passed.
#[derive(Debug, Default)]
pub struct Report {
    /// Everything its commands printed.
    pub output: String,
    /// One line each, printed below the step's own.
    pub remarks: Vec<String>,
}

impl Report {
    /// A report whose only content is one remark.
    pub fn remark(text: impl Into<String>) -> Self {
        Self { remarks: vec![text.into()], ..Self::default() }
    }

    /// Puts another report behind this one.
    pub fn append(&mut self, other: Self) {
        self.output.push_str(&other.output);
        self.remarks.extend(other.remarks);
    }
}

/// Runs a step as part of a longer run: prints its line, returns what it left.
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

/// Runs a step that was asked for by its name.
pub fn alone(name: &str, step: impl FnOnce() -> Result<Report>) -> Result<()> {
    run(name, step).map(|_| ())
}

/// Runs a command for the step `name`: both its streams into one log, which is the error if it fails.
pub fn command(name: &str, command: &mut Command) -> Result<Report> {
    let folder = cargo::target().join("xtask");
    fs::create_dir_all(&folder)?;
    let path = folder.join(format!("{name}.log"));
    let log = File::create(&path).with_context(|| format!("{} cannot be written", path.display()))?;
    let status = command
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log)
        .status()
        .with_context(|| format!("{} cannot be started", command.get_program().display()))?;
    let output = String::from_utf8_lossy(&fs::read(&path)?).into_owned();
    if !status.success() {
        std::io::stdout().flush()?;
        bail!("{status}\n$ {}\n{output}", shown(command));
    }
    Ok(Report { output, remarks: Vec::new() })
}

/// A time as it stands in a step's line.
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
    fn a_command_that_fails_brings_all_it_said() {
        let mut shell = Command::new("sh");
        let error = command("step-test", shell.args(["-c", "echo out; echo err >&2; exit 3"])).unwrap_err();
        let text = format!("{error:#}");
        assert!(text.contains("out\nerr"), "{text}");
        assert!(text.contains("exit status: 3"), "{text}");
    }

    #[test]
    fn a_command_that_passes_keeps_its_output() {
        assert_eq!(command("step-test-2", Command::new("echo").arg("12")).unwrap().output, "12\n");
    }
}
