//! `cargo xtask dist`: the files of a release in `target/dist`: a tarball, a Debian package, a bill of materials, checksums.
//!
//! The same commit and the same binary give the same bytes: names are sorted, owners are root, and every time is
//! `SOURCE_DATE_EPOCH`, or else the time of the last commit.

mod binary;
mod debian;
mod sbom;
mod tree;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::cargo;
use binary::Elf;
use tree::copy;

const CHECKSUMS: &str = "SHA256SUMS";
const USAGE: &str = "usage: cargo xtask dist [--binary FILE]";

/// What is released.
struct Release {
    version: String,
    /// Seconds since 1970, for every file.
    epoch: u64,
    binary: PathBuf,
    elf: Elf,
    /// Folder of the results.
    folder: PathBuf,
}

/// Builds the release binary, or takes the one of `--binary`, and writes the files.
pub fn run(arguments: &[String]) -> Result<()> {
    let binary = match arguments {
        [] => build()?,
        [flag, file] if flag == "--binary" => PathBuf::from(file),
        _ => bail!(USAGE),
    };
    let release = Release::new(&binary)?;
    let _ = fs::remove_dir_all(&release.folder);
    fs::create_dir_all(&release.folder)?;
    let stage = release.folder.join("stage");
    tarball(&release, &stage.join(release.name()))?;
    debian::package(&release, &stage.join("debian"))?;
    let bill = serde_json::to_string_pretty(&sbom::bill_of_materials(&release)?)?;
    fs::write(release.folder.join(format!("{}.cdx.json", release.name())), bill + "\n")?;
    fs::remove_dir_all(&stage)?;
    checksums(&release.folder)?;
    print!("{}", fs::read_to_string(release.folder.join(CHECKSUMS))?);
    Ok(())
}

impl Release {
    fn new(binary: &Path) -> Result<Self> {
        let bytes = fs::read(binary).with_context(|| format!("cannot read {}", binary.display()))?;
        let elf = Elf::read(&bytes).with_context(|| format!("{} cannot be released", binary.display()))?;
        let binary = binary.canonicalize()?;
        // "tenure 0.2.0"
        let named = output(Command::new(&binary).arg("--version"))?;
        let version = named.trim().strip_prefix("tenure ").context("the binary is not tenure")?.to_owned();
        Ok(Self { version, epoch: epoch()?, binary, elf, folder: cargo::target().join("dist") })
    }

    /// Name of the tarball and its folder.
    fn name(&self) -> String {
        format!("tenure-{}-{}", self.version, self.elf.architecture.triple())
    }

    /// Runs the binary and returns what it prints.
    fn printed(&self, arguments: &[&str]) -> Result<String> {
        output(Command::new(&self.binary).args(arguments))
    }
}

fn build() -> Result<PathBuf> {
    let mut command = cargo::command("build --release -p tenure --features full");
    command.arg("--message-format=json-render-diagnostics");
    let messages = output(&mut command)?;
    Ok(cargo::path_of(&cargo::programs(&messages), "tenure", false)?.to_path_buf())
}

/// `SOURCE_DATE_EPOCH`, or the time of the last commit.
fn epoch() -> Result<u64> {
    let text = match std::env::var("SOURCE_DATE_EPOCH") {
        Ok(text) => text,
        Err(_) => output(Command::new("git").args(["log", "-1", "--format=%ct"]).current_dir(cargo::root()))
            .context("set SOURCE_DATE_EPOCH: this is not a git repository")?,
    };
    text.trim().parse().context("SOURCE_DATE_EPOCH is not a number of seconds")
}

/// The binary with its documents, manual pages, completions, unit and observability files, in one folder.
fn tarball(release: &Release, stage: &Path) -> Result<()> {
    let root = cargo::root();
    copy(&release.binary, &stage.join("bin/tenure"), 0o755)?;
    for file in ["LICENSE", "README.md", "CHANGELOG.md"] {
        copy(&root.join(file), &stage.join(file), 0o644)?;
    }
    for file in ["tenure.service", "tenure.toml"] {
        copy(&root.join("packaging/systemd").join(file), &stage.join("systemd").join(file), 0o644)?;
    }
    tree::copy_folder(&root.join("observability"), &stage.join("observability"))?;
    tree::manual_pages(release, &stage.join("man/man1"))?;
    tree::completions(release, |shell| match shell {
        "bash" => stage.join("completions/tenure.bash"),
        "zsh" => stage.join("completions/_tenure"),
        _ => stage.join("completions/tenure.fish"),
    })?;
    let file = release.folder.join(format!("{}.tar", release.name()));
    output(
        Command::new("tar")
            .args(["--sort=name", "--format=gnu", "--owner=0", "--group=0", "--numeric-owner"])
            .arg(format!("--mtime=@{}", release.epoch))
            .args(["-cf".as_ref(), file.as_os_str(), "-C".as_ref()])
            .arg(stage.parent().context("the folder is below the stage")?)
            .arg(release.name()),
    )?;
    output(Command::new("gzip").arg("-nf").arg(file)).map(drop)
}

fn checksums(folder: &Path) -> Result<()> {
    let files = tree::names(folder)?;
    let sums = output(Command::new("sha256sum").arg("--").args(files).current_dir(folder))?;
    fs::write(folder.join(CHECKSUMS), sums)?;
    Ok(())
}

/// Runs a command and returns its standard output.
fn output(command: &mut Command) -> Result<String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().with_context(|| format!("cannot start {program}"))?;
    if !output.status.success() {
        bail!("{program}: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8(output.stdout)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_package_and_page_has_the_version_of_the_workspace() {
        let version = env!("CARGO_PKG_VERSION");
        for (path, text) in [
            ("clients/python/pyproject.toml", format!("\nversion = \"{version}\"\n")),
            ("clients/typescript/package.json", format!("\n  \"version\": \"{version}\",\n")),
            (
                "clients/typescript/platforms/linux-arm64/package.json",
                format!("\n  \"version\": \"{version}\",\n"),
            ),
            (
                "clients/typescript/platforms/linux-x64/package.json",
                format!("\n  \"version\": \"{version}\",\n"),
            ),
            (
                "packaging/helm/tenure/Chart.yaml",
                format!("\nversion: {version}\nappVersion: \"{version}\"\n"),
            ),
            ("docs/production.md", format!("apt install ./tenure_{version}-1_amd64.deb ")),
            ("CHANGELOG.md", format!("# Changelog\n\n## {version}\n")),
        ] {
            let found = fs::read_to_string(cargo::root().join(path)).unwrap();
            assert!(found.contains(&text), "{path} lacks {text:?}");
        }
    }
}
