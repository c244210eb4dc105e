//! Opens a page in the browser of whoever sits here.

use std::io::IsTerminal as _;
use std::process::{Command, Stdio};

/// Opens it, if somebody sits at a desktop of this machine; whether that works is nobody's business but his.
pub(crate) fn open(url: &str) {
    let has = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let opener = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let at_a_desktop = cfg!(target_os = "macos") || has("DISPLAY") || has("WAYLAND_DISPLAY");
    if !at_a_desktop || has("SSH_CONNECTION") || !std::io::stderr().is_terminal() {
        return;
    }
    let opened = Command::new(opener)
        .arg(url)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    if let Err(error) = opened {
        tracing::debug!(%error, "no browser was opened");
    }
}
