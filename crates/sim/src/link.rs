//! A node's way to the store: it can be cut, and it is where bugs are planted. Uncut and without a bug, it changes nothing.

use std::collections::BTreeSet;
use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use tenure_core::api_key::ApiKey;
use tenure_core::asset::{Asset, AssetId};
use tenure_core::command::ClaimFilter;
use tenure_core::credit::{Account, LedgerLine, Movement};
use tenure_core::dead_letter::DeadLetter;
use tenure_core::event::{AuditLine, Event, LogLine, Telemetry};
use tenure_core::id::{JobId, Name, Position};
use tenure_core::job::{Job, LifecycleRef};
use tenure_core::node::NodeSeen;
use tenure_core::order::{Order, OrderKind};
use tenure_core::query::{DeadLetterFilter, JobFilter, Page};
use tenure_core::time::{Now, Timestamp};
use tenure_core::worker::WorkerSeen;
use tenure_core::working_set::{Reads, WorkingSet};
use tenure_store::{Count, Gauges, Journaled, MemoryStore, Scanned, Store, StoreError};

use crate::sabotage::{self, Bug};

/// The store, as one node reaches it.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    store: MemoryStore,
    cut: Arc<AtomicBool>,
    bug: Option<Bug>,
    /// What the node's sweeper was told is due: how the stale sweep knows its own batches.
    told_due: Arc<Mutex<BTreeSet<JobId>>>,
}

impl Link {
    pub(crate) fn new(store: MemoryStore, bug: Option<Bug>) -> Self {
        Self { store, cut: Arc::default(), bug, told_due: Arc::default() }
    }

    /// Cuts the way (`true`) or mends it.
    pub(crate) fn set_cut(&self, cut: bool) {
        self.cut.store(cut, Ordering::Relaxed);
    }

    pub(crate) fn is_cut(&self) -> bool {
        self.cut.load(Ordering::Relaxed)
    }

    async fn through<T>(&self, read: impl Future<Output = Result<T, StoreError>>) -> Result<T, StoreError> {
        self.reach()?;
        read.await
    }

    fn reach(&self) -> Result<(), StoreError> {
        if self.is_cut() { Err(StoreError::Unavailable("the way to it is cut".to_owned())) } else { Ok(()) }
    }

    fn told_due(&self) -> std::sync::MutexGuard<'_, BTreeSet<JobId>> {
        self.told_due.lock().expect("nobody panics while noting what is due")
    }

    fn is_sweep(&self, reads: &Reads) -> bool {
        let only_jobs = Reads { jobs: reads.jobs.clone(), ..Reads::default() } == *reads;
        only_jobs && !reads.jobs.is_empty() && reads.jobs.is_subset(&self.told_due())
    }
}

impl Store for Link {
    async fn transact<T: Send + 'static>(
        &self,
        reads: Reads,
        mut judge: impl FnMut(&mut WorkingSet, Now) -> T + Send + 'static,
    ) -> Result<T, StoreError> {
        self.reach()?;
        let with = |tamper: fn(&mut WorkingSet)| {
            move |set: &mut WorkingSet, now: Now| {
                let answer = judge(set, now);
                tamper(set);
                answer
            }
        };
        match self.bug {
            Some(Bug::DoubleRefund) => self.store.transact(reads, with(sabotage::refund_twice)).await,
            Some(Bug::ForgottenAttempt) => self.store.transact(reads, with(sabotage::forget_attempts)).await,
            Some(Bug::EventOutsideCommit) => {
                sabotage::write_events_later(&self.store, reads, with(|_| ())).await
            }
            Some(Bug::StaleSweep) if self.is_sweep(&reads) => {
                sabotage::write_later(&self.store, reads, with(|_| ())).await
            }
            Some(Bug::StaleSweep | Bug::NoFenceCheck) | None => {
                self.store.transact(reads, with(|_| ())).await
            }
        }
    }

    async fn now(&self) -> Result<Now, StoreError> {
        self.through(self.store.now()).await
    }

    async fn beat(&self) -> Result<(), StoreError> {
        self.through(self.store.beat()).await
    }

    fn is_shared(&self) -> bool {
        self.store.is_shared()
    }

    fn lanes(&self) -> usize {
        self.store.lanes()
    }

    async fn hint(&self) {
        self.store.hint().await;
    }

    async fn job(&self, id: JobId) -> Result<Option<Arc<Job>>, StoreError> {
        self.through(self.store.job(id)).await
    }

    async fn history(&self, id: JobId) -> Result<Vec<Event>, StoreError> {
        self.through(self.store.history(id)).await
    }

    async fn events(&self, after: Position, limit: usize) -> Result<Vec<Journaled>, StoreError> {
        self.through(self.store.events(after, limit)).await
    }

    async fn list(&self, filter: JobFilter, page: Page) -> Result<Vec<Arc<Job>>, StoreError> {
        self.through(self.store.list(filter, page)).await
    }

    async fn reach(&self, before: Option<JobId>, jobs: usize) -> Result<Option<JobId>, StoreError> {
        self.through(self.store.reach(before, jobs)).await
    }

    async fn counts(&self) -> Result<Vec<Count>, StoreError> {
        self.through(self.store.counts()).await
    }

    async fn gauges(&self) -> Result<Gauges, StoreError> {
        self.through(self.store.gauges()).await
    }

    async fn waiting(&self, limit: usize) -> Result<Vec<Arc<Job>>, StoreError> {
        self.through(self.store.waiting(limit)).await
    }

    async fn leased(&self, limit: usize) -> Result<Vec<Arc<Job>>, StoreError> {
        self.through(self.store.leased(limit)).await
    }

    async fn due(&self, limit: usize) -> Result<Vec<JobId>, StoreError> {
        let due = self.through(self.store.due(limit)).await?;
        *self.told_due() = due.iter().copied().collect();
        Ok(due)
    }

    async fn next_run(&self, filter: ClaimFilter) -> Result<Option<Timestamp>, StoreError> {
        self.through(self.store.next_run(filter)).await
    }

    async fn completed_before(
        &self,
        lifecycle: Name,
        before: Timestamp,
        limit: usize,
    ) -> Result<Vec<JobId>, StoreError> {
        self.through(self.store.completed_before(lifecycle, before, limit)).await
    }

    async fn finished(&self, since: Timestamp, limit: usize) -> Result<Vec<Arc<Job>>, StoreError> {
        self.through(self.store.finished(since, limit)).await
    }

    async fn logs(&self, job: JobId, after: u64, limit: usize) -> Result<Vec<LogLine>, StoreError> {
        self.through(self.store.logs(job, after, limit)).await
    }

    async fn telemetry(&self, job: JobId) -> Result<Vec<Telemetry>, StoreError> {
        self.through(self.store.telemetry(job)).await
    }

    async fn dead_letters(
        &self,
        filter: DeadLetterFilter,
        page: Page,
    ) -> Result<Vec<DeadLetter>, StoreError> {
        self.through(self.store.dead_letters(filter, page)).await
    }

    async fn account(&self, user: Name) -> Result<Account, StoreError> {
        self.through(self.store.account(user)).await
    }

    async fn ledger(
        &self,
        user: Name,
        after: u64,
        limit: usize,
    ) -> Result<Vec<(u64, LedgerLine)>, StoreError> {
        self.through(self.store.ledger(user, after, limit)).await
    }

    async fn accounts(&self, after: Option<Name>, limit: usize) -> Result<Vec<(Name, Account)>, StoreError> {
        self.through(self.store.accounts(after, limit)).await
    }

    async fn ledger_before(
        &self,
        user: Name,
        before: u64,
        limit: usize,
    ) -> Result<Vec<(u64, LedgerLine)>, StoreError> {
        self.through(self.store.ledger_before(user, before, limit)).await
    }

    async fn audit_before(&self, before: u64, limit: usize) -> Result<Vec<(u64, AuditLine)>, StoreError> {
        self.through(self.store.audit_before(before, limit)).await
    }

    async fn audit(&self, after: u64, limit: usize) -> Result<Vec<(u64, AuditLine)>, StoreError> {
        self.through(self.store.audit(after, limit)).await
    }

    async fn tail(&self) -> Result<Position, StoreError> {
        self.through(self.store.tail()).await
    }

    async fn paused(&self) -> Result<Vec<Name>, StoreError> {
        self.through(self.store.paused()).await
    }

    async fn lifecycles(&self) -> Result<Vec<(LifecycleRef, String)>, StoreError> {
        self.through(self.store.lifecycles()).await
    }

    async fn api_keys(&self) -> Result<Vec<ApiKey>, StoreError> {
        self.through(self.store.api_keys()).await
    }

    async fn orders(&self, kind: OrderKind) -> Result<Vec<Order>, StoreError> {
        self.through(self.store.orders(kind)).await
    }

    async fn due_orders(&self, kind: OrderKind, limit: usize) -> Result<Vec<Order>, StoreError> {
        self.through(self.store.due_orders(kind, limit)).await
    }

    async fn assets(
        &self,
        job: JobId,
        before: Option<AssetId>,
        limit: usize,
    ) -> Result<Vec<Asset>, StoreError> {
        self.through(self.store.assets(job, before, limit)).await
    }

    async fn asset(&self, id: AssetId) -> Result<Option<Asset>, StoreError> {
        self.through(self.store.asset(id)).await
    }

    async fn asset_garbage(&self, limit: usize) -> Result<Vec<String>, StoreError> {
        self.through(self.store.asset_garbage(limit)).await
    }

    async fn workers(&self) -> Result<Vec<WorkerSeen>, StoreError> {
        self.through(self.store.workers()).await
    }

    async fn worker(&self, name: Name) -> Result<Option<WorkerSeen>, StoreError> {
        self.through(self.store.worker(name)).await
    }

    async fn nodes(&self) -> Result<Vec<NodeSeen>, StoreError> {
        self.through(self.store.nodes()).await
    }

    async fn scan(&self, after: Option<JobId>, limit: usize) -> Result<Vec<Scanned>, StoreError> {
        self.through(self.store.scan(after, limit)).await
    }

    async fn scan_accounts(
        &self,
        after: Option<Name>,
        limit: usize,
    ) -> Result<Vec<(Name, Account, Vec<(Movement, u64)>)>, StoreError> {
        self.through(self.store.scan_accounts(after, limit)).await
    }

    async fn strays(&self, limit: usize) -> Result<Vec<String>, StoreError> {
        self.through(self.store.strays(limit)).await
    }
}
