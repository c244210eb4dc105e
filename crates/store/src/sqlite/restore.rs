//! Restores a store from a backup: into a folder below the target, from which the database is moved when it is verified.
//!
//! A restored store continues at the time of its backup. Jobs of the backup get fences from the time of the restore on, because
//! smaller ones may have been granted after the backup. The time since the backup is an outage, like any time in which no process
//! had the store open.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::Connection;

use crate::prelude::*;
use crate::sqlite::backup::{BackupError, extract, sync_folder_of};
use crate::sqlite::clock::FileClock;
use crate::sqlite::files::NAME;
use crate::{Result, Store, wall};

const PART_NAME: &str = "restore.part";
/// How long the readers of a store that was closed may take.
const CLOSE_MAX: Duration = Duration::from_secs(5);

/// A store that is being restored. Unless it is finished, dropping this deletes what was written.
#[derive(Debug)]
pub struct Restoration {
    folder: PathBuf,
    part: PathBuf,
    store: Option<Store>,
}

impl Restoration {
    /// Copies the database of a backup into an empty folder, which is created if it does not exist, and opens it.
    pub async fn begin(backup: &Path, folder: &Path) -> Result<Self, BackupError> {
        let part = folder.join(PART_NAME);
        DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(BackupError::io(folder))?;
        let mut entries = fs::read_dir(folder).map_err(BackupError::io(folder))?;
        if entries.next().is_some() {
            return Err(BackupError::NotEmpty(folder.to_owned()));
        }
        // Fails if another process restores into the same folder.
        DirBuilder::new().mode(0o700).create(&part).map_err(BackupError::io(&part))?;
        let mut restoration = Self { folder: folder.to_owned(), part, store: None };
        extract(backup, &restoration.database())?;
        mark_restored(&restoration.database())?;
        restoration.store = Some(Store::open(&restoration.part).await?);
        Ok(restoration)
    }

    /// The restored store, to be verified.
    pub fn store(&self) -> &Store {
        self.store.as_ref().expect("it is open until it is finished")
    }

    /// Moves the database to the folder, durably. The caller has dropped its copies of the store.
    pub fn finish(mut self) -> Result<(), BackupError> {
        self.store = None;
        copy_log(&self.database())?;
        let target = self.folder.join(NAME);
        fs::rename(self.database(), &target).map_err(BackupError::io(&target))?;
        fs::remove_dir_all(&self.part).map_err(BackupError::io(&self.part))?;
        sync_folder_of(&target)?;
        sync_folder_of(&self.folder)
    }

    fn database(&self) -> PathBuf {
        self.part.join(NAME)
    }
}

impl Drop for Restoration {
    fn drop(&mut self) {
        self.store = None;
        // After `finish` there is nothing to delete.
        let _ = fs::remove_dir_all(&self.part);
    }
}

/// Copies the write-ahead log to the file. A reader of the store may still be closing its connection, so its end did not do that.
fn copy_log(database: &Path) -> Result<(), BackupError> {
    let connection = Connection::open(database)?;
    connection.busy_timeout(CLOSE_MAX)?;
    let is_busy: bool = connection.query_row("pragma wal_checkpoint(truncate)", [], |row| row.get(0))?;
    if is_busy {
        let busy = std::io::Error::other("another process uses the store that is being restored");
        return Err(BackupError::io(database)(busy));
    }
    connection.close().map_err(|(_, error)| error)?;
    Ok(())
}

/// Records the time of the restore in the file's header, in seconds and later than every time in the file.
fn mark_restored(database: &Path) -> Result<(), BackupError> {
    let connection = Connection::open(database)?;
    let last = FileClock::alive_at(&connection)?.max(restored_at(&connection)?);
    let seconds = (last.max(wall()).0 / 1000 + 1) as u32;
    connection.pragma_update(None, "user_version", seconds.cast_signed())?;
    connection.close().map_err(|(_, error)| error)?;
    Ok(())
}

/// When the store was last restored from a backup; 0 if never.
pub(super) fn restored_at(connection: &Connection) -> Result<Timestamp> {
    let seconds: i32 = connection.query_row("pragma user_version", [], |row| row.get(0))?;
    Ok(Timestamp(i64::from(seconds.cast_unsigned()) * 1000))
}
