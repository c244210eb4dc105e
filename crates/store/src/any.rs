//! A store chosen at run time. Closed sets are enums: each method is a `match`.

use std::path::Path;
use std::sync::Arc;

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
use tenure_core::time::{Now, Timestamp};
use tenure_core::worker::WorkerRecord;
use tenure_core::working_set::{Reads, WorkingSet};

use crate::{
    Count, Gauges, JournalEntry, MemoryStore, PostgresStore, Scanned, SqliteStore, Store, StoreError,
};

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

    async fn remote_commit(&self) {
        on_each!(self, store => store.remote_commit(), waited);
    }

    async fn job(&self, id: JobId) -> Result<Option<Arc<Job>>, StoreError> {
        on_each!(self, store => store.job(id), waited)
    }

    async fn history(&self, id: JobId) -> Result<Vec<Event>, StoreError> {
        on_each!(self, store => store.history(id), waited)
    }

    async fn events(&self, after: Position, limit: usize) -> Result<Vec<JournalEntry>, StoreError> {
        on_each!(self, store => store.events(after, limit), waited)
    }

    async fn list(&self, filter: JobFilter, page: Page) -> Result<Vec<Arc<Job>>, StoreError> {
        on_each!(self, store => store.list(filter, page), waited)
    }

    async fn nth_older(&self, before: Option<JobId>, jobs: usize) -> Result<Option<JobId>, StoreError> {
        on_each!(self, store => store.nth_older(before, jobs), waited)
    }

    async fn counts(&self) -> Result<Vec<Count>, StoreError> {
        on_each!(self, store => store.counts(), waited)
    }

    async fn gauges(&self) -> Result<Gauges, StoreError> {
        on_each!(self, store => store.gauges(), waited)
    }

    async fn waiting(&self, limit: usize) -> Result<Vec<Arc<Job>>, StoreError> {
        on_each!(self, store => store.waiting(limit), waited)
    }

    async fn leased(&self, limit: usize) -> Result<Vec<Arc<Job>>, StoreError> {
        on_each!(self, store => store.leased(limit), waited)
    }

    async fn due(&self, limit: usize) -> Result<Vec<JobId>, StoreError> {
        on_each!(self, store => store.due(limit), waited)
    }

    async fn next_run(&self, filter: ClaimFilter) -> Result<Option<Timestamp>, StoreError> {
        on_each!(self, store => store.next_run(filter), waited)
    }

    async fn completed_before(
        &self,
        lifecycle: LifecycleName,
        before: Timestamp,
        limit: usize,
    ) -> Result<Vec<JobId>, StoreError> {
        on_each!(self, store => store.completed_before(lifecycle, before, limit), waited)
    }

    async fn finished(&self, since: Timestamp, limit: usize) -> Result<Vec<Arc<Job>>, StoreError> {
        on_each!(self, store => store.finished(since, limit), waited)
    }

    async fn logs(&self, job: JobId, after: u64, limit: usize) -> Result<Vec<LogLine>, StoreError> {
        on_each!(self, store => store.logs(job, after, limit), waited)
    }

    async fn telemetry(&self, job: JobId) -> Result<Vec<Telemetry>, StoreError> {
        on_each!(self, store => store.telemetry(job), waited)
    }

    async fn dead_letters(
        &self,
        filter: DeadLetterFilter,
        page: Page,
    ) -> Result<Vec<DeadLetter>, StoreError> {
        on_each!(self, store => store.dead_letters(filter, page), waited)
    }

    async fn account(&self, user: UserId) -> Result<Account, StoreError> {
        on_each!(self, store => store.account(user), waited)
    }

    async fn ledger(
        &self,
        user: UserId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<(u64, LedgerLine)>, StoreError> {
        on_each!(self, store => store.ledger(user, after, limit), waited)
    }

    async fn accounts(
        &self,
        after: Option<UserId>,
        limit: usize,
    ) -> Result<Vec<(UserId, Account)>, StoreError> {
        on_each!(self, store => store.accounts(after, limit), waited)
    }

    async fn ledger_before(
        &self,
        user: UserId,
        before: u64,
        limit: usize,
    ) -> Result<Vec<(u64, LedgerLine)>, StoreError> {
        on_each!(self, store => store.ledger_before(user, before, limit), waited)
    }

    async fn audit_before(&self, before: u64, limit: usize) -> Result<Vec<(u64, AuditLine)>, StoreError> {
        on_each!(self, store => store.audit_before(before, limit), waited)
    }

    async fn audit(&self, after: u64, limit: usize) -> Result<Vec<(u64, AuditLine)>, StoreError> {
        on_each!(self, store => store.audit(after, limit), waited)
    }

    async fn journal_end(&self) -> Result<Position, StoreError> {
        on_each!(self, store => store.journal_end(), waited)
    }

    async fn paused(&self) -> Result<Vec<QueueName>, StoreError> {
        on_each!(self, store => store.paused(), waited)
    }

    async fn lifecycles(&self) -> Result<Vec<(LifecycleRef, String)>, StoreError> {
        on_each!(self, store => store.lifecycles(), waited)
    }

    async fn api_keys(&self) -> Result<Vec<ApiKey>, StoreError> {
        on_each!(self, store => store.api_keys(), waited)
    }

    async fn assets(
        &self,
        job: JobId,
        before: Option<AssetId>,
        limit: usize,
    ) -> Result<Vec<Asset>, StoreError> {
        on_each!(self, store => store.assets(job, before, limit), waited)
    }

    async fn asset(&self, id: AssetId) -> Result<Option<Asset>, StoreError> {
        on_each!(self, store => store.asset(id), waited)
    }

    async fn asset_garbage(&self, limit: usize) -> Result<Vec<String>, StoreError> {
        on_each!(self, store => store.asset_garbage(limit), waited)
    }

    async fn automations(&self, kind: AutomationKind) -> Result<Vec<Automation>, StoreError> {
        on_each!(self, store => store.automations(kind), waited)
    }

    async fn due_automations(
        &self,
        kind: AutomationKind,
        limit: usize,
    ) -> Result<Vec<Automation>, StoreError> {
        on_each!(self, store => store.due_automations(kind, limit), waited)
    }

    async fn workers(&self) -> Result<Vec<WorkerRecord>, StoreError> {
        on_each!(self, store => store.workers(), waited)
    }

    async fn worker(&self, name: WorkerId) -> Result<Option<WorkerRecord>, StoreError> {
        on_each!(self, store => store.worker(name), waited)
    }

    async fn nodes(&self) -> Result<Vec<NodeRecord>, StoreError> {
        on_each!(self, store => store.nodes(), waited)
    }

    async fn scan(&self, after: Option<JobId>, limit: usize) -> Result<Vec<Scanned>, StoreError> {
        on_each!(self, store => store.scan(after, limit), waited)
    }

    async fn scan_accounts(
        &self,
        after: Option<UserId>,
        limit: usize,
    ) -> Result<Vec<crate::AccountSums>, StoreError> {
        on_each!(self, store => store.scan_accounts(after, limit), waited)
    }

    async fn orphans(&self, limit: usize) -> Result<Vec<String>, StoreError> {
        on_each!(self, store => store.orphans(limit), waited)
    }
}
