//! The embedded store: SQLite with a write-ahead log and `synchronous=FULL`, one writer thread, live jobs in memory.
//!
//! The writer takes a batch, loads what it needs from memory, or from the file (finished jobs, keys, and jobs that are only
//! indexed), decides, writes rows and events, and commits: one fsync for each batch. Commands that arrive meanwhile form the next batch.
//! Readers use separate connections and never wait for the writer.

mod backup;
mod checkpoint;
mod clock;
mod files;
mod inspect;
mod load;
mod read;
mod reserve;
mod restore;
mod rows;
mod scan;
mod write;

use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::codec::{Interner, corrupt};
use crate::live::Live;
use crate::prelude::*;
use crate::tables::FoundRows;
use crate::{Decide, Result, StoreError};
pub use backup::{BackupError, BackupSummary, back_up};
use checkpoint::{Checkpointer, ReadGate};
use clock::FileClock;
use files::Files;
pub use inspect::inspect_folder;
use reserve::Reserve;
pub use restore::Restoration;
pub(crate) use rows::get;

/// Concurrent readers.
const READERS: usize = 4;

#[derive(Clone, Debug)]
pub(crate) struct SqliteStore(Arc<OpenStore>);

#[derive(Debug)]
struct OpenStore {
    /// `None` if the store is read-only or closing.
    tasks: Option<Sender<WriterTask>>,
    writer: Option<JoinHandle<()>>,
    checkpointer: Option<Checkpointer>,
    live: Arc<Mutex<Live>>,
    clock: Arc<Mutex<FileClock>>,
    readers: Mutex<Vec<Connection>>,
    /// Closed while the write-ahead log starts again.
    reads: Arc<ReadGate>,
    permits: tokio::sync::Semaphore,
    files: Files,
}

type WriterTask = Box<dyn FnOnce(&mut Writer) + Send>;

/// The state of the writer thread.
struct Writer {
    connection: Connection,
    live: Arc<Mutex<Live>>,
    clock: Arc<Mutex<FileClock>>,
    names: Interner,
    paused: std::collections::BTreeSet<QueueName>,
    position: Position,
    /// When the store was restored from a backup; 0 if never.
    restored_at: Timestamp,
    reads: Arc<ReadGate>,
    reserve: Reserve,
    /// Set when the outcome of a commit is unknown: nothing is written after that.
    doubt: Option<String>,
}

impl SqliteStore {
    /// Opens the store in a folder, which is created if it does not exist; refuses one that another process has open.
    pub(crate) async fn open(folder: &Path) -> Result<Self> {
        let folder = folder.to_owned();
        let opened = tokio::task::spawn_blocking(move || Self::open_blocking(&folder)).await;
        opened.map_err(|panic| StoreError::Statement(panic.to_string()))?
    }

    fn open_blocking(folder: &Path) -> Result<Self> {
        let files = Files::take(folder)?;
        Self::open_files(files).map_err(|error| match error {
            // Every statement matches the schema of a valid file.
            StoreError::Statement(why) => corrupt("file", folder.join(files::NAME).display(), &why),
            other => other,
        })
    }

    fn open_files(mut files: Files) -> Result<Self> {
        let mut connection = files.connect_writer()?;
        write::migrate(&mut connection)?;
        files.allocate_log_index();
        let clock = Arc::new(Mutex::new(FileClock::open(&connection)?));
        let mut names = Interner::default();
        let live = Arc::new(Mutex::new(load::live(&connection, &mut names)?));
        let readers = (0..READERS).map(|_| files.connect_reader()).collect::<Result<Vec<_>, _>>()?;
        let (reads, checkpoints) = (Arc::default(), files.connect_checkpoints()?);
        let writer = Writer {
            live: Arc::clone(&live),
            clock: Arc::clone(&clock),
            names,
            paused: load::paused(&connection)?,
            position: load::last_position(&connection)?,
            restored_at: restore::restored_at(&connection)?,
            reads: Arc::clone(&reads),
            reserve: Reserve::take(files.folder()),
            doubt: None,
            connection,
        };
        let (tasks, inbox) = channel();
        let spawned = std::thread::Builder::new().name("tenure-writer".to_owned());
        let spawned = spawned.spawn(move || run(writer, &inbox));
        let writer = Some(spawned.map_err(|error| StoreError::Unavailable(error.to_string()))?);
        let checkpointer = Some(Checkpointer::start(checkpoints, tasks.clone())?);
        let (readers, permits) = (Mutex::new(readers), tokio::sync::Semaphore::new(READERS));
        let tasks = Some(tasks);
        Ok(Self(Arc::new(OpenStore {
            tasks,
            writer,
            checkpointer,
            live,
            clock,
            readers,
            reads,
            permits,
            files,
        })))
    }

    /// Opens the store read-only, beside a process that may be using it: nothing is checked, repaired or written.
    pub(crate) async fn open_to_read(folder: &Path) -> Result<Self> {
        let folder = folder.to_owned();
        let opened = tokio::task::spawn_blocking(move || {
            let files = Files::look(&folder)?;
            let connection = files.connect_reader()?;
            let clock = Arc::new(Mutex::new(FileClock::look(&connection)?));
            let (readers, permits) = (Mutex::new(vec![connection]), tokio::sync::Semaphore::new(READERS));
            Ok(Self(Arc::new(OpenStore {
                tasks: None,
                writer: None,
                checkpointer: None,
                live: Arc::default(),
                clock,
                readers,
                reads: Arc::default(),
                permits,
                files,
            })))
        });
        opened.await.map_err(|panic| StoreError::Statement(panic.to_string()))?
    }

    /// Runs a task on the writer thread and waits for its result.
    async fn on_writer<T: Send + 'static>(
        &self,
        task: impl FnOnce(&mut Writer) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (reply, answer) = oneshot::channel();
        let task: WriterTask = Box::new(move |writer| drop(reply.send(task(writer))));
        let gone = || StoreError::OutcomeUnknown("the writer thread has ended".to_owned());
        let read_only = || StoreError::Unavailable("the store was opened to read".to_owned());
        self.0.tasks.as_ref().ok_or_else(read_only)?.send(task).map_err(|_| gone())?;
        answer.await.map_err(|_| gone())?
    }

    fn live(&self) -> std::sync::MutexGuard<'_, Live> {
        self.0.live.lock().expect("no thread panics while holding the lock")
    }

    fn now_blocking(&self) -> Now {
        self.0.clock.lock().expect("no thread panics while holding the lock").now()
    }
}

impl Drop for OpenStore {
    /// When this returns, every task has run and the file is closed. The folder's lock is released after that.
    fn drop(&mut self) {
        self.checkpointer = None;
        self.tasks = None;
        self.readers.get_mut().unwrap_or_else(PoisonError::into_inner).clear();
        let own = std::thread::current().id();
        // A decision may hold the last handle, and a thread cannot join itself.
        if let Some(writer) = self.writer.take().filter(|writer| writer.thread().id() != own) {
            // A panic was already reported to the caller of the task.
            drop(writer.join());
        }
    }
}

/// The writer thread: runs tasks until the last sender is dropped.
fn run(mut writer: Writer, inbox: &Receiver<WriterTask>) {
    while let Ok(task) = inbox.recv() {
        task(&mut writer);
    }
    writer.close();
}

impl Writer {
    /// Loads, decides and commits one batch.
    fn transact(&mut self, reads: &Reads, mut decide: Decide) -> Result<()> {
        if let Some(doubt) = &self.doubt {
            return Err(StoreError::OutcomeUnknown(doubt.clone()));
        }
        let now = self.clock().now();
        let mut set = self.load(reads, now)?;
        set.restored_at = self.restored_at;
        let found = FoundRows::of(&set);
        decide(&mut set, now);
        if set.changes.is_empty() { Ok(()) } else { self.write(set, &found, now) }
    }
}
