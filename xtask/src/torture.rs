//! `cargo xtask torture`: installs what a rig needs, builds the programs and runs the rig.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::scratch::{self, Scratch};
use crate::{cargo, install};

/// The programs of a rig and the Debian packages that contain them.
const NEEDED: &[(&str, &[(&str, &str)])] = &[
    (
        "power",
        &[
            ("nbdkit", "nbdkit"),
            ("nbdfuse", "libnbd-bin"),
            ("fusermount3", "fuse3"),
            ("mkfs.ext4", "e2fsprogs"),
            ("losetup", "mount"),
        ],
    ),
    ("failover", &[("patroni", "patroni"), ("etcd", "etcd-server")]),
];
const FOLDERS: &[&str] = &["/usr/bin", "/usr/sbin", "/bin", "/sbin", "/usr/local/bin", "/usr/local/sbin"];
/// Rigs that mount file systems or create control groups, unless they are simulated.
const AS_ROOT: &[&str] = &["power", "disk", "overload"];
const SIMULATED: &str = "--without-root";

/// The rig, ready to run, and the PostgreSQL that it uses.
pub fn prepare(arguments: &[String]) -> Result<(Command, Scratch)> {
    let rig = arguments.first().map(String::as_str).unwrap_or_default();
    let is_simulated = arguments.iter().any(|argument| argument == SIMULATED);
    if AS_ROOT.contains(&rig) && !is_simulated && !scratch::is_root()? {
        bail!("{rig} needs root; run it as root, or simulated with {SIMULATED}");
    }
    let missing = if is_simulated { Vec::new() } else { missing_packages(rig) };
    if !missing.is_empty() {
        install::packages(&missing).with_context(|| format!("{rig} needs {}", missing.join(" ")))?;
    }
    let built = cargo::command("build --quiet --workspace --all-features --bins --examples").status()?;
    if !built.success() {
        bail!("the build failed");
    }
    let scratch = Scratch::start()?;
    let mut run = Command::new(cargo::target().join("debug/examples/torture"));
    run.args(arguments).envs(scratch.env());
    Ok((run, scratch))
}

fn missing_packages(rig: &str) -> Vec<&'static str> {
    let needed = NEEDED.iter().filter(|(name, _)| *name == rig).flat_map(|(_, programs)| *programs);
    let is_missing = |program: &str| !FOLDERS.iter().any(|folder| Path::new(folder).join(program).exists());
    needed.filter(|(program, _)| is_missing(program)).map(|(_, package)| *package).collect()
}
