//! Takes over the terminal and restores it, also after a panic.

use std::io::{self, IsTerminal as _, Stdout, stdout};
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Result;
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::event::{self, Event};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use tokio::sync::mpsc;

use crate::output::{CliError, Exit};

/// Keys that are buffered.
const KEYS_MAX: usize = 64;

static TAKEN: AtomicBool = AtomicBool::new(false);

/// The whole screen; dropping it restores the terminal.
pub(super) struct Screen {
    pub(super) terminal: Terminal<CrosstermBackend<Stdout>>,
}

impl Screen {
    /// Takes over the terminal. A panic restores it before its message is printed.
    pub(super) fn take() -> Result<Self> {
        if !io::stdin().is_terminal() || !stdout().is_terminal() {
            let help = "use `tenure job list` or `tenure events` in files and pipes";
            return Err(CliError::new(Exit::Usage, "top needs a terminal").help(help).into());
        }
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            restore();
            before(panic);
        }));
        TAKEN.store(true, Ordering::SeqCst);
        enable_raw_mode()?;
        execute!(stdout(), EnterAlternateScreen)?;
        Ok(Self { terminal: Terminal::new(CrosstermBackend::new(stdout()))? })
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore();
    }
}

/// Restores the terminal once: later output on it is not ours. Errors are ignored, because they cannot be shown.
fn restore() {
    if !TAKEN.swap(false, Ordering::SeqCst) {
        return;
    }
    let _ = disable_raw_mode();
    let _ = execute!(stdout(), LeaveAlternateScreen, Show);
}

/// Keys and resizes; the channel closes with the terminal.
pub(super) fn events() -> mpsc::Receiver<Event> {
    let (sender, receiver) = mpsc::channel(KEYS_MAX);
    std::thread::spawn(move || {
        while let Ok(event) = event::read() {
            if sender.blocking_send(event).is_err() {
                break;
            }
        }
    });
    receiver
}
