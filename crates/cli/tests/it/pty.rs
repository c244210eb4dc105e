//! A real pseudo-terminal, and the screen that a program paints on it.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};

/// How long anything may take before it counts as never happening.
const PATIENCE: Duration = Duration::from_mins(1);

/// A program in a terminal of its own.
pub(crate) struct Pty {
    master: File,
    /// Open as long as we are, so that the terminal's settings can be looked at when the program has ended.
    slave: File,
    pid: Pid,
    seen: Arc<(Mutex<Seen>, Condvar)>,
}

#[derive(Default)]
struct Seen {
    screen: Screen,
    ended: Option<ExitStatus>,
}

impl Pty {
    /// Starts it, as the leader of a session whose terminal this is.
    pub(crate) fn start(command: &Command, size: (u16, u16)) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let slave = rustix::fs::open(name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).unwrap();
        let (master, slave) = (File::from(master), File::from(slave));
        let own = || Stdio::from(slave.try_clone().unwrap());
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
        set_size(&slave, size);
        let mut child = session.stdin(own()).stdout(own()).stderr(own()).spawn().unwrap();
        drop(session);
        let pid = Pid::from_raw(child.id().cast_signed()).unwrap();
        let seen = Arc::new((Mutex::new(Seen { screen: Screen::new(size), ended: None }), Condvar::new()));
        let (reading, mut from) = (seen.clone(), master.try_clone().unwrap());
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = from.read(&mut bytes) {
                reading.0.lock().unwrap().screen.write(&bytes[..count]);
                reading.1.notify_all();
            }
        });
        let ending = seen.clone();
        std::thread::spawn(move || {
            let status = child.wait().unwrap();
            ending.0.lock().unwrap().ended = Some(status);
            ending.1.notify_all();
        });
        Self { master, slave, pid, seen }
    }

    /// Presses these keys.
    pub(crate) fn types(&self, keys: &str) {
        (&self.master).write_all(keys.as_bytes()).unwrap();
    }

    /// Gives it another size, and waits until it has drawn on all of it anew.
    pub(crate) fn resize(&self, size: (u16, u16)) {
        let mut seen = self.seen.0.lock().unwrap();
        seen.screen.resize(size);
        set_size(&self.slave, size);
        let before = seen.screen.clears;
        let waited = self.seen.1.wait_timeout_while(seen, PATIENCE, |seen| seen.screen.clears == before);
        assert!(!waited.unwrap().1.timed_out(), "it never drew on {size:?}");
    }

    /// Presses these keys again and again until it is so: a key that comes together with a new size may wait for the
    /// next one.
    pub(crate) fn insists(&self, keys: &str, is_so: impl Fn(&str, bool) -> bool) {
        const AGAIN: Duration = Duration::from_secs(1);
        for _ in 0..PATIENCE.as_secs() {
            self.types(keys);
            let seen = self.seen.0.lock().unwrap();
            let is_not = |seen: &mut Seen| !is_so(&seen.screen.text(), seen.ended.is_some());
            if !self.seen.1.wait_timeout_while(seen, AGAIN, is_not).unwrap().1.timed_out() {
                return;
            }
        }
        panic!("{keys:?} never did it:\n{}", self.seen.0.lock().unwrap().screen.text());
    }

    pub(crate) fn send(&self, signal: Signal) {
        kill_process(self.pid, signal).unwrap();
    }

    /// Waits until the screen is as wanted, and gives it.
    pub(crate) fn shows_when(&self, what: &str, wanted: impl Fn(&str) -> bool) -> String {
        let seen = self.seen.0.lock().unwrap();
        let waited = self.seen.1.wait_timeout_while(seen, PATIENCE, |seen| !wanted(&seen.screen.text()));
        let text = waited.unwrap().0.screen.text();
        assert!(wanted(&text), "never shown: {what}\n{text}");
        text
    }

    /// Waits until this is on the screen.
    pub(crate) fn shows(&self, piece: &str) -> String {
        self.shows_when(piece, |screen| screen.contains(piece))
    }

    /// Waits for its end, and looks at what it left: the terminal as it was.
    pub(crate) fn ends(&self) -> ExitStatus {
        let seen = self.seen.0.lock().unwrap();
        let waited = self.seen.1.wait_timeout_while(seen, PATIENCE, |seen| seen.ended.is_none());
        let (seen, _) = waited.unwrap();
        let status = seen.ended.unwrap_or_else(|| panic!("it never ended:\n{}", seen.screen.text()));
        // What it wrote last may not have been read yet.
        let waited = self.seen.1.wait_timeout_while(seen, PATIENCE, |seen| !seen.screen.is_as_before());
        assert!(
            waited.unwrap().0.screen.is_as_before(),
            "the screen was left as it is, or the cursor hidden"
        );
        let modes = tcgetattr(&self.slave).unwrap().local_modes;
        assert!(modes.contains(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG), "{modes:?}");
        status
    }
}

impl Drop for Pty {
    fn drop(&mut self) {
        // Who waited in vain has let go of it in a panic.
        if self.seen.0.lock().is_ok_and(|seen| seen.ended.is_none()) {
            let _ = kill_process(self.pid, Signal::KILL);
        }
    }
}

fn set_size(slave: &File, (width, height): (u16, u16)) {
    tcsetwinsize(slave, Winsize { ws_row: height, ws_col: width, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
}

/// As much of a terminal as is needed to read what stands on it.
#[derive(Default)]
struct Screen {
    cells: Vec<Vec<char>>,
    at: (usize, usize),
    /// Where it was when the other screen was taken.
    was_at: (usize, usize),
    /// What is not a whole letter or sequence yet.
    rest: Vec<u8>,
    elsewhere: bool,
    hidden_cursor: bool,
    /// How often it was cleared.
    clears: usize,
}

impl Screen {
    fn new((width, height): (u16, u16)) -> Self {
        Self { cells: vec![vec![' '; width.into()]; height.into()], ..Self::default() }
    }

    fn resize(&mut self, size: (u16, u16)) {
        self.cells = Self::new(size).cells;
    }

    fn is_as_before(&self) -> bool {
        !self.elsewhere && !self.hidden_cursor
    }

    fn text(&self) -> String {
        self.cells.iter().map(|row| row.iter().collect::<String>().trim_end().to_owned() + "\n").collect()
    }

    fn write(&mut self, bytes: &[u8]) {
        self.rest.extend_from_slice(bytes);
        let rest = std::mem::take(&mut self.rest);
        let whole = match std::str::from_utf8(&rest) {
            Ok(_) => rest.len(),
            Err(error) => error.valid_up_to(),
        };
        let text = String::from_utf8_lossy(&rest[..whole]).into_owned();
        let mut letters = text.chars();
        loop {
            let before = letters.as_str().len();
            match letters.next() {
                None => break,
                Some('\x1b') => {
                    if !self.escape(&mut letters) {
                        self.rest = text.as_bytes()[text.len() - before..].to_vec();
                        break;
                    }
                }
                Some('\r') => self.at.0 = 0,
                Some('\n') => self.at.1 += 1,
                Some(letter) => self.put(letter),
            }
        }
        self.rest.extend_from_slice(&rest[whole..]);
    }

    fn put(&mut self, letter: char) {
        if let Some(cell) = self.cells.get_mut(self.at.1).and_then(|row| row.get_mut(self.at.0)) {
            *cell = letter;
        }
        self.at.0 += 1;
    }

    /// False if the sequence is not whole yet.
    fn escape(&mut self, letters: &mut std::str::Chars<'_>) -> bool {
        match letters.next() {
            None => return false,
            Some('[') => {}
            Some(_) => return true,
        }
        let mut said = String::new();
        loop {
            match letters.next() {
                None => return false,
                Some(letter @ '@'..='~') => {
                    self.obey(&said, letter);
                    return true;
                }
                Some(letter) => said.push(letter),
            }
        }
    }

    fn obey(&mut self, said: &str, end: char) {
        let mut numbers = said.split(';').map(|number| number.parse::<usize>().unwrap_or(0));
        let mut next = || numbers.next().unwrap_or(0);
        match (said, end) {
            ("?1049", 'h' | 'l') => {
                self.elsewhere = end == 'h';
                if self.elsewhere {
                    self.was_at = self.at;
                } else {
                    self.at = self.was_at;
                }
                self.clear();
            }
            ("?25", 'h' | 'l') => self.hidden_cursor = end == 'l',
            (_, 'H') => {
                self.at = {
                    let row = next().max(1) - 1;
                    (next().max(1) - 1, row)
                }
            }
            (_, 'J') => {
                self.clears += 1;
                self.clear();
            }
            _ => {}
        }
    }

    fn clear(&mut self) {
        self.cells.iter_mut().flatten().for_each(|cell| *cell = ' ');
    }
}
