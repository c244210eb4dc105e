//! Seed inputs: the files of a target's folder.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

/// The folder of a target's seed inputs.
pub fn folder(target: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target)
}

/// The seed inputs of a target, by name.
pub fn read(target: &str) -> Result<Vec<(String, Vec<u8>)>> {
    let folder = folder(target);
    let files = fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut inputs = Vec::new();
    for file in files {
        let path = file?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        inputs.push((name, fs::read(&path)?));
    }
    ensure!(!inputs.is_empty(), "{} has no files", folder.display());
    inputs.sort();
    Ok(inputs)
}
