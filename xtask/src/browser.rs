//! Installs Chromium and Playwright for tests of the dashboard.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::step::Report;
use crate::{install, node};

pub const CHROMIUM: &str = "/usr/bin/chromium";
/// Playwright drives the browser, axe checks accessibility. Pinned: other versions may find other things.
const PACKAGES: &[&str] = &["playwright-core@1.64.1", "axe-core@4.14.0"];
/// Fonts for screenshots: a package and one of its files.
const FONTS: &[(&str, &str)] = &[
    ("fonts-dejavu-core", "/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf"),
    ("fonts-noto-core", "/usr/share/fonts/truetype/noto/NotoSansSymbols2-Regular.ttf"),
];

/// Installs what is missing.
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

/// The folder with the JavaScript packages.
pub fn javascript() -> Result<PathBuf> {
    node::with("browser", PACKAGES).context("tests of the dashboard need a browser")
}
