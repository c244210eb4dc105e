//! A store in memory that records how much of the journal is read at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tenure_core::time::Now;
use tenure_core::working_set::Reads;
use tenure_store::{
    Backend, BackendFuture, Decide, MemoryStore, Properties, Query, QueryAnswer, ReadyJobs, StoreError,
};

#[derive(Clone, Debug)]
pub(crate) struct WatchedStore {
    store: MemoryStore,
    events_max: Arc<AtomicUsize>,
}

impl WatchedStore {
    pub(crate) fn new(store: MemoryStore) -> Self {
        Self { store, events_max: Arc::default() }
    }

    /// The most events that a read has asked for since the last call.
    pub(crate) fn events_max(&self) -> usize {
        self.events_max.swap(0, Ordering::Relaxed)
    }
}

impl Backend for WatchedStore {
    fn transact(&self, reads: Reads, decide: Decide) -> BackendFuture<'_, Result<(), StoreError>> {
        self.store.transact(reads, decide)
    }

    fn read(&self, query: Query) -> BackendFuture<'_, Result<QueryAnswer, StoreError>> {
        if let Query::Events { limit, .. } = &query {
            self.events_max.fetch_max(*limit, Ordering::Relaxed);
        }
        self.store.read(query)
    }

    fn now(&self) -> BackendFuture<'_, Result<Now, StoreError>> {
        self.store.now()
    }

    fn heartbeat(&self) -> BackendFuture<'_, Result<(), StoreError>> {
        self.store.heartbeat()
    }

    fn remote_commit(&self) -> BackendFuture<'_, Option<Vec<ReadyJobs>>> {
        self.store.remote_commit()
    }

    fn properties(&self) -> Properties {
        self.store.properties()
    }
}
