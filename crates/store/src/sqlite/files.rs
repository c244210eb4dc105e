//! The store's folder: used by one process at a time, private to its user, checked when opened.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{Read as _, Seek as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};
use rustix::fs::{FallocateFlags, FlockOperation, fallocate, flock};

use crate::codec::corrupt;
use crate::{Result, StoreError};

/// Files up to this size are checked when opened; larger ones page by page as they are read, and completely by `tenure
/// verify`.
const CHECKED_BYTES_MAX: u64 = 64 << 20;
/// Earlier versions of SQLite can corrupt a write-ahead log that two connections use.
const SQLITE_VERSION_MIN: i32 = 3_051_003;

pub(super) const NAME: &str = "tenure.db";
pub(super) const LOG_NAME: &str = "tenure.db-wal";
const LOG_INDEX_NAME: &str = "tenure.db-shm";
/// Enough for a write-ahead log of 512 MiB.
const LOG_INDEX_BYTES: u64 = 1 << 20;
/// The page size of SQLite's default.
pub(super) const PAGE_BYTES: u64 = 4096;

#[derive(Debug)]
pub(super) struct Files {
    path: PathBuf,
    /// Held while the store is open for writing.
    lock: Option<File>,
    /// Open as long as SQLite has it: closing a file releases all locks that the process has on it.
    log_index: Option<File>,
}

impl Files {
    /// Locks the folder for this process.
    pub(super) fn take(folder: &Path) -> Result<Self> {
        let unavailable = |what: &Path, error: &dyn std::fmt::Display| {
            StoreError::Unavailable(format!("{}: {error}", what.display()))
        };
        let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
        made.map_err(|error| unavailable(folder, &error))?;
        let lock_path = folder.join("tenure.lock");
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let mut lock = options.open(&lock_path).map_err(|error| unavailable(&lock_path, &error))?;
        if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
            let mut holder = String::new();
            lock.read_to_string(&mut holder).map_err(|error| unavailable(&lock_path, &error))?;
            return Err(StoreError::InUse {
                path: folder.display().to_string(),
                holder: holder.trim().to_owned(),
            });
        }
        let noted = lock
            .set_len(0)
            .and_then(|()| lock.rewind())
            .and_then(|()| write!(lock, "{}", std::process::id()));
        // Only the lock matters; the process id in it is for the error message. A full disk must not prevent opening.
        if let Err(error) = noted {
            tracing::warn!(%error, "lock file not written");
        }
        Ok(Self { path: folder.join(NAME), lock: Some(lock), log_index: None })
    }

    /// Opens a folder that another process may be using.
    pub(super) fn look(folder: &Path) -> Result<Self> {
        let path = folder.join(NAME);
        if !path.is_file() {
            return Err(StoreError::Unavailable(format!("there is no store in {}", folder.display())));
        }
        Ok(Self { path, lock: None, log_index: None })
    }

    pub(super) fn folder(&self) -> &Path {
        self.path.parent().expect("the database is in a folder")
    }

    pub(super) fn connect_writer(&self) -> Result<Connection> {
        if rusqlite::version_number() < SQLITE_VERSION_MIN {
            return Err(StoreError::Unsafe(format!("SQLite {} can corrupt its log", rusqlite::version())));
        }
        // Created here, so that it is private from the start.
        let mut options = OpenOptions::new();
        let made = options.write(true).create(true).truncate(false).mode(0o600).open(&self.path);
        made.map_err(|error| StoreError::Unavailable(format!("{}: {error}", self.path.display())))?;
        self.check_length()?;
        let connection = Connection::open(&self.path)?;
        connection.execute_batch(include_str!("pragmas.sql"))?;
        let mode: String = connection.query_row("pragma journal_mode = wal", [], |row| row.get(0))?;
        if mode != "wal" {
            return Err(StoreError::Unsafe(format!("{} cannot have a write-ahead log", self.path.display())));
        }
        connection.set_prepared_statement_cache_capacity(128);
        self.check(&connection)?;
        Ok(connection)
    }

    /// Allocates the index of the write-ahead log before it is needed. SQLite extends it after a commit is on disk, and a disk that
    /// is full at that moment would make the outcome of the commit unknown.
    pub(super) fn allocate_log_index(&mut self) {
        let path = self.path.with_file_name(LOG_INDEX_NAME);
        let allocated = OpenOptions::new().read(true).write(true).open(&path).and_then(|index| {
            let index = self.log_index.insert(index);
            Ok(fallocate(&*index, FallocateFlags::empty(), 0, LOG_INDEX_BYTES)?)
        });
        // A disk that is already full must not prevent opening.
        if let Err(error) = allocated {
            tracing::warn!(%error, "index of the write-ahead log not allocated");
        }
    }

    pub(super) fn connect_reader(&self) -> Result<Connection> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&self.path, flags)?;
        connection.execute_batch(include_str!("pragmas.sql"))?;
        // Several readers, each with the cache of the writer, would need most of the memory of a small machine.
        connection.execute_batch("pragma query_only = on; pragma cache_size = -8192")?;
        connection.set_prepared_statement_cache_capacity(128);
        Ok(connection)
    }

    /// The connection of the thread that copies the write-ahead log to the file.
    pub(super) fn connect_checkpoints(&self) -> Result<Connection> {
        let connection = Connection::open(&self.path)?;
        connection.execute_batch(include_str!("pragmas.sql"))?;
        Ok(connection)
    }

    /// SQLite writes whole pages, and reads a part of a page as if the rest were zeros. While there is a write-ahead log, the last
    /// page may be incomplete after a crash, because the log still has it.
    fn check_length(&self) -> Result<()> {
        let bytes = std::fs::metadata(&self.path).map_or(0, |metadata| metadata.len());
        let has_log = self.path.with_file_name(LOG_NAME).exists();
        if bytes.is_multiple_of(PAGE_BYTES) || has_log {
            return Ok(());
        }
        Err(corrupt("file", self.path.display(), "the last page is not complete"))
    }

    fn check(&self, connection: &Connection) -> Result<()> {
        let size = std::fs::metadata(&self.path).map_or(0, |metadata| metadata.len());
        if size > CHECKED_BYTES_MAX {
            return Ok(());
        }
        let found: String = connection.query_row("pragma quick_check(1)", [], |row| row.get(0))?;
        if found == "ok" { Ok(()) } else { Err(corrupt("file", self.path.display(), &found)) }
    }
}

impl Drop for Files {
    /// Closing is not enough: a child process that is being started briefly has a copy of every open file.
    fn drop(&mut self) {
        if let Some(Err(error)) = self.lock.as_ref().map(|lock| flock(lock, FlockOperation::Unlock)) {
            tracing::warn!(%error, "folder lock not released");
        }
    }
}
