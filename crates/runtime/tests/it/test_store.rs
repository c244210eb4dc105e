//! A store in memory that reports chosen jobs as corrupt.

use std::collections::BTreeSet;
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
use tenure_store::{AccountSums, Count, Gauges, JournalEntry, Scanned, StoreError};

use crate::prelude::*;

#[derive(Clone, Debug)]
pub(crate) struct TestStore {
    store: MemoryStore,
    corrupt: Arc<Mutex<BTreeSet<JobId>>>,
}

impl TestStore {
    pub(crate) fn new(store: MemoryStore) -> Self {
        Self { store, corrupt: Arc::default() }
    }

    /// The jobs whose batches fail.
    pub(crate) fn corrupt(&self) -> MutexGuard<'_, BTreeSet<JobId>> {
        self.corrupt.lock().expect("no test panics with this lock")
    }
}

macro_rules! pass_on {
    ($($(#[$doc:meta])* fn $name:ident($($argument:ident: $type:ty),*) -> $answer:ty $(= $decode:path)?;)*) => {$(
        async fn $name(&self, $($argument: $type),*) -> Result<$answer, StoreError> {
            self.store.$name($($argument),*).await
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
        self.store.transact(reads, decide).await
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

    async fn remote_commit(&self) {
        self.store.remote_commit().await;
    }

    tenure_store::store_reads!(pass_on);
    tenure_store::database_reads!(pass_on);
    tenure_store::statement_reads!(pass_on);
}
