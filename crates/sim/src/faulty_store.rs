//! The store as one node sees it: can be disconnected, and contains the planted bugs. Connected and without a bug, it
//! changes nothing.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use tenure_store::{Backend, BackendFuture, Decide, Properties, Query, QueryAnswer, ReadyJobs};

use crate::planted_bugs::{self, Bug};
use crate::prelude::*;

#[derive(Clone, Debug)]
pub(crate) struct FaultyStore {
    store: MemoryStore,
    disconnected: Arc<AtomicBool>,
    bug: Option<Bug>,
    /// What the node's sweeper last read as due: by it, the stale sweep recognizes its batches.
    swept: Arc<Mutex<BTreeSet<JobId>>>,
}

impl FaultyStore {
    pub(crate) fn new(store: MemoryStore, bug: Option<Bug>) -> Self {
        Self { store, disconnected: Arc::default(), bug, swept: Arc::default() }
    }

    pub(crate) fn set_disconnected(&self, disconnected: bool) {
        self.disconnected.store(disconnected, Ordering::Relaxed);
    }

    pub(crate) fn is_disconnected(&self) -> bool {
        self.disconnected.load(Ordering::Relaxed)
    }

    fn connected(&self) -> Result<&MemoryStore, StoreError> {
        if self.is_disconnected() {
            return Err(StoreError::Unavailable("the node is disconnected".to_owned()));
        }
        Ok(&self.store)
    }

    fn swept(&self) -> std::sync::MutexGuard<'_, BTreeSet<JobId>> {
        self.swept.lock().expect("no thread panics with this lock")
    }

    fn is_sweep(&self, reads: &Reads) -> bool {
        let only_jobs = Reads { jobs: reads.jobs.clone(), ..Reads::default() } == *reads;
        only_jobs && !reads.jobs.is_empty() && reads.jobs.is_subset(&self.swept())
    }
}

impl Backend for FaultyStore {
    fn transact(&self, reads: Reads, decide: Decide) -> BackendFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            let store = self.connected()?;
            if let Some(tamper) = self.bug.and_then(Bug::tamper) {
                return store.transact(reads, tampered(decide, tamper)).await;
            }
            match self.bug {
                Some(Bug::EventOutsideCommit) => planted_bugs::write_events_later(store, reads, decide).await,
                Some(Bug::StaleSweep) if self.is_sweep(&reads) => {
                    planted_bugs::write_later(store, reads, decide).await
                }
                _ => store.transact(reads, decide).await,
            }
        })
    }

    fn read(&self, query: Query) -> BackendFuture<'_, Result<QueryAnswer, StoreError>> {
        Box::pin(async move {
            let answer = self.connected()?.read(query).await?;
            if let QueryAnswer::Due(due) = &answer {
                *self.swept() = due.jobs.iter().copied().collect();
            }
            Ok(answer)
        })
    }

    fn now(&self) -> BackendFuture<'_, Result<Now, StoreError>> {
        Box::pin(async { self.connected()?.now().await })
    }

    fn heartbeat(&self) -> BackendFuture<'_, Result<(), StoreError>> {
        Box::pin(async { self.connected()?.heartbeat().await })
    }

    fn remote_commit(&self) -> BackendFuture<'_, Option<Vec<ReadyJobs>>> {
        self.store.remote_commit()
    }

    fn properties(&self) -> Properties {
        self.store.properties()
    }
}

fn tampered(mut decide: Decide, tamper: fn(&mut WorkingSet)) -> Decide {
    Box::new(move |set, now| {
        decide(set, now);
        tamper(set);
    })
}
