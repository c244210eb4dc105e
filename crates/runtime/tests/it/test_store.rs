//! A store in memory that counts its calls, reports chosen jobs as corrupt, and receives commits of other nodes.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use tenure_core::api_key::ApiKey;
use tenure_core::asset::{Asset, AssetId};
use tenure_core::automation::{Automation, AutomationKind};
use tenure_core::credit::{Account, LedgerLine};
use tenure_core::dead_letter::DeadLetter;
use tenure_core::event::{AuditLine, Event, LogLine, Telemetry};
use tenure_core::id::{JobId, LifecycleName, Position, QueueName, UserId, WorkerId};
use tenure_core::job::LifecycleRef;
use tenure_core::node::NodeRecord;
use tenure_core::query::{DeadLetterFilter, JobFilter, Page};
use tenure_core::time::Now;
use tenure_core::worker::WorkerRecord;
use tenure_core::working_set::{Reads, WorkingSet};
use tenure_store::{AccountSums, CompletedJob, Count, Gauges, JournalEntry, ReadyJobs, Scanned, StoreError};
use tokio::sync::mpsc;

use crate::prelude::*;

#[derive(Clone, Debug)]
pub(crate) struct TestStore {
    store: MemoryStore,
    calls: Arc<AtomicUsize>,
    corrupt: Arc<Mutex<BTreeSet<JobId>>>,
    remote: Arc<tokio::sync::Mutex<mpsc::UnboundedReceiver<RemoteCommit>>>,
}

/// The jobs that became ready, if they are known.
type RemoteCommit = Option<Vec<ReadyJobs>>;

impl TestStore {
    /// The store, and the sender of commits of other nodes.
    pub(crate) fn new(store: MemoryStore) -> (Self, mpsc::UnboundedSender<RemoteCommit>) {
        let (sender, remote) = mpsc::unbounded_channel();
        let remote = Arc::new(tokio::sync::Mutex::new(remote));
        (Self { store, calls: Arc::default(), corrupt: Arc::default(), remote }, sender)
    }

    /// The number of reads and batches so far.
    pub(crate) fn calls(&self) -> usize {
        self.calls.load(Ordering::Relaxed)
    }

    fn counted(&self) -> &MemoryStore {
        self.calls.fetch_add(1, Ordering::Relaxed);
        &self.store
    }

    /// The jobs whose batches fail.
    pub(crate) fn corrupt(&self) -> MutexGuard<'_, BTreeSet<JobId>> {
        self.corrupt.lock().expect("no test panics with this lock")
    }
}

macro_rules! count_reads {
    ($($(#[$doc:meta])* fn $name:ident($($argument:ident: $type:ty),*) -> $answer:ty $(= $decode:path)?;)*) => {$(
        async fn $name(&self, $($argument: $type),*) -> Result<$answer, StoreError> {
            self.counted().$name($($argument),*).await
        }
    )*};
}

impl Store for TestStore {
    async fn transact<T: Send + 'static>(
        &self,
        reads: Reads,
        decide: impl FnMut(&mut WorkingSet, Now) -> T + Send + 'static,
    ) -> Result<T, StoreError> {
        let corrupt = reads.jobs.intersection(&self.corrupt()).next().copied();
        if let Some(id) = corrupt {
            let why = "chosen by the test".to_owned();
            return Err(StoreError::Corrupt { table: "jobs", key: id.to_string(), why });
        }
        self.counted().transact(reads, decide).await
    }

    async fn now(&self) -> Result<Now, StoreError> {
        self.store.now().await
    }

    async fn heartbeat(&self) -> Result<(), StoreError> {
        self.store.heartbeat().await
    }

    fn is_shared(&self) -> bool {
        self.store.is_shared()
    }

    fn parallel_batches(&self) -> usize {
        self.store.parallel_batches()
    }

    async fn remote_commit(&self) -> RemoteCommit {
        match self.remote.lock().await.recv().await {
            Some(commit) => commit,
            None => std::future::pending().await,
        }
    }

    tenure_store::store_reads!(count_reads);
    tenure_store::database_reads!(count_reads);
    tenure_store::statement_reads!(count_reads);
}
