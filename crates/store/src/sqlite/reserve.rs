//! Room that is kept back for what must go on when the disk is full. The first batch that finds no room gives it back to
//! the disk: from then on what ends work is written, and what brings new work is refused, until there is room for a
//! new reserve.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{FallocateFlags, fallocate};

const BYTES: u64 = 16 << 20;
/// How often a spent reserve looks for room.
const LOOK_EVERY: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct Reserve {
    path: PathBuf,
    state: State,
}

#[derive(Debug)]
enum State {
    /// There was no room for it when the store was opened.
    Missing,
    Held,
    /// Given up, and when room for a new one was last looked for.
    Spent(Instant),
}

impl Reserve {
    /// Takes the room. A disk that has none must not keep the store from opening.
    pub(super) fn take(folder: &Path) -> Self {
        let path = folder.join("tenure.reserve");
        let state = match allocate(&path) {
            Ok(()) => State::Held,
            Err(error) => {
                tracing::warn!(%error, "there is no room for a reserve: a full disk will refuse every write");
                State::Missing
            }
        };
        Self { path, state }
    }

    /// Gives the room back to the disk; says whether there was any to give.
    pub(super) fn spend(&mut self) -> bool {
        if !matches!(self.state, State::Held) {
            return false;
        }
        tracing::error!("the disk is full: new work is refused, and what runs goes on from the reserve");
        self.state = State::Spent(Instant::now());
        // Emptied first: removing waits for whoever has it open.
        File::create(&self.path).and_then(|_| std::fs::remove_file(&self.path)).is_ok()
    }

    /// Whether it is spent, after looking for room now and then.
    pub(super) fn is_spent(&mut self) -> bool {
        let State::Spent(looked_at) = self.state else { return false };
        if looked_at.elapsed() < LOOK_EVERY {
            return true;
        }
        if allocate(&self.path).is_ok() {
            tracing::info!("there is room again: new work is taken");
            self.state = State::Held;
            return false;
        }
        self.state = State::Spent(Instant::now());
        true
    }
}

/// Makes a file of that size whose room is really there; leaves nothing behind if it cannot.
fn allocate(path: &Path) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    let made =
        fallocate(&file, FallocateFlags::empty(), 0, BYTES).map_err(io::Error::from).or_else(|error| {
            // A file system that cannot promise room is given something to hold.
            if error.kind() == io::ErrorKind::Unsupported { write_out(&mut file) } else { Err(error) }
        });
    if made.is_err() {
        drop(file);
        std::fs::remove_file(path)?;
    }
    made
}

fn write_out(file: &mut File) -> io::Result<()> {
    let block = vec![0; 1 << 20];
    for _ in 0..BYTES >> 20 {
        file.write_all(&block)?;
    }
    file.sync_data()
}
