//! The store for several nodes: PostgreSQL, with the same tables and values as SQLite.
//!
//! A batch is one transaction in two round trips: everything it needs is queried and locked at once, then decided, then
//! everything it changed is written and committed at once. Any number of nodes may do so at the same time; row locks,
//! taken in the same order by all, separate them. Correctness does not depend on any cache of a node.

mod assets;
mod automations;
mod claim;
mod claim_index;
mod clock;
mod commits;
mod connection;
mod error;
mod listen;
mod load;
mod nodes;
mod open;
mod options;
mod pool;
mod read;
mod rows;
mod scan;
mod specs;
mod statements;
mod transact;
mod watch;
mod write;

use super::*;
use claim_index::ClaimIndex;
use clock::DatabaseClock;
use commits::Commits;
use error::StatementFault;
use listen::CommitNotifications;
use options::Options;
use pool::Pool;
use specs::Specs;

/// Connections for reads, besides one for each batch worker.
const READERS: usize = 4;

#[derive(Clone, Debug)]
pub struct PostgresStore(Arc<Node>);

/// Connections and caches of one node.
#[derive(Debug)]
struct Node {
    writers: Pool,
    readers: Pool,
    clock: DatabaseClock,
    commits: Commits,
    specs: Specs,
    claim_index: ClaimIndex,
    notifications: CommitNotifications,
    parallel_batches: usize,
}

impl PostgresStore {
    /// Connects to a `postgres://` URL and runs pending migrations; refuses a server that could lose acknowledged work.
    /// Besides the driver's settings the URL accepts `lanes` (batches in flight), `prepared=off` (for poolers that move
    /// transactions between connections) and `notify=off`.
    pub async fn connect(url: &str) -> Result<Self, StoreError> {
        let options = Options::parse(url)?;
        let pool = |keeps, size| Pool::new(options.config.clone(), keeps, size);
        let node = Node {
            writers: pool(options.prepared, options.parallel_batches),
            readers: pool(false, READERS),
            clock: DatabaseClock::default(),
            commits: Commits::default(),
            specs: Specs::default(),
            claim_index: ClaimIndex::default(),
            notifications: if options.notify {
                CommitNotifications::start(options.config.clone())
            } else {
                CommitNotifications::none()
            },
            parallel_batches: options.parallel_batches,
        };
        let mut connection = node.readers.get().await?;
        connection.set_busy(true);
        open::check(&connection).await?;
        open::migrate(&connection).await?;
        connection.set_busy(false);
        drop(connection);
        Ok(Self(Arc::new(node)))
    }
}

impl Node {
    async fn now(&self) -> Result<Now, StoreError> {
        let mut connection = self.readers.get().await?;
        connection.set_busy(true);
        let reading = clock::read(&connection, &self.clock).await?;
        connection.set_busy(false);
        Ok(reading.now())
    }

    async fn heartbeat(&self) -> Result<(), StatementFault> {
        let mut connection = self.readers.get().await?;
        connection.set_busy(true);
        clock::beat(&connection, &self.clock).await?;
        connection.set_busy(false);
        Ok(())
    }
}

macro_rules! delegate_reads {
    ($($(#[$doc:meta])* fn $name:ident($($arg:ident: $type:ty),*) -> $output:ty;)*) => {$(
        async fn $name(&self, $($arg: $type),*) -> Result<$output, StoreError> {
            self.0.$name($($arg),*).await
        }
    )*};
}

impl Store for PostgresStore {
    async fn transact<T: Send + 'static>(
        &self,
        reads: Reads,
        decide: impl FnMut(&mut WorkingSet, Now) -> T + Send + 'static,
    ) -> Result<T, StoreError> {
        transact::transact(&self.0, reads, decide).await
    }

    async fn now(&self) -> Result<Now, StoreError> {
        self.0.now().await
    }

    async fn heartbeat(&self) -> Result<(), StoreError> {
        Ok(self.0.heartbeat().await?)
    }

    fn is_shared(&self) -> bool {
        true
    }

    fn parallel_batches(&self) -> usize {
        self.0.parallel_batches
    }

    async fn remote_commit(&self) {
        self.0.notifications.remote_commit().await;
    }

    store_reads!(delegate_reads);
}
