//! Backups of the embedded store: one file with a consistent state, taken while a server may be using the store.
//!
//! A backup is the database file, and after it one page with a checksum of it. SQLite ignores the last page. The file is written
//! under another name, checked, synced and renamed, so that a backup that failed or was killed does not look complete.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, OpenFlags};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;
use sha2::{Digest as _, Sha256};

use crate::prelude::*;
use crate::sqlite::clock::FileClock;
use crate::sqlite::files::{Files, PAGE_BYTES};
use crate::{Result, StoreError};

/// The first bytes of the last page.
const MAGIC: &[u8; 24] = b"tenure backup, format 1\n";
const DIGEST_BYTES: usize = 32;
const COPY_BYTES: usize = 1 << 20;

/// Why there is no backup, or no store restored from it.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    #[error("{} exists", .0.display())]
    Exists(PathBuf),
    #[error("{} is not empty", .0.display())]
    NotEmpty(PathBuf),
    #[error("{} is not a backup: {why}", .file.display())]
    Invalid { file: PathBuf, why: &'static str },
    #[error("{}: {error}", .path.display())]
    Io { path: PathBuf, error: io::Error },
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl BackupError {
    pub(super) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |error| Self::Io { path: path.to_owned(), error }
    }
}

impl From<rusqlite::Error> for BackupError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Store(error.into())
    }
}

/// A finished backup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackupSummary {
    pub bytes: u64,
    /// The last heartbeat of the store in it, or the time of the backup if no server was running.
    pub taken_at: Timestamp,
}

/// Writes a backup of the store in a folder to a new file, which only this user can read.
pub fn back_up(folder: &Path, file: &Path) -> Result<BackupSummary, BackupError> {
    if file.symlink_metadata().is_ok() {
        return Err(BackupError::Exists(file.to_owned()));
    }
    let source = Files::look(folder)?.connect_reader()?;
    let part = PartFile::create(file)?;
    let taken_at = copy(&source, &part.path)?;
    let bytes = seal(&part.path).map_err(BackupError::io(&part.path))?;
    part.publish(file)?;
    Ok(BackupSummary { bytes, taken_at })
}

/// The file that is being written. It is deleted when this is dropped.
struct PartFile {
    path: PathBuf,
}

impl PartFile {
    /// Creates it in the folder of the backup, under a name that no other process uses. An existing file is never
    /// opened: another user could own it and read the backup.
    fn create(file: &Path) -> Result<Self, BackupError> {
        let mut name = file.file_name().unwrap_or_default().to_owned();
        name.push(format!(".{}.part", std::process::id()));
        let path = file.with_file_name(name);
        let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
        made.map_err(BackupError::io(&path))?;
        Ok(Self { path })
    }

    /// Gives it the name of the backup, durably, unless a file has that name by now.
    fn publish(self, file: &Path) -> Result<(), BackupError> {
        match renameat_with(CWD, &self.path, CWD, file, RenameFlags::NOREPLACE) {
            Ok(()) => {}
            Err(Errno::EXIST) => return Err(BackupError::Exists(file.to_owned())),
            // Network file systems may not support the flag.
            Err(Errno::INVAL) if file.symlink_metadata().is_err() => {
                std::fs::rename(&self.path, file).map_err(BackupError::io(file))?;
            }
            Err(error) => return Err(BackupError::io(file)(error.into())),
        }
        sync_folder_of(file)
    }
}

impl Drop for PartFile {
    fn drop(&mut self) {
        // After the rename there is nothing to delete.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Syncs the folder that contains a path, so that its name is durable.
pub(super) fn sync_folder_of(path: &Path) -> Result<(), BackupError> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(parent).and_then(|folder| folder.sync_all()).map_err(BackupError::io(parent))
}

/// Copies all pages in one read transaction: commits continue meanwhile, and the copy has none of them.
fn copy(source: &Connection, path: &Path) -> Result<Timestamp, BackupError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut target = Connection::open_with_flags(path, flags)?;
    // A failed copy is deleted, and the finished one is synced at the end.
    target.execute_batch("pragma synchronous = off")?;
    {
        let backup = Backup::new(source, &mut target)?;
        while backup.step(-1)? != StepResult::Done {
            std::thread::yield_now();
        }
    }
    // In one file, without a write-ahead log beside it.
    let mode: String = target.query_row("pragma journal_mode = delete", [], |row| row.get(0))?;
    debug_assert_eq!(mode, "delete");
    let found: String = target.query_row("pragma quick_check(1)", [], |row| row.get(0))?;
    if found != "ok" {
        return Err(crate::codec::corrupt("file", "of the store", &found).into());
    }
    let taken_at = FileClock::alive_at(&target)?;
    target.close().map_err(|(_, error)| error)?;
    Ok(taken_at)
}

/// Appends the page with the checksum and syncs; returns the length of the file.
fn seal(path: &Path) -> io::Result<u64> {
    let mut file = OpenOptions::new().read(true).write(true).open(path)?;
    let (digest, bytes) = digest(&mut file, u64::MAX, &mut io::sink())?;
    let mut page = [0; PAGE_BYTES as usize];
    page[..MAGIC.len()].copy_from_slice(MAGIC);
    page[MAGIC.len()..MAGIC.len() + DIGEST_BYTES].copy_from_slice(&digest);
    file.write_all(&page)?;
    file.sync_all()?;
    Ok(bytes + PAGE_BYTES)
}

/// Copies up to `limit` bytes; returns their checksum and number.
fn digest(
    from: &mut impl Read,
    limit: u64,
    to: &mut impl io::Write,
) -> io::Result<([u8; DIGEST_BYTES], u64)> {
    let (mut hasher, mut bytes, mut buffer) = (Sha256::new(), 0, vec![0; COPY_BYTES]);
    let mut from = from.take(limit);
    loop {
        let count = from.read(&mut buffer)?;
        if count == 0 {
            return Ok((hasher.finalize().into(), bytes));
        }
        hasher.update(&buffer[..count]);
        to.write_all(&buffer[..count])?;
        bytes += count as u64;
    }
}

/// Copies the database out of a backup into a new file and syncs it. Refuses a backup that is not complete and unchanged.
pub(super) fn extract(backup: &Path, target: &Path) -> Result<(), BackupError> {
    let invalid = |why| BackupError::Invalid { file: backup.to_owned(), why };
    let mut source = File::open(backup).map_err(BackupError::io(backup))?;
    let expected = sealed_digest(&mut source).map_err(BackupError::io(backup))?;
    let (expected, bytes) = expected.ok_or_else(|| invalid("it is incomplete, or another kind of file"))?;
    source.rewind().map_err(BackupError::io(backup))?;
    let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(target);
    let mut made = made.map_err(BackupError::io(target))?;
    let (found, _) = digest(&mut source, bytes, &mut made).map_err(BackupError::io(target))?;
    if found != expected {
        return Err(invalid("its content has changed since it was written"));
    }
    made.sync_all().map_err(BackupError::io(target))
}

/// The checksum on the last page and the length of what it covers; `None` if the file does not end with such a page.
fn sealed_digest(file: &mut File) -> io::Result<Option<([u8; DIGEST_BYTES], u64)>> {
    let length = file.metadata()?.len();
    if length < 2 * PAGE_BYTES || !length.is_multiple_of(PAGE_BYTES) {
        return Ok(None);
    }
    let mut head = [0; MAGIC.len() + DIGEST_BYTES];
    file.seek(SeekFrom::Start(length - PAGE_BYTES))?;
    file.read_exact(&mut head)?;
    let (magic, digest) = head.split_at(MAGIC.len());
    let digest = digest.try_into().expect("the rest of the head is the digest");
    Ok((magic == MAGIC).then_some((digest, length - PAGE_BYTES)))
}
