//! A store chosen at run time. Closed sets are enums: each method is a `match`.

use std::path::Path;

use super::*;

#[derive(Clone, Debug)]
pub enum AnyStore {
    Memory(MemoryStore),
    Sqlite(SqliteStore),
    Postgres(PostgresStore),
}

impl AnyStore {
    /// The embedded store in a folder, which is created if it does not exist.
    pub async fn open(folder: &Path) -> Result<Self, StoreError> {
        SqliteStore::open(folder).await.map(Self::Sqlite)
    }

    /// Opens the embedded store read-only, beside a process that may be using it.
    pub async fn open_to_read(folder: &Path) -> Result<Self, StoreError> {
        SqliteStore::open_to_read(folder).await.map(Self::Sqlite)
    }

    /// The store behind a `postgres://` URL.
    pub async fn connect(url: &str) -> Result<Self, StoreError> {
        PostgresStore::connect(url).await.map(Self::Postgres)
    }
}

/// Delegates a call to the chosen store. Futures of PostgreSQL are boxed: unboxed, they would make the future of every store
/// call several kilobytes large, and next to a round trip an allocation costs nothing.
macro_rules! on_each {
    ($self:expr, $store:ident => $call:expr, waited) => {
        match $self {
            AnyStore::Memory($store) => $call.await,
            AnyStore::Sqlite($store) => $call.await,
            AnyStore::Postgres($store) => Box::pin($call).await,
        }
    };
    ($self:expr, $store:ident => $call:expr) => {
        match $self {
            AnyStore::Memory($store) => $call,
            AnyStore::Sqlite($store) => $call,
            AnyStore::Postgres($store) => $call,
        }
    };
}

macro_rules! dispatch_reads {
    ($($(#[$doc:meta])* fn $name:ident($($arg:ident: $type:ty),*) -> $output:ty $(= $decode:path)?;)*) => {$(
        async fn $name(&self, $($arg: $type),*) -> Result<$output, StoreError> {
            on_each!(self, store => store.$name($($arg),*), waited)
        }
    )*};
}

impl Store for AnyStore {
    async fn transact<T: Send + 'static>(
        &self,
        reads: Reads,
        decide: impl FnMut(&mut WorkingSet, Now) -> T + Send + 'static,
    ) -> Result<T, StoreError> {
        on_each!(self, store => store.transact(reads, decide), waited)
    }

    async fn now(&self) -> Result<Now, StoreError> {
        on_each!(self, store => store.now(), waited)
    }

    async fn heartbeat(&self) -> Result<(), StoreError> {
        on_each!(self, store => store.heartbeat(), waited)
    }

    fn is_shared(&self) -> bool {
        on_each!(self, store => store.is_shared())
    }

    fn parallel_batches(&self) -> usize {
        on_each!(self, store => store.parallel_batches())
    }

    async fn remote_commit(&self) -> Option<Vec<ReadyJobs>> {
        on_each!(self, store => store.remote_commit(), waited)
    }

    store_reads!(dispatch_reads);
    database_reads!(dispatch_reads);
    statement_reads!(dispatch_reads);
}
