//! Programs that check `/metrics`: promtool, and the reference parser of `OpenMetrics`.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use crate::{install, python, step};

/// The Debian package that contains promtool.
const PACKAGE: &str = "prometheus";
const PARSER: &str = "prometheus-client==0.26.0";

/// Installs both, if missing.
pub fn install() -> Result<()> {
    promtool()?;
    python()?;
    Ok(())
}

/// The program promtool. The package is only unpacked: installed, it would start a server.
pub fn promtool() -> Result<PathBuf> {
    let folder = install::once("promtool", &[PACKAGE], |folder| {
        let download = || {
            let mut apt = Command::new("apt-get");
            step::command("promtool-download", apt.args(["download", PACKAGE]).current_dir(folder))
        };
        download().or_else(|_| install::update_package_list().and_then(|_| download()))?;
        let mut unpack = Command::new("sh");
        unpack.args(["-c", "dpkg-deb -x prometheus_*.deb . && rm prometheus_*.deb"]).current_dir(folder);
        step::command("promtool-unpack", &mut unpack)
    });
    Ok(folder
        .context("tests of /metrics need promtool, of Debian's package prometheus")?
        .join("usr/bin/promtool"))
}

/// The Python that has the reference parser.
pub fn python() -> Result<PathBuf> {
    python::with("openmetrics", &[PARSER])
}
