//! The reference store: all tables in memory behind one mutex, with a manual clock and injected faults for tests. It defines
//! the behaviour of the other stores. Nothing is persisted.

mod assets;
mod tables;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{SystemTime, UNIX_EPOCH};

use tenure_core::api_key::ApiKey;
use tenure_core::asset::{Asset, AssetId};
use tenure_core::automation::{Automation, AutomationKind};
use tenure_core::command::ClaimFilter;
use tenure_core::credit::{Account, LedgerLine};
use tenure_core::dead_letter::DeadLetter;
use tenure_core::event::{AuditLine, Event, LogLine, Telemetry};
use tenure_core::id::{JobId, LifecycleName, Position, QueueName, UserId, WorkerId};
use tenure_core::job::{Job, LifecycleRef};
use tenure_core::node::NodeRecord;
use tenure_core::query::{DeadLetterFilter, JobFilter, Page};
use tenure_core::time::{Millis, Now, Timestamp};
use tenure_core::worker::WorkerRecord;
use tenure_core::working_set::{Reads, WorkingSet};

use crate::{Count, Gauges, JournalEntry, Scanned, Store, StoreError};
use tables::Tables;

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
    clock: Clock,
    stopped: Millis,
    last: Timestamp,
    faults: VecDeque<Fault>,
    away: bool,
}

#[derive(Debug)]
enum Clock {
    Wall,
    Manual(Timestamp),
    /// Tokio's clock, which tests and the simulator pause: time then passes only while all tasks wait.
    Tokio(Timestamp, tokio::time::Instant),
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
        let (tables, stopped, last) = (Tables::default(), Millis(0), Timestamp(0));
        Self(Arc::new(Mutex::new(Inner {
            tables,
            clock,
            stopped,
            last,
            faults: VecDeque::new(),
            away: false,
        })))
    }

    /// Moves the clock forward.
    pub fn advance(&self, span: Millis) {
        let mut inner = self.inner();
        let at = inner.now().at + span;
        inner.set(at);
    }

    /// Moves the clock forward as an outage: the clocks of all jobs pause.
    pub fn outage(&self, span: Millis) {
        self.advance(span);
        self.inner().stopped.0 += span.0;
    }

    /// Sets the machine's clock, even backwards. The store's clock never runs backwards.
    pub fn jump(&self, at: Timestamp) {
        self.inner().set(at);
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

    fn read<T>(&self, read: impl FnOnce(&Inner) -> T) -> Result<T, StoreError> {
        self.available().map(|inner| read(&inner))
    }

    fn available(&self) -> Result<MutexGuard<'_, Inner>, StoreError> {
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
    fn now(&mut self) -> Now {
        let read = match self.clock {
            Clock::Manual(at) => at,
            Clock::Wall => wall(),
            Clock::Tokio(base, since) => base + Millis(since.elapsed().as_millis() as u64),
        };
        self.last = self.last.max(read);
        Now { at: self.last, stopped: self.stopped }
    }

    fn set(&mut self, at: Timestamp) {
        self.clock = match self.clock {
            Clock::Wall | Clock::Manual(_) => Clock::Manual(at),
            Clock::Tokio(..) => Clock::Tokio(at, tokio::time::Instant::now()),
        };
    }

    fn transact<T>(
        &mut self,
        reads: &Reads,
        mut decide: impl FnMut(&mut WorkingSet, Now) -> T,
    ) -> Result<T, StoreError> {
        if self.away {
            return Err(StoreError::Unavailable("it was taken away".to_owned()));
        }
        let now = self.now();
        let mut set = self.tables.load(reads, now);
        let answer = decide(&mut set, now);
        if set.changes.is_empty() {
            return Ok(answer);
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
                Ok(answer)
            }
        }
    }
}

fn wall() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(since.as_millis() as i64)
}

impl Store for MemoryStore {
    async fn transact<T: Send + 'static>(
        &self,
        reads: Reads,
        decide: impl FnMut(&mut WorkingSet, Now) -> T + Send + 'static,
    ) -> Result<T, StoreError> {
        self.inner().transact(&reads, decide)
    }

    async fn now(&self) -> Result<Now, StoreError> {
        Ok(self.inner().now())
    }

    async fn heartbeat(&self) -> Result<(), StoreError> {
        self.read(|_| ())
    }

    fn is_shared(&self) -> bool {
        true
    }

    fn parallel_batches(&self) -> usize {
        1
    }

    async fn remote_commit(&self) {
        std::future::pending::<()>().await;
    }

    async fn job(&self, id: JobId) -> Result<Option<Arc<Job>>, StoreError> {
        self.read(|inner| inner.tables.job(id).cloned())
    }

    async fn history(&self, id: JobId) -> Result<Vec<Event>, StoreError> {
        self.read(|inner| inner.tables.history(id))
    }

    async fn events(&self, after: Position, limit: usize) -> Result<Vec<JournalEntry>, StoreError> {
        self.read(|inner| inner.tables.events(after, limit))
    }

    async fn list(&self, filter: JobFilter, page: Page) -> Result<Vec<Arc<Job>>, StoreError> {
        self.read(|inner| inner.tables.list(&filter, page))
    }

    async fn nth_older(&self, before: Option<JobId>, jobs: usize) -> Result<Option<JobId>, StoreError> {
        self.read(|inner| inner.tables.nth_older(before, jobs))
    }

    async fn counts(&self) -> Result<Vec<Count>, StoreError> {
        self.read(|inner| inner.tables.counts())
    }

    async fn gauges(&self) -> Result<Gauges, StoreError> {
        let mut inner = self.available()?;
        let now = inner.now().at;
        Ok(inner.tables.gauges(now))
    }

    async fn waiting(&self, limit: usize) -> Result<Vec<Arc<Job>>, StoreError> {
        self.read(|inner| inner.tables.waiting(limit))
    }

    async fn leased(&self, limit: usize) -> Result<Vec<Arc<Job>>, StoreError> {
        self.read(|inner| inner.tables.leased(limit))
    }

    async fn due(&self, limit: usize) -> Result<Vec<JobId>, StoreError> {
        let running = self.inner().now().running();
        self.read(|inner| inner.tables.live.due(running, limit))
    }

    async fn next_run(&self, filter: ClaimFilter) -> Result<Option<Timestamp>, StoreError> {
        let now = self.inner().now().at;
        self.read(|inner| inner.tables.live.next_run(&filter, now))
    }

    async fn completed_before(
        &self,
        lifecycle: LifecycleName,
        before: Timestamp,
        limit: usize,
    ) -> Result<Vec<JobId>, StoreError> {
        self.read(|inner| inner.tables.completed_before(&lifecycle, before, limit))
    }

    async fn finished(&self, since: Timestamp, limit: usize) -> Result<Vec<Arc<Job>>, StoreError> {
        self.read(|inner| inner.tables.finished(since, limit))
    }

    async fn logs(&self, job: JobId, after: u64, limit: usize) -> Result<Vec<LogLine>, StoreError> {
        self.read(|inner| inner.tables.logs(job, after, limit))
    }

    async fn telemetry(&self, job: JobId) -> Result<Vec<Telemetry>, StoreError> {
        self.read(|inner| inner.tables.telemetry(job))
    }

    async fn dead_letters(
        &self,
        filter: DeadLetterFilter,
        page: Page,
    ) -> Result<Vec<DeadLetter>, StoreError> {
        self.read(|inner| inner.tables.dead_letters(&filter, page))
    }

    async fn account(&self, user: UserId) -> Result<Account, StoreError> {
        self.read(|inner| inner.tables.account(&user))
    }

    async fn ledger(
        &self,
        user: UserId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<(u64, LedgerLine)>, StoreError> {
        self.read(|inner| inner.tables.ledger(&user, after, limit))
    }

    async fn accounts(
        &self,
        after: Option<UserId>,
        limit: usize,
    ) -> Result<Vec<(UserId, Account)>, StoreError> {
        self.read(|inner| inner.tables.accounts(after.as_ref(), limit))
    }

    async fn ledger_before(
        &self,
        user: UserId,
        before: u64,
        limit: usize,
    ) -> Result<Vec<(u64, LedgerLine)>, StoreError> {
        self.read(|inner| inner.tables.ledger_before(&user, before, limit))
    }

    async fn audit_before(&self, before: u64, limit: usize) -> Result<Vec<(u64, AuditLine)>, StoreError> {
        self.read(|inner| inner.tables.audit_before(before, limit))
    }

    async fn audit(&self, after: u64, limit: usize) -> Result<Vec<(u64, AuditLine)>, StoreError> {
        self.read(|inner| inner.tables.audit(after, limit))
    }

    async fn journal_end(&self) -> Result<Position, StoreError> {
        self.read(|inner| inner.tables.journal_end())
    }

    async fn paused(&self) -> Result<Vec<QueueName>, StoreError> {
        self.read(|inner| inner.tables.paused())
    }

    async fn lifecycles(&self) -> Result<Vec<(LifecycleRef, String)>, StoreError> {
        self.read(|inner| inner.tables.lifecycles())
    }

    async fn api_keys(&self) -> Result<Vec<ApiKey>, StoreError> {
        self.read(|inner| inner.tables.api_keys())
    }

    async fn assets(
        &self,
        job: JobId,
        before: Option<AssetId>,
        limit: usize,
    ) -> Result<Vec<Asset>, StoreError> {
        self.read(|inner| inner.tables.assets.list(job, before, limit))
    }

    async fn asset(&self, id: AssetId) -> Result<Option<Asset>, StoreError> {
        self.read(|inner| inner.tables.assets.one(id))
    }

    async fn asset_garbage(&self, limit: usize) -> Result<Vec<String>, StoreError> {
        let now = self.inner().now().at;
        self.read(|inner| inner.tables.assets.garbage(now, limit))
    }

    async fn automations(&self, kind: AutomationKind) -> Result<Vec<Automation>, StoreError> {
        self.read(|inner| inner.tables.automations(kind))
    }

    async fn due_automations(
        &self,
        kind: AutomationKind,
        limit: usize,
    ) -> Result<Vec<Automation>, StoreError> {
        let now = self.inner().now().at;
        self.read(|inner| inner.tables.due_automations(kind, now, limit))
    }

    async fn workers(&self) -> Result<Vec<WorkerRecord>, StoreError> {
        self.read(|inner| inner.tables.workers())
    }

    async fn worker(&self, name: WorkerId) -> Result<Option<WorkerRecord>, StoreError> {
        self.read(|inner| inner.tables.worker(&name))
    }

    async fn nodes(&self) -> Result<Vec<NodeRecord>, StoreError> {
        self.read(|inner| inner.tables.nodes())
    }

    async fn scan(&self, after: Option<JobId>, limit: usize) -> Result<Vec<Scanned>, StoreError> {
        self.read(|inner| inner.tables.scan(after, limit))
    }

    async fn scan_accounts(
        &self,
        after: Option<UserId>,
        limit: usize,
    ) -> Result<Vec<crate::AccountSums>, StoreError> {
        self.read(|inner| inner.tables.scan_accounts(after.as_ref(), limit))
    }

    async fn orphans(&self, limit: usize) -> Result<Vec<String>, StoreError> {
        self.read(|inner| inner.tables.orphans(limit))
    }
}
