//! Simulated disk failures: `shim.c`, built with the C compiler and loaded into a process with `LD_PRELOAD`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

/// Builds the shim in a folder and returns the path of the library.
pub fn build(folder: &Path) -> Result<PathBuf> {
    fs::write(folder.join("shim.c"), include_str!("shim.c"))?;
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-O1", "-o", "shim.so", "shim.c", "-ldl"]).current_dir(folder);
    let built = compiler.output().context("a C compiler is missing; Rust needs one to link, too")?;
    if !built.status.success() {
        bail!("cannot build the shim: {}", String::from_utf8_lossy(&built.stderr));
    }
    Ok(folder.join("shim.so"))
}
