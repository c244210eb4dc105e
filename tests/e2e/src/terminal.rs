//! A program in a pseudo-terminal.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};

use crate::DEADLINE;
use crate::screen::Screen;

/// A program in a terminal.
pub struct Terminal {
    master: File,
    /// Kept open, so that the terminal's settings can be read when the program has ended.
    slave: File,
    pid: Pid,
    shared: Arc<Shared>,
}

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    screen: Screen,
    exit: Option<ExitStatus>,
}

impl Shared {
    fn update(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state.lock().unwrap());
        self.changed.notify_all();
    }

    /// Waits until the condition holds or time is up; whether it holds, and the screen.
    fn wait(&self, limit: Duration, condition: impl Fn(&State) -> bool) -> (bool, String) {
        let state = self.state.lock().unwrap();
        let waited = self.changed.wait_timeout_while(state, limit, |state| !condition(state)).unwrap();
        (!waited.1.timed_out(), waited.0.screen.text())
    }
}

impl Terminal {
    /// Starts a command as the leader of a session with this terminal.
    pub fn start(command: &Command, size: (u16, u16)) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let slave = rustix::fs::open(name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).unwrap();
        let (master, slave) = (File::from(master), File::from(slave));
        set_size(&slave, size);
        let stream = || Stdio::from(slave.try_clone().unwrap());
        let mut session = in_session(command);
        let mut child = session.stdin(stream()).stdout(stream()).stderr(stream()).spawn().unwrap();
        drop(session);
        let pid = Pid::from_child(&child);
        let state = State { screen: Screen::new(size), exit: None };
        let shared = Arc::new(Shared { state: Mutex::new(state), changed: Condvar::new() });
        let (reader, mut output) = (shared.clone(), master.try_clone().unwrap());
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = output.read(&mut bytes) {
                reader.update(|state| state.screen.write(&bytes[..count]));
            }
        });
        let waiter = shared.clone();
        std::thread::spawn(move || {
            let status = child.wait().unwrap();
            waiter.update(|state| state.exit = Some(status));
        });
        Self { master, slave, pid, shared }
    }

    pub fn press(&self, keys: &str) {
        (&self.master).write_all(keys.as_bytes()).unwrap();
    }

    /// Changes the size and waits until the program has drawn on all of it.
    pub fn resize(&self, size: (u16, u16)) {
        let mut before = 0;
        self.shared.update(|state| {
            state.screen.resize(size);
            before = state.screen.clears;
            set_size(&self.slave, size);
        });
        let (drawn, _) = self.shared.wait(DEADLINE, |state| state.screen.clears != before);
        assert!(drawn, "never drew on {size:?}");
    }

    /// Presses keys again and again until a condition on the screen and on whether the program has ended holds: a key
    /// that arrives together with a new size may wait for the next one.
    pub fn press_until(&self, keys: &str, condition: impl Fn(&str, bool) -> bool) {
        const INTERVAL: Duration = Duration::from_secs(1);
        let mut screen = String::new();
        for _ in 0..DEADLINE.as_secs() {
            self.press(keys);
            let reached;
            (reached, screen) =
                self.shared.wait(INTERVAL, |state| condition(&state.screen.text(), state.exit.is_some()));
            if reached {
                return;
            }
        }
        panic!("{keys:?} had no effect:\n{screen}");
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(self.pid, signal).unwrap();
    }

    /// Waits until a condition on the screen holds, and returns the screen.
    #[track_caller]
    pub fn wait_until(&self, what: &str, condition: impl Fn(&str) -> bool) -> String {
        let (reached, screen) = self.shared.wait(DEADLINE, |state| condition(&state.screen.text()));
        assert!(reached, "never shown: {what}\n{screen}");
        screen
    }

    /// Waits until a text is on the screen.
    #[track_caller]
    pub fn wait_for(&self, text: &str) -> String {
        self.wait_until(text, |screen| screen.contains(text))
    }

    /// Waits for the program's exit and checks that it has restored the terminal.
    #[track_caller]
    pub fn wait_for_exit(&self) -> ExitStatus {
        // The last output may arrive after the exit.
        let (restored, screen) =
            self.shared.wait(DEADLINE, |state| state.exit.is_some() && state.screen.is_restored());
        let exit = self.shared.state.lock().unwrap().exit;
        let exit = exit.unwrap_or_else(|| panic!("never ended:\n{screen}"));
        assert!(restored, "left on the alternate screen, or without a cursor");
        let modes = tcgetattr(&self.slave).unwrap().local_modes;
        assert!(modes.contains(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG), "{modes:?}");
        exit
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // A wait that failed has poisoned the lock.
        if self.shared.state.lock().is_ok_and(|state| state.exit.is_none()) {
            let _ = kill_process(self.pid, Signal::KILL);
        }
    }
}

/// The command as the leader of a new session.
fn in_session(command: &Command) -> Command {
    let mut session = Command::new("setsid");
    session.args(["--ctty", "--wait"]).arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => session.env(name, value),
            None => session.env_remove(name),
        };
    }
    if let Some(folder) = command.get_current_dir() {
        session.current_dir(folder);
    }
    session
}

fn set_size(slave: &File, (width, height): (u16, u16)) {
    tcsetwinsize(slave, Winsize { ws_row: height, ws_col: width, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
}
