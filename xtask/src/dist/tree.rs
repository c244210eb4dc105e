//! Files of a package, written below a folder.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::{Release, output};

const SHELLS: &[&str] = &["bash", "zsh", "fish"];

/// Copies a file with this mode.
pub(super) fn copy(from: &Path, to: &Path, mode: u32) -> Result<()> {
    let bytes = fs::read(from).with_context(|| format!("cannot read {}", from.display()))?;
    write(to, &bytes, mode)
}

/// Writes a file with this mode. Its folders get 0755, whatever the umask.
pub(super) fn write(path: &Path, bytes: &[u8], mode: u32) -> Result<()> {
    let folder = path.parent().context("the path has a folder")?;
    create_folder(folder)?;
    fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(fs::set_permissions(path, fs::Permissions::from_mode(mode))?)
}

fn create_folder(folder: &Path) -> Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    if let Some(parent) = folder.parent() {
        create_folder(parent)?;
    }
    fs::create_dir(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    Ok(fs::set_permissions(folder, fs::Permissions::from_mode(0o755))?)
}

/// Copies a folder with everything below it.
pub(super) fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    for name in names(from)? {
        let (from, to) = (from.join(&name), to.join(&name));
        if from.is_dir() {
            copy_folder(&from, &to)?;
        } else {
            copy(&from, &to, 0o644)?;
        }
    }
    Ok(())
}

/// Names in a folder, sorted.
pub(super) fn names(folder: &Path) -> Result<Vec<String>> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let names = entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
    let mut names = names.collect::<Result<Vec<String>>>()?;
    names.sort();
    Ok(names)
}

/// Writes the manual pages, compressed.
pub(super) fn manual_pages(release: &Release, folder: &Path) -> Result<()> {
    create_folder(folder)?;
    output(Command::new(&release.binary).args(["man", "--dir"]).arg(folder))?;
    let pages: Vec<PathBuf> = names(folder)?.iter().map(|name| folder.join(name)).collect();
    for page in &pages {
        fs::set_permissions(page, fs::Permissions::from_mode(0o644))?;
    }
    compress(&pages)
}

/// Replaces files by their compressed form, `FILE.gz`, without name and time.
pub(super) fn compress(files: &[PathBuf]) -> Result<()> {
    output(Command::new("gzip").arg("-9nf").args(files)).map(drop)
}

/// Writes the completions of each shell to the path that `place` returns for it.
pub(super) fn completions(release: &Release, place: impl Fn(&str) -> PathBuf) -> Result<()> {
    for shell in SHELLS {
        write(&place(shell), release.printed(&["completions", shell])?.as_bytes(), 0o644)?;
    }
    Ok(())
}
