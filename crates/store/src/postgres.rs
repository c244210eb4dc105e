//! The store for several nodes: PostgreSQL, with the same tables and values as SQLite.
//!
//! A batch is one transaction in two round trips: everything it needs is queried and locked at once, then decided, then
//! everything it changed is written and committed at once. Any number of nodes may do so at the same time; row locks,
//! taken in the same order by all, separate them. Correctness does not depend on any cache of a node.

mod claim;
mod claim_index;
mod clock;
mod commits;
mod connection;
mod error;
mod listen;
mod load;
mod open;
mod options;
mod pool;
mod read;
mod ready_changes;
mod rows;
mod scan;
mod specs;
mod statements;
mod tls;
mod transact;
mod watch;
mod write;

use super::*;
use claim::CandidateSize;
use claim_index::ClaimIndex;
use clock::DatabaseClock;
use commits::Commits;
use error::StatementFault;
use listen::CommitNotifications;
use options::{DatabaseServer, Options};
use pool::Pool;
use read::ReadPools;
pub(crate) use rows::get;
use specs::Specs;

/// Connections and caches of one node.
#[derive(Debug)]
pub(crate) struct Node {
    server: DatabaseServer,
    writers: Pool,
    readers: ReadPools,
    clock: DatabaseClock,
    commits: Commits,
    specs: Specs,
    claim_index: ClaimIndex,
    candidate_size: CandidateSize,
    notifications: CommitNotifications,
    parallel_batches: usize,
}

impl Node {
    /// Connects to a `postgres://` URL and runs pending migrations; refuses a server that could lose acknowledged work.
    /// Besides the driver's settings the URL accepts `lanes` (batches in flight), `prepared=off` (for poolers that move
    /// transactions between connections), `notify=off`, and libpq's `sslmode`, `sslrootcert`, `sslcert` and `sslkey`.
    pub(crate) async fn connect(url: &str) -> Result<Self> {
        let options = Options::parse(url)?;
        let pool = |keeps, size| Pool::new(options.server.clone(), keeps, size);
        let node = Node {
            server: options.server.clone(),
            writers: pool(options.prepared, options.parallel_batches),
            readers: ReadPools::new(|size| pool(false, size)),
            clock: DatabaseClock::default(),
            commits: Commits::default(),
            specs: Specs::default(),
            claim_index: ClaimIndex::default(),
            candidate_size: CandidateSize::default(),
            notifications: if options.notify {
                CommitNotifications::start(options.server.clone())
            } else {
                CommitNotifications::none()
            },
            parallel_batches: options.parallel_batches,
        };
        let mut connection = node.readers.lookups.get().await?;
        open::check(&connection).await?;
        open::migrate(&connection).await?;
        connection.release();
        drop(connection);
        Ok(node)
    }

    async fn database_now(&self) -> Result<Now> {
        let mut connection = self.readers.lookups.get().await?;
        let reading = clock::read(&connection, &self.clock).await?;
        connection.release();
        Ok(reading.now())
    }

    async fn record_heartbeat(&self) -> Result<(), StatementFault> {
        let mut connection = self.readers.lookups.get().await?;
        clock::beat(&connection, &self.clock).await?;
        connection.release();
        Ok(())
    }
}
