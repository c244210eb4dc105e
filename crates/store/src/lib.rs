//! The stores of Tenure behind one trait. A store loads and writes; `decide` in core decides. The only refusal that comes
//! from a store itself is for lack of disk space: see `WorkingSet::adds_work`.
//!
//! Every store passes the same conformance suite, and both databases hold the same values: times as integer milliseconds,
//! ids as 16 bytes, payloads as the original text.

mod any;
mod codec;
mod error;
mod lease_pages;
mod list;
mod live;
mod memory;
mod migrate;
mod postgres;
mod prelude;
mod reads;
mod ready;
mod records;
mod row;
mod sqlite;

use std::future::Future;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use tenure_core::automation::AutomationKind;

use crate::prelude::*;

pub use any::AnyStore;
pub use error::StoreError;
pub use lease_pages::LeasePages;
pub use memory::{Fault, MemoryStore};
pub use postgres::PostgresStore;
pub use ready::ReadyJobs;
pub use sqlite::SqliteStore;

type Result<T, E = StoreError> = std::result::Result<T, E>;

/// The reads of a store that each store implements. The trait and the stores that only pass a call on expand this list and the
/// next two, so that a new read is declared once.
#[macro_export]
macro_rules! store_reads {
    ($expand:ident) => {
        $expand! {
            fn job(id: JobId) -> Option<Arc<Job>>;
            /// The number of jobs by lifecycle, type, queue and state.
            fn counts() -> Vec<Count>;
            /// Counts of live jobs and dead letters. Never reads finished jobs.
            fn gauges() -> Gauges;
            /// Jobs with a lease, of all workers or of one, after an id, in id order. [`LeasePages`] reads all of them.
            fn leased(worker: Option<WorkerId>, after: Option<JobId>, limit: usize) -> Vec<Arc<Job>>;
            /// Jobs in a waiting state, oldest first.
            fn waiting(limit: usize) -> Vec<Arc<Job>>;
            /// Jobs with an overdue clock, most overdue first.
            fn due(limit: usize) -> Vec<JobId>;
            /// The ready jobs that one of the filters admits, in queues that are not paused. Counts are exact up to `limit`.
            /// The earliest `next_run` of all is exact; other queues and types may lack theirs.
            fn ready_jobs(filters: Vec<ClaimFilter>, limit: usize) -> Vec<ReadyJobs>;
            /// For `verify`: all records of the jobs after an id, in id order.
            fn scan(after: Option<JobId>, limit: usize) -> Vec<Scanned>;
            /// For `verify`: accounts after a user with the sums of their ledgers; also users that have only one of the two.
            fn scan_accounts(after: Option<UserId>, limit: usize) -> Vec<AccountSums>;
            /// For `verify`: rows without a job, and the findings of the database's integrity check.
            fn orphans(limit: usize) -> Vec<String>;
        }
    };
}

/// Reads that are the same in both databases: see `reads.rs`.
#[macro_export]
macro_rules! database_reads {
    ($expand:ident) => {
        $expand! {
            fn journal_end() -> Position;
            /// Newest first.
            fn list(filter: JobFilter, page: Page) -> Vec<Arc<Job>>;
            /// The job that is `jobs` jobs older than `before`, if there is one: bounds a search that must not read everything.
            /// `jobs` is at least one.
            fn nth_older(before: Option<JobId>, jobs: usize) -> Option<JobId>;
            /// Newest job first.
            fn dead_letters(filter: DeadLetterFilter, page: Page) -> Vec<DeadLetter>;
            fn account(user: UserId) -> Account;
            /// Storage paths of objects that are due for deletion.
            fn asset_garbage(limit: usize) -> Vec<String>;
            /// Whether a key, a line of telemetry or a worker has expired and is not yet pruned.
            fn has_expired() -> bool;
            /// By id; at most [`tenure_core::limits::AUTOMATIONS_MAX`].
            fn automations(kind: AutomationKind) -> Vec<Automation>;
            /// Due automations of a kind, oldest first.
            fn due_automations(kind: AutomationKind, limit: usize) -> Vec<Automation>;
            /// Last seen first; at most [`WORKERS_MAX`].
            fn workers() -> Vec<WorkerRecord>;
            /// Last seen first; at most [`NODES_MAX`].
            fn nodes() -> Vec<NodeRecord>;
        }
    };
}

/// Reads that are the statement of the same name in both databases, with the arguments as its values, and the function that
/// decodes a row.
#[macro_export]
macro_rules! statement_reads {
    ($expand:ident) => {
        $expand! {
            /// In order, notes after the numbered events.
            fn history(id: JobId) -> Vec<Event> = codec::event;
            /// The journal after a position, in commit order, which is the same for all readers.
            fn events(after: Position, limit: usize) -> Vec<JournalEntry> = records::journal_entry;
            /// Finished jobs of a lifecycle that completed after a job, which completed at `after`, and before a time. In the
            /// order of their completion, then of their ids.
            fn completed_between(
                lifecycle: LifecycleName,
                after: Timestamp,
                after_job: JobId,
                before: Timestamp,
                limit: usize
            ) -> Vec<CompletedJob> = records::completed_job;
            /// Jobs that completed at or after a time, newest completion first.
            fn finished(since: Timestamp, limit: usize) -> Vec<Arc<Job>> = codec::job;
            /// Log lines after number `after`.
            fn logs(job: JobId, after: u64, limit: usize) -> Vec<LogLine> = records::log_line;
            fn telemetry(job: JobId) -> Vec<Telemetry> = records::telemetry;
            /// Ledger lines after row `after`, each with its row number.
            fn ledger(user: UserId, after: u64, limit: usize) -> Vec<(u64, LedgerLine)> = records::ledger_line;
            /// Accounts after a user, ordered by user.
            fn accounts(after: Option<UserId>, limit: usize) -> Vec<(UserId, Account)> = records::account;
            /// Ledger lines before a row, newest first, each with its row number.
            fn ledger_before(user: UserId, before: u64, limit: usize) -> Vec<(u64, LedgerLine)> = records::ledger_line;
            /// Audit lines before a row, newest first, each with its row number.
            fn audit_before(before: u64, limit: usize) -> Vec<(u64, AuditLine)> = records::audit_line;
            /// Audit lines after row `after`, each with its row number.
            fn audit(after: u64, limit: usize) -> Vec<(u64, AuditLine)> = records::audit_line;
            fn paused() -> Vec<QueueName> = records::queue;
            /// Every lifecycle file that was ever registered.
            fn lifecycles() -> Vec<(LifecycleRef, String)> = records::lifecycle;
            /// All API keys by id, revoked ones included.
            fn api_keys() -> Vec<ApiKey> = records::api_key;
            /// Newest first, optionally before one.
            fn assets(job: JobId, before: Option<AssetId>, limit: usize) -> Vec<Asset> = records::asset;
            fn asset(id: AssetId) -> Option<Asset> = records::asset;
            fn worker(name: WorkerId) -> Option<WorkerRecord> = records::worker;
        }
    };
}
macro_rules! declare_reads {
    ($($(#[$doc:meta])* fn $name:ident($($arg:ident: $type:ty),*) -> $output:ty $(= $decode:path)?;)*) => {$(
        $(#[$doc])*
        fn $name(&self, $($arg: $type),*) -> impl Future<Output = Result<$output, StoreError>> + Send;
    )*};
}

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

    /// Resolves when another node may have committed, with the jobs that became ready, or `None` if they are not known. May
    /// be missed, and may be spurious.
    fn remote_commit(&self) -> impl Future<Output = Option<Vec<ReadyJobs>>> + Send;

    store_reads!(declare_reads);
    database_reads!(declare_reads);
    statement_reads!(declare_reads);
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

/// A finished job, for retention.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompletedJob {
    pub id: JobId,
    pub lifecycle_version: u32,
    pub completed_at: Timestamp,
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

/// The time of the machine's clock.
fn wall() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(since.as_millis() as i64)
}
