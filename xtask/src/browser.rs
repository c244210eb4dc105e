//! Chromium, and what drives it, for tests of the dashboard.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::step::Report;
use crate::{install, node};

/// Where Debian puts the browser.
pub const CHROMIUM: &str = "/usr/bin/chromium";
/// What drives it, and the rules for accessible pages. Other versions may find other things: raise them on purpose.
const PACKAGES: &[&str] = &["playwright-core@1.64.1", "axe-core@4.14.0"];
/// Letters and the signs of states, so that pictures of pages show them: a package and one of its files.
const FONTS: &[(&str, &str)] = &[
    ("fonts-dejavu-core", "/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf"),
    ("fonts-noto-core", "/usr/share/fonts/truetype/noto/NotoSansSymbols2-Regular.ttf"),
];

/// Installs what is missing of all of it.
pub fn install() -> Result<Report> {
    let wanted = [("chromium", CHROMIUM)].into_iter().chain(FONTS.iter().copied());
    let missing: Vec<&str> =
        wanted.filter(|(_, file)| !Path::new(file).exists()).map(|(package, _)| package).collect();
    let mut report = Report::default();
    if !missing.is_empty() {
        report = install::packages(&missing)?;
    }
    javascript()?;
    Ok(report)
}

/// The folder with the packages that drive the browser.
pub fn javascript() -> Result<PathBuf> {
    node::with("browser", PACKAGES).context("without them no test can look at the dashboard")
}
