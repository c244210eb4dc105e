//! The reference store: all tables in memory behind one mutex, with a manual clock and injected faults for tests. It defines
//! the behaviour of the other stores. Nothing is persisted.

mod assets;
mod clock;
mod expiry;
mod tables;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};

use super::*;
use clock::{Clock, MemoryClock};
use tables::Tables;

use crate::prelude::*;
use crate::query::queries;

/// A fault for the next write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Unavailable before the commit: nothing is written.
    BeforeCommit,
    /// The connection is lost after the commit: everything is written, but the caller does not learn it.
    AfterCommit,
    /// The disk is full: nothing is written.
    Full,
}

#[derive(Clone, Debug)]
pub struct MemoryStore(Arc<Mutex<Inner>>);

#[derive(Debug)]
struct Inner {
    tables: Tables,
    faults: VecDeque<Fault>,
    away: bool,
}

impl MemoryStore {
    pub fn new() -> Self {
        Self::on(Clock::Wall)
    }

    /// A store whose clock moves only by [`MemoryStore::advance`].
    pub fn with_manual_clock(at: Timestamp) -> Self {
        Self::on(Clock::Manual(at))
    }

    /// A store with tokio's clock from a start time: virtual where tokio's time is paused.
    pub fn with_tokio_clock(at: Timestamp) -> Self {
        Self::on(Clock::Tokio(at, tokio::time::Instant::now()))
    }

    fn on(clock: Clock) -> Self {
        let tables = Tables::on(MemoryClock::on(clock));
        Self(Arc::new(Mutex::new(Inner { tables, faults: VecDeque::new(), away: false })))
    }

    /// The handle with the reads of a store.
    pub fn handle(&self) -> Store {
        self.clone().into()
    }

    /// Moves the clock forward.
    pub fn advance(&self, span: Millis) {
        let mut inner = self.inner();
        let clock = &mut inner.tables.clock;
        let at = clock.now().at + span;
        clock.set(at);
    }

    /// Moves the clock forward as an outage: the clocks of all jobs pause.
    pub fn outage(&self, span: Millis) {
        self.advance(span);
        self.inner().tables.clock.add_outage(span);
    }

    /// Sets the machine's clock, even backwards. The store's clock never runs backwards.
    pub fn jump(&self, at: Timestamp) {
        self.inner().tables.clock.set(at);
    }

    /// Injects a fault into the next write; several queue up.
    pub fn inject(&self, fault: Fault) {
        self.inner().faults.push_back(fault);
    }

    /// Makes the store unavailable (`true`) or available.
    pub fn set_away(&self, away: bool) {
        self.inner().away = away;
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        // A decision that panicked had written nothing, so the tables are consistent.
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn available(&self) -> Result<MutexGuard<'_, Inner>> {
        let inner = self.inner();
        if inner.away { Err(StoreError::Unavailable("it was taken away".to_owned())) } else { Ok(inner) }
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

impl Inner {
    fn transact(&mut self, reads: &Reads, mut decide: Decide) -> Result<()> {
        if self.away {
            return Err(StoreError::Unavailable("it was taken away".to_owned()));
        }
        let now = self.tables.clock.now();
        let mut set = self.tables.load(reads, now);
        decide(&mut set, now);
        if set.changes.is_empty() {
            return Ok(());
        }
        match self.faults.pop_front() {
            Some(Fault::BeforeCommit) => Err(StoreError::Unavailable("injected fault".to_owned())),
            Some(Fault::Full) => Err(StoreError::Full),
            Some(Fault::AfterCommit) => {
                self.tables.write(set);
                Err(StoreError::OutcomeUnknown("injected fault".to_owned()))
            }
            None => {
                self.tables.write(set);
                Ok(())
            }
        }
    }
}

macro_rules! read_tables {
    ($(
        $(#[$doc:meta])*
        $variant:ident = $name:ident($($arg:ident: $type:ty),*) -> $output:ty [$($how:tt)+];
    )*) => {
        impl Tables {
            fn read(&mut self, query: Query) -> QueryAnswer {
                match query {
                    $(Query::$variant { $($arg),* } => QueryAnswer::$variant(self.$name($($arg),*)),)*
                }
            }
        }
    };
}

queries!(read_tables);

impl Backend for MemoryStore {
    fn transact(&self, reads: Reads, decide: Decide) -> BackendFuture<'_, Result<()>> {
        Box::pin(async move { self.inner().transact(&reads, decide) })
    }

    fn read(&self, query: Query) -> BackendFuture<'_, Result<QueryAnswer>> {
        Box::pin(async move { Ok(self.available()?.tables.read(query)) })
    }

    fn now(&self) -> BackendFuture<'_, Result<Now>> {
        Box::pin(async { Ok(self.inner().tables.clock.now()) })
    }

    fn heartbeat(&self) -> BackendFuture<'_, Result<()>> {
        Box::pin(async { self.available().map(drop) })
    }

    fn remote_commit(&self) -> BackendFuture<'_, Option<Vec<ReadyJobs>>> {
        Box::pin(std::future::pending())
    }

    fn properties(&self) -> Properties {
        Properties { kind: StoreKind::Memory, parallel_batches: 1, is_shared: true }
    }
}
