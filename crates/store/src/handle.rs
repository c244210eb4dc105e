//! The handle through which all other crates use a store.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use crate::prelude::*;
use crate::{
    ApplyReload, Backend, IntakeCursor, IntakePage, Properties, ReadyJobs, Result, SqliteStore, StoreError,
    postgres,
};

/// A store, whatever its backend. Cheap to clone. Its reads are declared in `query.rs`.
#[derive(Clone, Debug)]
pub struct Store(Arc<dyn Backend>);

impl<B: Backend> From<B> for Store {
    fn from(backend: B) -> Self {
        Self(Arc::new(backend))
    }
}

impl Store {
    /// The embedded store in a folder, which is created if it does not exist.
    pub async fn open(folder: &Path) -> Result<Self, StoreError> {
        SqliteStore::open(folder).await.map(Self::from)
    }

    /// Opens the embedded store read-only, beside a process that may be using it.
    pub async fn open_to_read(folder: &Path) -> Result<Self, StoreError> {
        SqliteStore::open_to_read(folder).await.map(Self::from)
    }

    /// The store in the schema [`crate::SCHEMA_DEFAULT`] of the database behind a `postgres://` URL.
    pub async fn connect(url: &str) -> Result<Self, StoreError> {
        Self::connect_to(url, postgres::SCHEMA_DEFAULT).await
    }

    /// The store in a schema of the database behind a `postgres://` URL. Two schemas are two independent stores.
    pub async fn connect_to(url: &str, schema: &str) -> Result<Self, StoreError> {
        postgres::Node::connect(url, schema).await.map(Self::from)
    }

    pub(crate) fn backend(&self) -> &dyn Backend {
        &*self.0
    }

    pub fn properties(&self) -> Properties {
        self.0.properties()
    }

    /// Says how many bytes of memory the process may have: caches, and jobs that are in memory completely, get a share of it. Without a
    /// call they have the size for a large machine.
    pub fn limit_memory(&self, process_bytes: usize) {
        self.0.limit_memory(process_bytes);
    }

    /// Loads the certificates for connections to its database again. The result applies them to new connections.
    pub fn reload(&self) -> Result<ApplyReload, StoreError> {
        self.0.reload()
    }

    /// Whether other nodes may commit to it.
    pub fn is_shared(&self) -> bool {
        self.properties().is_shared
    }

    /// The only write besides `heartbeat`. Loads `reads`, calls `decide` at the store's time, and writes the changes: all or
    /// nothing, durable when it returns. After a conflict `decide`, which is pure, is called again.
    pub async fn transact<T: Send + 'static>(
        &self,
        reads: Reads,
        mut decide: impl FnMut(&mut WorkingSet, Now) -> T + Send + 'static,
    ) -> Result<T, StoreError> {
        let decided = Arc::new(Mutex::new(None));
        let last = Arc::clone(&decided);
        let decide = Box::new(move |set: &mut WorkingSet, now: Now| {
            let answer = decide(set, now);
            *last.lock().unwrap_or_else(PoisonError::into_inner) = Some(answer);
        });
        self.0.transact(reads, decide).await?;
        let answer = decided.lock().unwrap_or_else(PoisonError::into_inner).take();
        Ok(answer.expect("a backend decides before it writes"))
    }

    /// Requests that applications have committed to the store's own database, after a cursor.
    pub async fn intake(&self, cursor: IntakeCursor) -> Result<IntakePage, StoreError> {
        self.0.intake(cursor).await
    }

    /// A request for a job that is in the intake of the store's own database.
    pub async fn pending_request(&self, id: JobId) -> Result<Option<PendingRequest>, StoreError> {
        self.0.pending_request(id).await
    }

    /// The store's clock: shared by all nodes, never backwards.
    pub async fn now(&self) -> Result<Now, StoreError> {
        self.0.now().await
    }

    /// Records that a node is running. More than a second without a heartbeat of any node is an outage, which pauses clocks.
    pub async fn heartbeat(&self) -> Result<(), StoreError> {
        self.0.heartbeat().await
    }

    /// Resolves when another node may have committed, with the jobs that became ready, or `None` if they are not known. May
    /// be missed, and may be spurious.
    pub async fn remote_commit(&self) -> Option<Vec<ReadyJobs>> {
        self.0.remote_commit().await
    }
}
