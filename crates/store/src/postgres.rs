//! The store for several nodes: PostgreSQL, with the same tables and values as SQLite.
//!
//! A batch is one transaction in two round trips: everything it needs is queried and locked at once, then decided, then
//! everything it changed is written and committed at once. Any number of nodes may do so at the same time; row locks,
//! taken in the same order by all, separate them. Correctness does not depend on any cache of a node.

mod assets;
mod automations;
mod claim;
mod claim_index;
mod clock;
mod commits;
mod connection;
mod error;
mod listen;
mod load;
mod nodes;
mod open;
mod options;
mod pool;
mod read;
mod rows;
mod scan;
mod specs;
mod statements;
mod transact;
mod watch;
mod write;

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
use tenure_core::limits::AUTOMATIONS_MAX;
use tenure_core::node::NodeRecord;
use tenure_core::query::{DeadLetterFilter, JobFilter, Page};
use tenure_core::time::{Now, Timestamp};
use tenure_core::worker::WorkerRecord;
use tenure_core::working_set::{Reads, WorkingSet};

use crate::{Count, Gauges, JournalEntry, Scanned, Store, StoreError};
use claim_index::ClaimIndex;
use clock::DatabaseClock;
use commits::Commits;
use error::StatementFault;
use listen::CommitNotifications;
use options::Options;
use pool::Pool;
use specs::Specs;

/// Connections for reads, besides one for each batch worker.
const READERS: usize = 4;

#[derive(Clone, Debug)]
pub struct PostgresStore(Arc<Node>);

/// Connections and caches of one node.
#[derive(Debug)]
struct Node {
    writers: Pool,
    readers: Pool,
    clock: DatabaseClock,
    commits: Commits,
    specs: Specs,
    claim_index: ClaimIndex,
    notifications: CommitNotifications,
    parallel_batches: usize,
}

impl PostgresStore {
    /// Connects to a `postgres://` URL and runs pending migrations; refuses a server that could lose acknowledged work.
    /// Besides the driver's settings the URL accepts `lanes` (batches in flight), `prepared=off` (for poolers that move
    /// transactions between connections) and `notify=off`.
    pub async fn connect(url: &str) -> Result<Self, StoreError> {
        let options = Options::parse(url)?;
        let pool = |keeps, size| Pool::new(options.config.clone(), keeps, size);
        let node = Node {
            writers: pool(options.prepared, options.parallel_batches),
            readers: pool(false, READERS),
            clock: DatabaseClock::default(),
            commits: Commits::default(),
            specs: Specs::default(),
            claim_index: ClaimIndex::default(),
            notifications: if options.notify {
                CommitNotifications::start(options.config.clone())
            } else {
                CommitNotifications::none()
            },
            parallel_batches: options.parallel_batches,
        };
        let mut connection = node.readers.get().await?;
        connection.set_busy(true);
        open::check(&connection).await?;
        open::migrate(&connection).await?;
        connection.set_busy(false);
        drop(connection);
        Ok(Self(Arc::new(node)))
    }
}

impl Node {
    async fn now(&self) -> Result<Now, StoreError> {
        let mut connection = self.readers.get().await?;
        connection.set_busy(true);
        let reading = clock::read(&connection, &self.clock).await?;
        connection.set_busy(false);
        Ok(reading.now())
    }

    async fn heartbeat(&self) -> Result<(), StatementFault> {
        let mut connection = self.readers.get().await?;
        connection.set_busy(true);
        clock::beat(&connection, &self.clock).await?;
        connection.set_busy(false);
        Ok(())
    }
}

impl Store for PostgresStore {
    async fn transact<T: Send + 'static>(
        &self,
        reads: Reads,
        decide: impl FnMut(&mut WorkingSet, Now) -> T + Send + 'static,
    ) -> Result<T, StoreError> {
        transact::transact(&self.0, reads, decide).await
    }

    async fn now(&self) -> Result<Now, StoreError> {
        self.0.now().await
    }

    async fn heartbeat(&self) -> Result<(), StoreError> {
        Ok(self.0.heartbeat().await?)
    }

    fn is_shared(&self) -> bool {
        true
    }

    fn parallel_batches(&self) -> usize {
        self.0.parallel_batches
    }

    async fn remote_commit(&self) {
        self.0.notifications.remote_commit().await;
    }

    async fn job(&self, id: JobId) -> Result<Option<Arc<Job>>, StoreError> {
        self.0.job(id).await
    }

    async fn history(&self, id: JobId) -> Result<Vec<Event>, StoreError> {
        self.0.history(id).await
    }

    async fn events(&self, after: Position, limit: usize) -> Result<Vec<JournalEntry>, StoreError> {
        self.0.events(after, limit).await
    }

    async fn list(&self, filter: JobFilter, page: Page) -> Result<Vec<Arc<Job>>, StoreError> {
        self.0.list(filter, page).await
    }

    async fn nth_older(&self, before: Option<JobId>, jobs: usize) -> Result<Option<JobId>, StoreError> {
        self.0.nth_older(before, jobs).await
    }

    async fn counts(&self) -> Result<Vec<Count>, StoreError> {
        self.0.counts().await
    }

    async fn gauges(&self) -> Result<Gauges, StoreError> {
        self.0.gauges().await
    }

    async fn waiting(&self, limit: usize) -> Result<Vec<Arc<Job>>, StoreError> {
        self.0.waiting(limit).await
    }

    async fn leased(&self, limit: usize) -> Result<Vec<Arc<Job>>, StoreError> {
        self.0.leased(limit).await
    }

    async fn due(&self, limit: usize) -> Result<Vec<JobId>, StoreError> {
        self.0.due(limit).await
    }

    async fn next_run(&self, filter: ClaimFilter) -> Result<Option<Timestamp>, StoreError> {
        self.0.next_run(filter).await
    }

    async fn completed_before(
        &self,
        lifecycle: LifecycleName,
        before: Timestamp,
        limit: usize,
    ) -> Result<Vec<JobId>, StoreError> {
        self.0.completed_before(lifecycle, before, limit).await
    }

    async fn finished(&self, since: Timestamp, limit: usize) -> Result<Vec<Arc<Job>>, StoreError> {
        self.0.finished(since, limit).await
    }

    async fn logs(&self, job: JobId, after: u64, limit: usize) -> Result<Vec<LogLine>, StoreError> {
        self.0.logs(job, after, limit).await
    }

    async fn telemetry(&self, job: JobId) -> Result<Vec<Telemetry>, StoreError> {
        self.0.telemetry(job).await
    }

    async fn dead_letters(
        &self,
        filter: DeadLetterFilter,
        page: Page,
    ) -> Result<Vec<DeadLetter>, StoreError> {
        self.0.dead_letters(filter, page).await
    }

    async fn account(&self, user: UserId) -> Result<Account, StoreError> {
        self.0.account(user).await
    }

    async fn ledger(
        &self,
        user: UserId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<(u64, LedgerLine)>, StoreError> {
        self.0.ledger(user, after, limit).await
    }

    async fn accounts(
        &self,
        after: Option<UserId>,
        limit: usize,
    ) -> Result<Vec<(UserId, Account)>, StoreError> {
        self.0.accounts(after, limit).await
    }

    async fn ledger_before(
        &self,
        user: UserId,
        before: u64,
        limit: usize,
    ) -> Result<Vec<(u64, LedgerLine)>, StoreError> {
        self.0.ledger_before(user, before, limit).await
    }

    async fn audit_before(&self, before: u64, limit: usize) -> Result<Vec<(u64, AuditLine)>, StoreError> {
        self.0.audit_before(before, limit).await
    }

    async fn audit(&self, after: u64, limit: usize) -> Result<Vec<(u64, AuditLine)>, StoreError> {
        self.0.audit(after, limit).await
    }

    async fn journal_end(&self) -> Result<Position, StoreError> {
        self.0.journal_end().await
    }

    async fn paused(&self) -> Result<Vec<QueueName>, StoreError> {
        self.0.paused().await
    }

    async fn lifecycles(&self) -> Result<Vec<(LifecycleRef, String)>, StoreError> {
        self.0.lifecycles().await
    }

    async fn api_keys(&self) -> Result<Vec<ApiKey>, StoreError> {
        self.0.api_keys().await
    }

    async fn assets(
        &self,
        job: JobId,
        before: Option<AssetId>,
        limit: usize,
    ) -> Result<Vec<Asset>, StoreError> {
        self.0.assets(job, before, limit).await
    }

    async fn asset(&self, id: AssetId) -> Result<Option<Asset>, StoreError> {
        self.0.asset(id).await
    }

    async fn asset_garbage(&self, limit: usize) -> Result<Vec<String>, StoreError> {
        self.0.asset_garbage(limit).await
    }

    async fn automations(&self, kind: AutomationKind) -> Result<Vec<Automation>, StoreError> {
        self.0.automations(kind, AUTOMATIONS_MAX).await
    }

    async fn due_automations(
        &self,
        kind: AutomationKind,
        limit: usize,
    ) -> Result<Vec<Automation>, StoreError> {
        self.0.due_automations(kind, limit).await
    }

    async fn workers(&self) -> Result<Vec<WorkerRecord>, StoreError> {
        self.0.workers().await
    }

    async fn worker(&self, name: WorkerId) -> Result<Option<WorkerRecord>, StoreError> {
        self.0.worker(name).await
    }

    async fn nodes(&self) -> Result<Vec<NodeRecord>, StoreError> {
        self.0.nodes().await
    }

    async fn scan(&self, after: Option<JobId>, limit: usize) -> Result<Vec<Scanned>, StoreError> {
        self.0.scan(after, limit).await
    }

    async fn scan_accounts(
        &self,
        after: Option<UserId>,
        limit: usize,
    ) -> Result<Vec<crate::AccountSums>, StoreError> {
        self.0.scan_accounts(after, limit).await
    }

    async fn orphans(&self, limit: usize) -> Result<Vec<String>, StoreError> {
        self.0.orphans(limit).await
    }
}
