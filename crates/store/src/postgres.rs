//! The store for several nodes: PostgreSQL, with the same tables and values as SQLite.
//!
//! The journal is the truth, and each node follows it: unfinished jobs are in the memory of every node. A batch is one transaction in
//! two round trips: under the journal's lock it reads what others have appended since and what is not in memory; then it is
//! decided, and everything it changed is written and committed at once. One batch of all nodes at a time holds the lock, so that
//! each decides on the present state. A commit appends; the rows of unfinished jobs follow some seconds later.

mod claim;
mod clock;
mod commits;
mod connection;
mod earlier_tables;
mod error;
mod follow;
mod inspect;
mod intake;
mod job_change;
mod listen;
mod load;
mod memory;
mod open;
mod options;
mod outbox;
mod pool;
mod read;
mod ready_changes;
mod rows;
mod scan;
mod schema;
mod statements;
mod tail;
mod tls;
mod transact;
mod watch;
mod write;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::*;
use claim::CandidateSize;
use clock::DatabaseClock;
use commits::Commits;
use error::StatementFault;
pub use inspect::{check_url, inspect_database};
use listen::CommitNotifications;
use memory::{Followed, JobMemory};
pub(crate) use open::VERSION_MIN;
use options::{DatabaseServer, Options};
pub use outbox::{Outbox, intake_script};
use pool::Pool;
pub(crate) use read::READ_CONNECTIONS_MAX;
use read::ReadPools;
pub(crate) use rows::get;
pub use schema::SCHEMA_DEFAULT;

/// How long a batch waits for the one before it: longer than that may take.
const BATCH_WAIT_MAX: Duration = Duration::from_secs(15);

/// The connections of one node, and the unfinished jobs in its memory.
#[derive(Debug)]
pub(crate) struct Node {
    server: DatabaseServer,
    writers: Pool,
    readers: ReadPools,
    clock: DatabaseClock,
    commits: Commits,
    /// `None` before it is read for the first time.
    memory: Mutex<Option<JobMemory>>,
    /// Bytes of memory that the process may have.
    process_bytes: AtomicUsize,
    /// Held while the memory is read: one of several calls reads it.
    opening: tokio::sync::Mutex<()>,
    candidate_size: CandidateSize,
    notifications: CommitNotifications,
}

impl Node {
    /// Connects to a schema of the database behind a `postgres://` URL and runs pending migrations; refuses a server that could lose acknowledged work.
    /// Besides the driver's settings the URL accepts `prepared=off` (for poolers that move transactions between connections),
    /// `notify=off`, and libpq's `sslmode`, `sslrootcert`, `sslcert` and `sslkey`.
    pub(crate) async fn connect(url: &str, schema: &str) -> Result<Self> {
        let options = Options::parse(url, schema)?;
        let pool = |keeps, size| Pool::new(options.server.clone(), keeps, size);
        let node = Node {
            server: options.server.clone(),
            writers: pool(options.prepared, 1).with_wait(BATCH_WAIT_MAX),
            readers: ReadPools::new(|size| pool(false, size)),
            clock: DatabaseClock::default(),
            commits: Commits::default(),
            memory: Mutex::default(),
            process_bytes: AtomicUsize::new(usize::MAX),
            opening: tokio::sync::Mutex::default(),
            candidate_size: CandidateSize::default(),
            notifications: if options.notify {
                CommitNotifications::start(options.server.clone())
            } else {
                CommitNotifications::none()
            },
        };
        let mut connection = node.readers.lookups.get().await?;
        open::check(&connection).await?;
        open::migrate(&connection, &options.server.schema).await?;
        connection.release();
        drop(connection);
        follow::catch_up(&node).await?;
        Ok(node)
    }

    fn memory(&self) -> MutexGuard<'_, Option<JobMemory>> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How much of the journal the memory has; `None` before it is read for the first time.
    fn followed(&self) -> Option<Followed> {
        self.memory().as_ref().map(JobMemory::followed)
    }

    async fn database_now(&self) -> Result<Now> {
        let mut connection = self.readers.lookups.get().await?;
        let reading = clock::read(&connection, &self.clock).await?;
        connection.release();
        Ok(reading.now())
    }

    /// Also follows the journal, so that a batch has little to read, and saves jobs while there are no batches.
    async fn record_heartbeat(&self) -> Result<(), StatementFault> {
        let mut connection = self.readers.lookups.get().await?;
        clock::write_heartbeat(&connection, &self.clock).await?;
        connection.release();
        drop(connection);
        follow::catch_up(self).await?;
        if self.memory().as_ref().is_some_and(JobMemory::has_stale) {
            transact::save_stale(self).await?;
        }
        Ok(())
    }
}
