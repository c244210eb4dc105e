//! Checks that have their own script: the SDKs in `clients/`, their conformance suite in `conformance/`, the scripts in `tools/move`,
//! and the files of `packaging/` and `observability/`.

use std::path::Path;
use std::process::Command;
use std::thread;

use anyhow::{Result, anyhow};

use crate::scratch::Scratch;
use crate::step::{self, Report};
use crate::{cargo, install, node, prometheus, python};

/// Checks the SDKs side by side: their tests mostly wait.
pub fn sdks(tenure: &Path, scratch: &Scratch) -> Result<Report> {
    python::install()?;
    node::install()?;
    thread::scope(|scope| {
        let checks = ["python", "typescript"].map(|language| {
            let mut check = script(&format!("clients/{language}/check"), tenure);
            check.envs(scratch.env());
            scope.spawn(move || step::command(&format!("sdk-{language}"), &mut check))
        });
        let mut report = Report::default();
        for check in checks {
            report.append(check.join().map_err(|_| anyhow!("a check panicked"))??);
        }
        Ok(report)
    })
}

/// Moves jobs of Celery, `BullMQ` and pg-boss to a server.
pub fn moves(tenure: &Path, scratch: &Scratch) -> Result<Report> {
    install::redis()?;
    python::install()?;
    node::install()?;
    step::command("move", script("tools/move/check", tenure).envs(scratch.env()))
}

/// Runs scenarios of the conformance suite against the SDKs. Its summary counts each scenario as a test.
pub fn conformance(tenure: &Path, arguments: &[String]) -> Result<Report> {
    python::install()?;
    node::install()?;
    step::command("conformance", script("conformance/run", tenure).args(arguments))
}

/// Checks unit, packages, chart, alerts and dashboard. What its programs are missing for is skipped and named.
pub fn packaging(tenure: &Path) -> Result<Report> {
    let mut check = script("packaging/check", tenure);
    Ok(with_skipped(step::command("packaging", check.env("PROMTOOL", prometheus::promtool()?))?))
}

/// Follows `docs/production.md` from the Debian package to a first job. Without root it is skipped and named.
pub fn clean_root(tenure: &Path) -> Result<Report> {
    Ok(with_skipped(step::command("clean-root", &mut script("packaging/clean-root", tenure))?))
}

fn with_skipped(mut report: Report) -> Report {
    report.remarks =
        report.output.lines().filter(|line| line.starts_with("skip")).map(str::to_owned).collect();
    report
}

fn script(path: &str, tenure: &Path) -> Command {
    let mut command = Command::new(cargo::root().join(path));
    command.current_dir(cargo::root()).env("TENURE_BINARY", tenure).env("CARGO_TARGET_DIR", cargo::target());
    command
}
