//! The stores of Tenure behind one trait. A store loads and writes; `decide` in core decides. The only refusal that comes
//! from a store itself is for lack of disk space: see `WorkingSet::adds_work`.
//!
//! Every store passes the same conformance suite, and both databases hold the same values: times as integer milliseconds,
//! ids as 16 bytes, payloads as the original text.

mod any;
mod codec;
mod error;
mod list;
mod live;
mod memory;
mod migrate;
mod postgres;
mod sqlite;

use std::future::Future;
use std::sync::Arc;

use tenure_core::api_key::ApiKey;
use tenure_core::asset::{Asset, AssetId};
use tenure_core::automation::{Automation, AutomationKind};
use tenure_core::command::ClaimFilter;
use tenure_core::credit::{Account, LedgerLine, Movement};
use tenure_core::dead_letter::DeadLetter;
use tenure_core::event::{AuditLine, Event, LogLine, Telemetry};
use tenure_core::fold::Record;
use tenure_core::id::{
    JobId, LifecycleName, Name, Position, QueueName, StateName, TypeName, UserId, WorkerId,
};
use tenure_core::job::{Job, LifecycleRef};
use tenure_core::node::NodeRecord;
use tenure_core::query::{DeadLetterFilter, JobFilter, Page};
use tenure_core::time::{Now, Timestamp};
use tenure_core::worker::WorkerRecord;
use tenure_core::working_set::{Reads, WorkingSet};

pub use any::AnyStore;
pub use error::StoreError;
pub use memory::{Fault, MemoryStore};
pub use postgres::PostgresStore;
pub use sqlite::SqliteStore;

pub trait Store: Clone + Send + Sync + 'static {
    /// The only write besides `heartbeat`. Loads `reads`, calls `decide` at the store's time, and writes the changes: all or
    /// nothing, durable when it returns. After a conflict `decide`, which is pure, is called again.
    fn transact<T: Send + 'static>(
        &self,
        reads: Reads,
        decide: impl FnMut(&mut WorkingSet, Now) -> T + Send + 'static,
    ) -> impl Future<Output = Result<T, StoreError>> + Send;

    /// The store's clock: shared by all nodes, never backwards.
    fn now(&self) -> impl Future<Output = Result<Now, StoreError>> + Send;

    /// Records that a node is running. More than a second without a heartbeat of any node is an outage, which pauses clocks.
    fn heartbeat(&self) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// The number of batches to have in flight at once.
    fn parallel_batches(&self) -> usize;

    /// Whether other nodes may commit to it.
    fn is_shared(&self) -> bool;

    /// Resolves when another node may have committed. May be missed, and may be spurious.
    fn remote_commit(&self) -> impl Future<Output = ()> + Send;

    fn job(&self, id: JobId) -> impl Future<Output = Result<Option<Arc<Job>>, StoreError>> + Send;

    /// In order, notes after the numbered events.
    fn history(&self, id: JobId) -> impl Future<Output = Result<Vec<Event>, StoreError>> + Send;

    /// The journal after a position, in commit order, which is the same for all readers.
    fn events(
        &self,
        after: Position,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<JournalEntry>, StoreError>> + Send;

    fn journal_end(&self) -> impl Future<Output = Result<Position, StoreError>> + Send;

    /// Newest first.
    fn list(
        &self,
        filter: JobFilter,
        page: Page,
    ) -> impl Future<Output = Result<Vec<Arc<Job>>, StoreError>> + Send;

    /// The job that is `jobs` jobs older than `before`, if there is one: bounds a search that must not read everything.
    /// `jobs` is at least one.
    fn nth_older(
        &self,
        before: Option<JobId>,
        jobs: usize,
    ) -> impl Future<Output = Result<Option<JobId>, StoreError>> + Send;

    /// The number of jobs by lifecycle, type, queue and state.
    fn counts(&self) -> impl Future<Output = Result<Vec<Count>, StoreError>> + Send;

    /// Counts of live jobs and dead letters. Never reads finished jobs.
    fn gauges(&self) -> impl Future<Output = Result<Gauges, StoreError>> + Send;

    /// Jobs with a lease, in any order.
    fn leased(&self, limit: usize) -> impl Future<Output = Result<Vec<Arc<Job>>, StoreError>> + Send;

    /// Jobs in a waiting state, oldest first.
    fn waiting(&self, limit: usize) -> impl Future<Output = Result<Vec<Arc<Job>>, StoreError>> + Send;

    /// Jobs with an overdue clock, most overdue first.
    fn due(&self, limit: usize) -> impl Future<Output = Result<Vec<JobId>, StoreError>> + Send;

    /// The earliest future `run_at` of the ready jobs that the filter admits.
    fn next_run(
        &self,
        filter: ClaimFilter,
    ) -> impl Future<Output = Result<Option<Timestamp>, StoreError>> + Send;

    /// Finished jobs of a lifecycle that completed before a time, oldest first.
    fn completed_before(
        &self,
        lifecycle: LifecycleName,
        before: Timestamp,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<JobId>, StoreError>> + Send;

    /// Jobs that completed at or after a time, newest completion first.
    fn finished(
        &self,
        since: Timestamp,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<Arc<Job>>, StoreError>> + Send;

    /// Log lines after number `after`.
    fn logs(
        &self,
        job: JobId,
        after: u64,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<LogLine>, StoreError>> + Send;

    fn telemetry(&self, job: JobId) -> impl Future<Output = Result<Vec<Telemetry>, StoreError>> + Send;

    /// Newest job first.
    fn dead_letters(
        &self,
        filter: DeadLetterFilter,
        page: Page,
    ) -> impl Future<Output = Result<Vec<DeadLetter>, StoreError>> + Send;

    fn account(&self, user: UserId) -> impl Future<Output = Result<Account, StoreError>> + Send;

    /// Ledger lines after row `after`, each with its row number.
    fn ledger(
        &self,
        user: UserId,
        after: u64,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<(u64, LedgerLine)>, StoreError>> + Send;

    /// Accounts after a user, ordered by user.
    fn accounts(
        &self,
        after: Option<UserId>,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<(UserId, Account)>, StoreError>> + Send;

    /// Ledger lines before a row, newest first, each with its row number.
    fn ledger_before(
        &self,
        user: UserId,
        before: u64,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<(u64, LedgerLine)>, StoreError>> + Send;

    /// Audit lines before a row, newest first, each with its row number.
    fn audit_before(
        &self,
        before: u64,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<(u64, AuditLine)>, StoreError>> + Send;

    /// Audit lines after row `after`, each with its row number.
    fn audit(
        &self,
        after: u64,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<(u64, AuditLine)>, StoreError>> + Send;

    fn paused(&self) -> impl Future<Output = Result<Vec<QueueName>, StoreError>> + Send;

    /// Every lifecycle file that was ever registered.
    fn lifecycles(&self) -> impl Future<Output = Result<Vec<(LifecycleRef, String)>, StoreError>> + Send;

    /// All API keys by id, revoked ones included.
    fn api_keys(&self) -> impl Future<Output = Result<Vec<ApiKey>, StoreError>> + Send;

    /// Newest first, optionally before one.
    fn assets(
        &self,
        job: JobId,
        before: Option<AssetId>,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<Asset>, StoreError>> + Send;

    fn asset(&self, id: AssetId) -> impl Future<Output = Result<Option<Asset>, StoreError>> + Send;

    /// Storage paths of objects that are due for deletion.
    fn asset_garbage(&self, limit: usize) -> impl Future<Output = Result<Vec<String>, StoreError>> + Send;

    /// By id; at most [`tenure_core::limits::AUTOMATIONS_MAX`].
    fn automations(
        &self,
        kind: AutomationKind,
    ) -> impl Future<Output = Result<Vec<Automation>, StoreError>> + Send;

    /// Due automations of a kind, oldest first.
    fn due_automations(
        &self,
        kind: AutomationKind,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<Automation>, StoreError>> + Send;

    /// Last seen first; at most [`WORKERS_MAX`].
    fn workers(&self) -> impl Future<Output = Result<Vec<WorkerRecord>, StoreError>> + Send;

    fn worker(&self, name: WorkerId)
    -> impl Future<Output = Result<Option<WorkerRecord>, StoreError>> + Send;

    /// Last seen first; at most [`NODES_MAX`].
    fn nodes(&self) -> impl Future<Output = Result<Vec<NodeRecord>, StoreError>> + Send;

    /// For `verify`: all records of the jobs after an id, in id order.
    fn scan(
        &self,
        after: Option<JobId>,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<Scanned>, StoreError>> + Send;

    /// For `verify`: accounts after a user with the sums of their ledgers; also users that have only one of the two.
    fn scan_accounts(
        &self,
        after: Option<UserId>,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<AccountSums>, StoreError>> + Send;

    /// For `verify`: rows without a job, and the findings of the database's integrity check.
    fn orphans(&self, limit: usize) -> impl Future<Output = Result<Vec<String>, StoreError>> + Send;
}

/// An event with its position and the fields that readers filter by.
#[derive(Clone, Debug, PartialEq)]
pub struct JournalEntry {
    pub position: Position,
    pub event: Event,
    pub lifecycle: LifecycleName,
    pub job_type: TypeName,
    pub queue: QueueName,
    pub user_id: Option<UserId>,
    pub correlation_id: Name,
    pub trace_id: Name,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Count {
    pub lifecycle: LifecycleName,
    pub job_type: TypeName,
    pub queue: QueueName,
    pub state: StateName,
    pub count: u64,
}

/// Largest number of listed workers.
pub const WORKERS_MAX: usize = 10_000;

/// Largest number of listed nodes.
pub const NODES_MAX: usize = 1000;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gauges {
    pub jobs: Vec<Count>,
    pub oldest_ready: Vec<OldestReady>,
    /// Dead letters that are not dismissed.
    pub dead_letters: u64,
    pub oldest_dead_letter: Option<Timestamp>,
}

/// The oldest claimable job of a queue and type.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OldestReady {
    pub queue: QueueName,
    pub job_type: TypeName,
    /// The earliest past `run_at`.
    pub since: Timestamp,
}

/// A user, the account, and the sums of the ledger by kind.
pub type AccountSums = (UserId, Account, Vec<(Movement, u64)>);

#[derive(Clone, Debug)]
pub struct Scanned {
    pub id: JobId,
    /// Or why it cannot be read.
    pub record: Result<Record, String>,
}
