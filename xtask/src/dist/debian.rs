//! The Debian package, built by `dpkg-deb` from `packaging/debian`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::tree::{completions, compress, copy, copy_folder, manual_pages, write};
use super::{Release, output};
use crate::cargo;

/// Debian's revision of a version.
const REVISION: &str = "1";
/// `.invalid` is reserved: a package without `DEBEMAIL` names no address that could exist.
const MAINTAINER: (&str, &str) = ("Tenure maintainers", "maintainers@tenure.invalid");
const SCRIPTS: &[&str] = &["postinst", "prerm", "postrm"];
const DOC: &str = "usr/share/doc/tenure";

/// Writes `tenure_VERSION_ARCHITECTURE.deb`.
pub(super) fn package(release: &Release, root: &Path) -> Result<()> {
    files(release, root)?;
    documents(release, root)?;
    control(release, root)?;
    let name = format!("tenure_{}_{}.deb", version(release), release.elf.architecture.debian());
    let mut build = Command::new("dpkg-deb");
    build.args(["--root-owner-group", "-Zgzip", "-z6", "--build"]).arg(root).arg(release.folder.join(name));
    output(build.env("SOURCE_DATE_EPOCH", release.epoch.to_string())).map(drop)
}

/// In Debian `~` sorts before the release, as `-` does in Cargo.
fn version(release: &Release) -> String {
    format!("{}-{REVISION}", release.version.replace('-', "~"))
}

fn files(release: &Release, root: &Path) -> Result<()> {
    let packaging = cargo::root().join("packaging");
    copy(&release.binary, &root.join("usr/bin/tenure"), 0o755)?;
    copy(&packaging.join("systemd/tenure.toml"), &root.join("etc/tenure/tenure.toml"), 0o644)?;
    let unit = root.join("lib/systemd/system/tenure.service");
    copy(&packaging.join("systemd/tenure.service"), &unit, 0o644)?;
    manual_pages(release, &root.join("usr/share/man/man1"))?;
    completions(release, |shell| {
        root.join(match shell {
            "bash" => "usr/share/bash-completion/completions/tenure",
            "zsh" => "usr/share/zsh/vendor-completions/_tenure",
            _ => "usr/share/fish/vendor_completions.d/tenure.fish",
        })
    })
}

fn documents(release: &Release, root: &Path) -> Result<()> {
    let (source, doc) = (cargo::root(), root.join(DOC));
    copy(&source.join("packaging/debian/copyright"), &doc.join("copyright"), 0o644)?;
    copy(&source.join("packaging/debian/lintian-overrides"), &overrides(root), 0o644)?;
    copy(&source.join("README.md"), &doc.join("README.md"), 0o644)?;
    copy_folder(&source.join("observability"), &doc.join("examples"))?;
    copy(&source.join("CHANGELOG.md"), &doc.join("changelog"), 0o644)?;
    write(&doc.join("changelog.Debian"), changelog(release)?.as_bytes(), 0o644)?;
    compress(&["changelog", "changelog.Debian"].map(|name| doc.join(name)))
}

fn overrides(root: &Path) -> PathBuf {
    root.join("usr/share/lintian/overrides/tenure")
}

fn changelog(release: &Release) -> Result<String> {
    let date = output(Command::new("date").args(["-Ru", "-d", &format!("@{}", release.epoch)]))?;
    let (version, maintainer) = (version(release), maintainer());
    Ok(format!(
        "tenure ({version}) unstable; urgency=medium\n\n  * Changes are in {DOC}/changelog.gz.\n\n -- {maintainer}  {}\n",
        date.trim()
    ))
}

/// `DEBFULLNAME <DEBEMAIL>`, as Debian's tools read them.
fn maintainer() -> String {
    let variable = |name, default: &str| std::env::var(name).unwrap_or_else(|_| default.to_owned());
    format!("{} <{}>", variable("DEBFULLNAME", MAINTAINER.0), variable("DEBEMAIL", MAINTAINER.1))
}

fn control(release: &Release, root: &Path) -> Result<()> {
    let (from, to) = (cargo::root().join("packaging/debian"), root.join("DEBIAN"));
    let size = output(Command::new("du").args(["-sk", "--apparent-size"]).arg(root))?;
    let size = size.split_whitespace().next().context("du prints a size")?;
    let sums = output(
        Command::new("sh")
            .args(["-c", "find . -type f | LC_ALL=C sort | sed 's,^./,,' | xargs md5sum"])
            .current_dir(root),
    )?;
    let text = fs::read_to_string(from.join("control"))?
        .replace("@VERSION@", &version(release))
        .replace("@ARCHITECTURE@", release.elf.architecture.debian())
        .replace("@MAINTAINER@", &maintainer())
        .replace("@INSTALLED_SIZE@", size)
        .replace("@LIBC@", &release.elf.glibc);
    write(&to.join("control"), text.as_bytes(), 0o644)?;
    write(&to.join("md5sums"), sums.as_bytes(), 0o644)?;
    copy(&from.join("conffiles"), &to.join("conffiles"), 0o644)?;
    SCRIPTS.iter().try_for_each(|name| copy(&from.join(name), &to.join(name), 0o755))
}
