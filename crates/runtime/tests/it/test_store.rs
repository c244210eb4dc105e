//! A store in memory that counts its calls, reports chosen jobs as corrupt, and receives commits of other nodes.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use tenure_core::id::JobId;
use tenure_core::time::Now;
use tenure_core::working_set::Reads;
use tenure_store::{
    Backend, BackendFuture, Decide, IntakeCursor, IntakePage, Properties, Query, QueryAnswer, ReadyJobs,
    StoreError, StoreKind,
};
use tokio::sync::mpsc;

use crate::prelude::*;

#[derive(Clone, Debug)]
pub(crate) struct TestStore {
    store: MemoryStore,
    calls: Arc<AtomicUsize>,
    corrupt: Arc<Mutex<BTreeSet<JobId>>>,
    loses_accounts: Arc<AtomicBool>,
    /// For each page of the intake, whether it was asked for from the beginning; `None` without an intake.
    pages: Arc<Mutex<Option<Vec<bool>>>>,
    remote: Arc<tokio::sync::Mutex<mpsc::UnboundedReceiver<RemoteCommit>>>,
}

/// The jobs that became ready, if they are known.
type RemoteCommit = Option<Vec<ReadyJobs>>;

impl TestStore {
    /// The store, and the sender of commits of other nodes.
    pub(crate) fn new(store: MemoryStore) -> (Self, mpsc::UnboundedSender<RemoteCommit>) {
        let (sender, remote) = mpsc::unbounded_channel();
        let remote = Arc::new(tokio::sync::Mutex::new(remote));
        (
            Self {
                store,
                calls: Arc::default(),
                corrupt: Arc::default(),
                loses_accounts: Arc::default(),
                pages: Arc::default(),
                remote,
            },
            sender,
        )
    }

    /// The number of reads and batches so far.
    pub(crate) fn calls(&self) -> usize {
        self.calls.load(Ordering::Relaxed)
    }

    fn counted(&self) -> &MemoryStore {
        self.calls.fetch_add(1, Ordering::Relaxed);
        &self.store
    }

    /// From now on no account is loaded, so that the end of a job with a cost panics.
    pub(crate) fn lose_accounts(&self) {
        self.loses_accounts.store(true, Ordering::Relaxed);
    }

    /// An empty intake, of which everything can be read only once. To be called before the runtime starts.
    pub(crate) fn with_intake(self) -> Self {
        *self.pages() = Some(Vec::new());
        self
    }

    /// For each page of the intake that was asked for, whether it was from the beginning.
    pub(crate) fn pages(&self) -> MutexGuard<'_, Option<Vec<bool>>> {
        self.pages.lock().expect("no test panics with this lock")
    }

    /// The jobs whose batches fail.
    pub(crate) fn corrupt(&self) -> MutexGuard<'_, BTreeSet<JobId>> {
        self.corrupt.lock().expect("no test panics with this lock")
    }
}

impl Backend for TestStore {
    fn transact(&self, reads: Reads, mut decide: Decide) -> BackendFuture<'_, Result<(), StoreError>> {
        let corrupt = reads.jobs.intersection(&self.corrupt()).next().copied();
        if let Some(id) = corrupt {
            let why = "chosen by the test".to_owned();
            let error = StoreError::Corrupt { table: "jobs", key: id.to_string(), why };
            return Box::pin(async { Err(error) });
        }
        let loses_accounts = Arc::clone(&self.loses_accounts);
        let decide: Decide = Box::new(move |set, now| {
            if loses_accounts.load(Ordering::Relaxed) {
                set.accounts.clear();
            }
            decide(set, now);
        });
        self.counted().transact(reads, decide)
    }

    fn read(&self, query: Query) -> BackendFuture<'_, Result<QueryAnswer, StoreError>> {
        self.counted().read(query)
    }

    fn now(&self) -> BackendFuture<'_, Result<Now, StoreError>> {
        self.store.now()
    }

    fn heartbeat(&self) -> BackendFuture<'_, Result<(), StoreError>> {
        self.store.heartbeat()
    }

    fn remote_commit(&self) -> BackendFuture<'_, RemoteCommit> {
        Box::pin(async {
            match self.remote.lock().await.recv().await {
                Some(commit) => commit,
                None => std::future::pending().await,
            }
        })
    }

    fn intake(&self, cursor: IntakeCursor) -> BackendFuture<'_, Result<IntakePage, StoreError>> {
        let mut pages = self.pages();
        let pages = pages.get_or_insert_default();
        let fails = cursor.is_first() && !pages.is_empty();
        pages.push(cursor.is_first());
        let page = IntakePage { requests: Vec::new(), next: IntakeCursor::settled_before(1) };
        let answer = if fails { Err(StoreError::Unavailable("too slow".to_owned())) } else { Ok(page) };
        Box::pin(async move { answer })
    }

    fn properties(&self) -> Properties {
        let has_intake = self.pages().is_some();
        let kind = if has_intake { StoreKind::Postgres } else { StoreKind::Memory };
        Properties { kind, ..self.store.properties() }
    }
}
