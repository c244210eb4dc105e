//! Installs the programs that the checks need and that are missing on a Debian machine with Rust.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::step::{self, Report};
use crate::{browser, bucket, cargo, fuzz, generators, peers, prometheus, scratch};

const CLUSTER_SETTINGS: &str = "/etc/postgresql-common/createcluster.conf";
const PGBOUNCER_PLACES: &[&str] = &["/usr/sbin/pgbouncer", "/usr/bin/pgbouncer", "/usr/local/bin/pgbouncer"];

/// Installs components of the Rust toolchain with rustup.
pub fn components() -> Result<Report> {
    let mut report = Report::default();
    for (subcommand, component) in [("fmt", "rustfmt"), ("clippy", "clippy")] {
        if !cargo::has(subcommand) {
            report.append(add_component(component)?);
        }
    }
    Ok(report)
}

/// Installs programs with apt, components with rustup, and packages with pip and npm.
pub fn run() -> Result<Report> {
    let mut report = components()?;
    if scratch::programs().is_none() {
        report.append(packages(&["postgresql", "pgbouncer"])?);
        scratch::programs().context("apt-get installed postgresql, but /usr/lib/postgresql has no server")?;
    } else if !has_pgbouncer() {
        // Only one test needs it and reports it if it is missing, so the other checks go ahead.
        match packages(&["pgbouncer"]) {
            Ok(more) => report.append(more),
            Err(error) => report.append(Report::remark(format!(
                "PgBouncer is MISSING and cannot be installed: {}",
                error.to_string().lines().next().unwrap_or_default()
            ))),
        }
    }
    report.append(redis()?);
    fuzz::schemathesis()?;
    generators::install()?;
    prometheus::install()?;
    peers::install()?;
    report.append(browser::install()?);
    bucket::install()?;
    Ok(report)
}

/// A folder for packages under the target folder. Calls `install` unless exactly these are in it. A lock lets one process
/// install at a time, because tests that run in parallel call this too.
pub(crate) fn once(
    name: &str,
    packages: &[&str],
    install: impl FnOnce(&Path) -> Result<Report>,
) -> Result<PathBuf> {
    let folder = cargo::target().join("xtask").join(name);
    let (mark, wanted) = (folder.join("installed"), packages.join("\n"));
    let is_installed = || fs::read_to_string(&mark).is_ok_and(|installed| installed == wanted);
    if !is_installed() {
        fs::create_dir_all(&folder)?;
        let lock = fs::File::create(folder.with_extension("lock"))?;
        lock.lock()?;
        if !is_installed() {
            install(&folder)?;
            fs::write(&mark, &wanted)?;
        }
    }
    Ok(folder)
}

/// Installs the Redis server if it is missing.
pub(crate) fn redis() -> Result<Report> {
    if cargo::succeeds(Command::new("redis-server").arg("--version")) {
        return Ok(Report::default());
    }
    packages(&["redis-server"])
}

fn has_pgbouncer() -> bool {
    PGBOUNCER_PLACES.iter().any(|place| Path::new(place).exists())
}

fn add_component(component: &str) -> Result<Report> {
    let mut rustup = Command::new("rustup");
    step::command("install-rust", rustup.args(["component", "add", component]))
        .with_context(|| format!("{component} is missing, and `rustup component add {component}` failed"))
}

pub(crate) fn update_package_list() -> Result<Report> {
    step::command("install-update", &mut as_root(&["apt-get", "update"])?)
}

/// Installs Debian packages.
pub fn packages(packages: &[&str]) -> Result<Report> {
    let mut report = update_package_list().with_context(|| {
        format!("apt-get cannot fetch the package list; install by hand: {}", packages.join(" "))
    })?;
    if packages.contains(&"postgresql") {
        report.append(apt_install(&["postgresql-common"])?);
        // Without this the package creates and starts a cluster that is not used.
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
        bail!("apt-get is missing: install PostgreSQL (under /usr/lib/postgresql) and PgBouncer by hand");
    }
    // sudo clears the environment, so `env` sets the variable after it.
    let mut words = [&["env", "DEBIAN_FRONTEND=noninteractive"], words].concat();
    if !scratch::is_root()? {
        if !Path::new("/usr/bin/sudo").exists() {
            bail!("root is needed and sudo is missing; run as root: apt-get install postgresql pgbouncer");
        }
        // Fails instead of waiting for a password where there is no terminal.
        words = [&["sudo", "-n"], words.as_slice()].concat();
    }
    let mut command = Command::new(words[0]);
    command.args(&words[1..]);
    Ok(command)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn packages_are_installed_by_one_caller_at_a_time_and_once() {
        let name = format!("once-{}", std::process::id());
        let installs = AtomicUsize::new(0);
        let folders: Vec<PathBuf> = std::thread::scope(|scope| {
            let call = || {
                once(&name, &["a", "b"], |_| {
                    installs.fetch_add(1, Ordering::SeqCst);
                    Ok(Report::default())
                })
            };
            let callers: Vec<_> = (0..8).map(|_| scope.spawn(call)).collect();
            callers.into_iter().map(|caller| caller.join().unwrap().unwrap()).collect()
        });
        assert_eq!(installs.load(Ordering::SeqCst), 1);
        fs::remove_dir_all(&folders[0]).unwrap();
        fs::remove_file(folders[0].with_extension("lock")).unwrap();
    }
}
