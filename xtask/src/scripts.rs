//! Checks that have their own script: the SDKs in `clients/` and the files of `packaging/` and `observability/`.

use std::path::Path;
use std::process::Command;
use std::thread;

use anyhow::{Result, anyhow};

use crate::step::{self, Report};
use crate::{cargo, node, prometheus, python};

/// Checks the SDKs side by side: their tests mostly wait.
pub fn sdks(tenure: &Path) -> Result<Report> {
    python::install()?;
    node::install()?;
    thread::scope(|scope| {
        let checks = ["python", "typescript"].map(|language| {
            let mut check = script(&format!("clients/{language}/check"), tenure);
            scope.spawn(move || step::command(&format!("sdk-{language}"), &mut check))
        });
        let mut report = Report::default();
        for check in checks {
            report.append(check.join().map_err(|_| anyhow!("a check panicked"))??);
        }
        Ok(report)
    })
}

/// Checks unit, packages, chart, alerts and dashboard. What its programs are missing for is skipped and named.
pub fn packaging(tenure: &Path) -> Result<Report> {
    let mut check = script("packaging/check", tenure);
    let mut report = step::command("packaging", check.env("PROMTOOL", prometheus::promtool()?))?;
    let skipped = report.output.lines().filter(|line| line.starts_with("skip")).map(str::to_owned);
    report.remarks = skipped.collect();
    Ok(report)
}

fn script(path: &str, tenure: &Path) -> Command {
    let mut command = Command::new(cargo::root().join(path));
    command.current_dir(cargo::root()).env("TENURE_BINARY", tenure).env("CARGO_TARGET_DIR", cargo::target());
    command
}
