//! Opens a page in the browser of a desktop session.

use std::io::IsTerminal as _;
use std::process::{Command, Stdio};

/// Opens the page if this process runs in a terminal of a desktop; a failure is only logged.
pub(crate) fn open(url: &str) {
    let has = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let opener = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let is_desktop = cfg!(target_os = "macos") || has("DISPLAY") || has("WAYLAND_DISPLAY");
    if !is_desktop || has("SSH_CONNECTION") || !std::io::stderr().is_terminal() {
        return;
    }
    let opened = Command::new(opener)
        .arg(url)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    if let Err(error) = opened {
        tracing::debug!(%error, "browser start failed");
    }
}
