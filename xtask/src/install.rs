//! Installs what a fresh Debian machine with Rust lacks, and does nothing where nothing is missing.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::step::{self, Report};
use crate::{browser, bucket, cargo, fuzz, peers, scratch};

const CLUSTER_SETTINGS: &str = "/etc/postgresql-common/createcluster.conf";
const PGBOUNCER_PLACES: &[&str] = &["/usr/sbin/pgbouncer", "/usr/bin/pgbouncer", "/usr/local/bin/pgbouncer"];

/// The step: programs by apt, components by rustup, what Python and JavaScript have by pip and npm.
pub fn run() -> Result<Report> {
    let mut report = Report::default();
    for (subcommand, component) in [("fmt", "rustfmt"), ("clippy", "clippy")] {
        if !cargo::has(subcommand) {
            report.append(add_component(component)?);
        }
    }
    if scratch::programs().is_none() {
        report.append(packages(&["postgresql", "pgbouncer"])?);
        scratch::programs().context("apt-get installed postgresql, but no server is where Debian puts it")?;
    } else if !has_pgbouncer() {
        // Only one test needs it, and says so itself; the others should not wait for a package.
        match packages(&["pgbouncer"]) {
            Ok(more) => report.append(more),
            Err(error) => report.append(Report::remark(format!(
                "PgBouncer is MISSING and could not be installed: {}",
                error.to_string().lines().next().unwrap_or_default()
            ))),
        }
    }
    fuzz::schemathesis()?;
    peers::install()?;
    report.append(browser::install()?);
    bucket::install()?;
    Ok(report)
}

fn has_pgbouncer() -> bool {
    PGBOUNCER_PLACES.iter().any(|place| Path::new(place).exists())
}

fn add_component(component: &str) -> Result<Report> {
    let mut rustup = Command::new("rustup");
    step::command("install-rust", rustup.args(["component", "add", component])).with_context(|| {
        format!("{component} is not installed, and `rustup component add {component}` does not help")
    })
}

/// Installs Debian packages.
pub fn packages(packages: &[&str]) -> Result<Report> {
    let mut report =
        step::command("install-update", &mut as_root(&["apt-get", "update"])?).with_context(|| {
            format!("the list of packages cannot be fetched; install by hand: {}", packages.join(" "))
        })?;
    if packages.contains(&"postgresql") {
        report.append(apt_install(&["postgresql-common"])?);
        // The package would start a cluster of its own, which nobody here uses.
        let setting = "s/^#? *create_main_cluster.*/create_main_cluster = false/";
        let mut sed = as_root(&["sed", "-E", "-i", setting, CLUSTER_SETTINGS])?;
        report.append(step::command("install-settings", &mut sed)?);
    }
    report.append(apt_install(packages)?);
    Ok(report)
}

fn apt_install(packages: &[&str]) -> Result<Report> {
    let mut apt = as_root(&["apt-get", "install", "-y", "--no-install-recommends"])?;
    step::command("install-apt", apt.args(packages))
        .with_context(|| format!("install by hand: {}", packages.join(" ")))
}

fn as_root(words: &[&str]) -> Result<Command> {
    if !Path::new("/usr/bin/apt-get").exists() {
        bail!("this is no Debian: install PostgreSQL (under /usr/lib/postgresql) and PgBouncer by hand");
    }
    // `env` sets the variable on the far side of sudo, which clears the environment.
    let mut words = [&["env", "DEBIAN_FRONTEND=noninteractive"], words].concat();
    if !scratch::we_are_root()? {
        if !Path::new("/usr/bin/sudo").exists() {
            bail!(
                "installing needs root, and there is no sudo; as root: apt-get install postgresql pgbouncer"
            );
        }
        // Without a terminal nobody can type a password: better to say so than to wait.
        words = [&["sudo", "-n"], words.as_slice()].concat();
    }
    let mut command = Command::new(words[0]);
    command.args(&words[1..]);
    Ok(command)
}
