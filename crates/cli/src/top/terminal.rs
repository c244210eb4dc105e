//! The terminal: taken, read and given back, whatever happens meanwhile.

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

use crate::output::{Exit, Trouble};

/// Keys that wait to be understood.
const KEYS_MAX: usize = 64;

static TAKEN: AtomicBool = AtomicBool::new(false);

/// The whole screen, until it is dropped.
pub(super) struct Screen {
    pub(super) terminal: Terminal<CrosstermBackend<Stdout>>,
}

impl Screen {
    /// Takes the terminal; a panic gives it back before it is told.
    pub(super) fn take() -> Result<Self> {
        if !io::stdin().is_terminal() || !stdout().is_terminal() {
            let sentence = "top needs a terminal, and this is none";
            let help = "`tenure job list` and `tenure events` write to files and pipes";
            return Err(Trouble::new(Exit::Usage, sentence).help(help).into());
        }
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            give_back();
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
        give_back();
    }
}

/// Once: what stands on the terminal afterwards is not ours. That it cannot be given back cannot be told anybody.
fn give_back() {
    if !TAKEN.swap(false, Ordering::SeqCst) {
        return;
    }
    let _ = disable_raw_mode();
    let _ = execute!(stdout(), LeaveAlternateScreen, Show);
}

/// Keys and sizes as they come; the end of it is the end of the terminal.
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
