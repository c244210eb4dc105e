//! Disk space reserved for a full disk. The first batch that finds no space releases it: from then on batches that finish
//! work are written, and batches that add work are refused, until there is space for a new reserve.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{FallocateFlags, fallocate};

const BYTES: u64 = 16 << 20;
/// How often a released reserve is tried again.
const LOOK_EVERY: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct Reserve {
    path: PathBuf,
    state: State,
}

#[derive(Debug)]
enum State {
    /// There was no space when the store was opened.
    Missing,
    Held,
    /// Released, and when a new reserve was last tried.
    Spent(Instant),
}

impl Reserve {
    /// Allocates the reserve. The store opens even if there is no space for it.
    pub(super) fn take(folder: &Path) -> Self {
        let path = folder.join("tenure.reserve");
        let state = match allocate(&path) {
            Ok(()) => State::Held,
            Err(error) => {
                tracing::warn!(%error, "disk reserve not allocated; a full disk will refuse every write");
                State::Missing
            }
        };
        Self { path, state }
    }

    /// Releases the reserve; returns whether there was one.
    pub(super) fn spend(&mut self) -> bool {
        if !matches!(self.state, State::Held) {
            return false;
        }
        tracing::error!("disk full; new jobs refused, running jobs continue from the reserve");
        self.state = State::Spent(Instant::now());
        // Truncated first: removal frees the space only when the last handle is closed.
        File::create(&self.path).and_then(|_| std::fs::remove_file(&self.path)).is_ok()
    }

    /// Whether it is released, after trying to allocate it again.
    pub(super) fn is_spent(&mut self) -> bool {
        let State::Spent(looked_at) = self.state else { return false };
        if looked_at.elapsed() < LOOK_EVERY {
            return true;
        }
        if allocate(&self.path).is_ok() {
            tracing::info!("disk space available; new jobs accepted");
            self.state = State::Held;
            return false;
        }
        self.state = State::Spent(Instant::now());
        true
    }
}

/// Creates a file of that size with allocated blocks; leaves nothing behind on failure.
fn allocate(path: &Path) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    let made =
        fallocate(&file, FallocateFlags::empty(), 0, BYTES).map_err(io::Error::from).or_else(|error| {
            // Without fallocate support, write zeros.
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
