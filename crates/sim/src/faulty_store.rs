//! The store as one node sees it: can be disconnected, and contains the planted bugs. Connected and without a bug, it
//! changes nothing.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use tenure_core::api_key::ApiKey;
use tenure_core::asset::{Asset, AssetId};
use tenure_core::automation::{Automation, AutomationKind};
use tenure_core::event::{AuditLine, LogLine, Telemetry};
use tenure_core::id::{LifecycleName, QueueName};
use tenure_core::job::LifecycleRef;
use tenure_core::node::NodeRecord;
use tenure_core::query::JobFilter;
use tenure_core::worker::WorkerRecord;
use tenure_store::{AccountSums, CompletedJob, Count, Gauges, ReadyJobs, Scanned};

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

/// Passes the reads of a store on while the node is connected; `due` is implemented separately.
macro_rules! pass_on {
    ($($(#[$doc:meta])* fn $name:ident $arguments:tt -> $answer:ty $(= $decode:path)?;)*) => {
        $(pass_on!(@one $name $arguments -> $answer);)*
    };
    (@one due $arguments:tt -> $answer:ty) => {};
    (@one $name:ident($($argument:ident: $type:ty),*) -> $answer:ty) => {
        async fn $name(&self, $($argument: $type),*) -> Result<$answer, StoreError> {
            self.connected()?.$name($($argument),*).await
        }
    };
}

impl Store for FaultyStore {
    async fn transact<T: Send + 'static>(
        &self,
        reads: Reads,
        mut decide: impl FnMut(&mut WorkingSet, Now) -> T + Send + 'static,
    ) -> Result<T, StoreError> {
        let store = self.connected()?;
        let then = |tamper: fn(&mut WorkingSet)| {
            move |set: &mut WorkingSet, now: Now| {
                let answer = decide(set, now);
                tamper(set);
                answer
            }
        };
        match self.bug {
            Some(Bug::DoubleRefund) => store.transact(reads, then(planted_bugs::refund_twice)).await,
            Some(Bug::ForgottenAttempt) => store.transact(reads, then(planted_bugs::forget_attempts)).await,
            Some(Bug::EventOutsideCommit) => {
                planted_bugs::write_events_later(store, reads, then(|_| ())).await
            }
            Some(Bug::StaleSweep) if self.is_sweep(&reads) => {
                planted_bugs::write_later(store, reads, then(|_| ())).await
            }
            Some(Bug::StaleSweep | Bug::NoFenceCheck) | None => store.transact(reads, then(|_| ())).await,
        }
    }

    async fn due(&self, limit: usize) -> Result<Vec<JobId>, StoreError> {
        let due = self.connected()?.due(limit).await?;
        *self.swept() = due.iter().copied().collect();
        Ok(due)
    }

    fn is_shared(&self) -> bool {
        self.store.is_shared()
    }

    fn parallel_batches(&self) -> usize {
        self.store.parallel_batches()
    }

    async fn remote_commit(&self) -> Option<Vec<ReadyJobs>> {
        self.store.remote_commit().await
    }

    async fn now(&self) -> Result<Now, StoreError> {
        self.connected()?.now().await
    }

    async fn heartbeat(&self) -> Result<(), StoreError> {
        self.connected()?.heartbeat().await
    }

    tenure_store::store_reads!(pass_on);
    tenure_store::database_reads!(pass_on);
    tenure_store::statement_reads!(pass_on);
}
