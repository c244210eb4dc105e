//! The databases of Tenure behind one trait: one write, a few reads. A store finds and keeps; it never decides.
//!
//! Every store passes the same conformance suite, and both databases hold the same values: times as integer
//! milliseconds, ids as 16 bytes, payloads as the text that came.

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

/// Where jobs and their histories are kept.
pub trait Store: Clone + Send + Sync + 'static {
    /// The only write. Loads what `reads` names, lets `judge` decide on it at the store's own time, and writes what
    /// changed: all or nothing, durable when it returns. A conflict runs `judge` again; it is pure, so that is safe.
    fn transact<T: Send + 'static>(
        &self,
        reads: Reads,
        judge: impl FnMut(&mut WorkingSet, Now) -> T + Send + 'static,
    ) -> impl Future<Output = Result<T, StoreError>> + Send;

    /// The store's clock: one for all nodes, never backwards.
    fn now(&self) -> impl Future<Output = Result<Now, StoreError>> + Send;

    /// Says that a node lives. Time in which nobody says so for more than a second is an outage, and stops the clocks.
    fn heartbeat(&self) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// How many batches may be in flight at once with profit.
    fn parallel_batches(&self) -> usize;

    /// Whether other nodes may commit to it: then what they did must be looked for.
    fn is_shared(&self) -> bool;

    /// Resolves when another node may have committed something. A hint: it may be lost, and may be wrong.
    fn remote_commit(&self) -> impl Future<Output = ()> + Send;

    /// One job.
    fn job(&self, id: JobId) -> impl Future<Output = Result<Option<Arc<Job>>, StoreError>> + Send;

    /// The events of one job in order, notes after the numbered ones.
    fn history(&self, id: JobId) -> impl Future<Output = Result<Vec<Event>, StoreError>> + Send;

    /// The journal after a position, in commit order; no reader can miss an event or see two orders.
    fn events(
        &self,
        after: Position,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<JournalEntry>, StoreError>> + Send;

    /// The end of the journal as it is now.
    fn journal_end(&self) -> impl Future<Output = Result<Position, StoreError>> + Send;

    /// Jobs that match, newest first.
    fn list(
        &self,
        filter: JobFilter,
        page: Page,
    ) -> impl Future<Output = Result<Vec<Arc<Job>>, StoreError>> + Send;

    /// The job that is so many jobs older than a place, if there are as many: how far a search may go that must not
    /// read everything. `jobs` is at least one.
    fn nth_older(
        &self,
        before: Option<JobId>,
        jobs: usize,
    ) -> impl Future<Output = Result<Option<JobId>, StoreError>> + Send;

    /// How many jobs are where.
    fn counts(&self) -> impl Future<Output = Result<Vec<Count>, StoreError>> + Send;

    /// What is to be watched: live jobs and dead letters. Never reads a finished job.
    fn gauges(&self) -> impl Future<Output = Result<Gauges, StoreError>> + Send;

    /// Jobs that have a lease now, in any order.
    fn leased(&self, limit: usize) -> impl Future<Output = Result<Vec<Arc<Job>>, StoreError>> + Send;

    /// Jobs in a waiting state, those that were created first.
    fn waiting(&self, limit: usize) -> impl Future<Output = Result<Vec<Arc<Job>>, StoreError>> + Send;

    /// Jobs with a clock that has run out by now, oldest first.
    fn due(&self, limit: usize) -> impl Future<Output = Result<Vec<JobId>, StoreError>> + Send;

    /// When the next job that this filter admits may be claimed, if one is ready but not yet: its `run_at`.
    fn next_run(
        &self,
        filter: ClaimFilter,
    ) -> impl Future<Output = Result<Option<Timestamp>, StoreError>> + Send;

    /// Finished jobs of a lifecycle that were completed before a time, oldest first.
    fn completed_before(
        &self,
        lifecycle: LifecycleName,
        before: Timestamp,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<JobId>, StoreError>> + Send;

    /// Jobs that were completed at or after a time, newest completion first.
    fn finished(
        &self,
        since: Timestamp,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<Arc<Job>>, StoreError>> + Send;

    /// A job's log lines after the `after`-th.
    fn logs(
        &self,
        job: JobId,
        after: u64,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<LogLine>, StoreError>> + Send;

    /// A job's telemetry in order.
    fn telemetry(&self, job: JobId) -> impl Future<Output = Result<Vec<Telemetry>, StoreError>> + Send;

    /// Dead letters that match, newest job first.
    fn dead_letters(
        &self,
        filter: DeadLetterFilter,
        page: Page,
    ) -> impl Future<Output = Result<Vec<DeadLetter>, StoreError>> + Send;

    /// A user's account.
    fn account(&self, user: UserId) -> impl Future<Output = Result<Account, StoreError>> + Send;

    /// Lines of a user's ledger after the `after`-th row, each with its row.
    fn ledger(
        &self,
        user: UserId,
        after: u64,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<(u64, LedgerLine)>, StoreError>> + Send;

    /// Accounts after a user, by user.
    fn accounts(
        &self,
        after: Option<UserId>,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<(UserId, Account)>, StoreError>> + Send;

    /// The last lines of a user's ledger before a row, newest first, each with its row.
    fn ledger_before(
        &self,
        user: UserId,
        before: u64,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<(u64, LedgerLine)>, StoreError>> + Send;

    /// The last lines of the operators' trail before a row, newest first, each with its row.
    fn audit_before(
        &self,
        before: u64,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<(u64, AuditLine)>, StoreError>> + Send;

    /// Lines of the operators' trail after the `after`-th row, each with its row.
    fn audit(
        &self,
        after: u64,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<(u64, AuditLine)>, StoreError>> + Send;

    /// Paused queues.
    fn paused(&self) -> impl Future<Output = Result<Vec<QueueName>, StoreError>> + Send;

    /// Every lifecycle file that was ever in force.
    fn lifecycles(&self) -> impl Future<Output = Result<Vec<(LifecycleRef, String)>, StoreError>> + Send;

    /// Every caller's key, by id; revoked ones too.
    fn api_keys(&self) -> impl Future<Output = Result<Vec<ApiKey>, StoreError>> + Send;

    /// A job's assets, newest first; before one, if it is named.
    fn assets(
        &self,
        job: JobId,
        before: Option<AssetId>,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<Asset>, StoreError>> + Send;

    /// One asset.
    fn asset(&self, id: AssetId) -> impl Future<Output = Result<Option<Asset>, StoreError>> + Send;

    /// Objects that are to be deleted by now, by their paths.
    fn asset_garbage(&self, limit: usize) -> impl Future<Output = Result<Vec<String>, StoreError>> + Send;

    /// CountKey orders of a kind, by id; at most [`tenure_core::limits::AUTOMATIONS_MAX`].
    fn automations(
        &self,
        kind: AutomationKind,
    ) -> impl Future<Output = Result<Vec<Automation>, StoreError>> + Send;

    /// CountKey orders of a kind whose time has come, oldest first.
    fn due_automations(
        &self,
        kind: AutomationKind,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<Automation>, StoreError>> + Send;

    /// Workers that were heard, the last one first; at most [`WORKERS_MAX`].
    fn workers(&self) -> impl Future<Output = Result<Vec<WorkerRecord>, StoreError>> + Send;

    /// One worker, if it was heard.
    fn worker(&self, name: WorkerId)
    -> impl Future<Output = Result<Option<WorkerRecord>, StoreError>> + Send;

    /// Nodes that were heard, the last one first; at most [`NODES_MAX`].
    fn nodes(&self) -> impl Future<Output = Result<Vec<NodeRecord>, StoreError>> + Send;

    /// For `verify`: everything about the jobs after an id, in id order. A record that cannot be read says why.
    fn scan(
        &self,
        after: Option<JobId>,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<Scanned>, StoreError>> + Send;

    /// For `verify`: accounts after a user, each with the sums of its ledger; users that have only one of the two, too.
    fn scan_accounts(
        &self,
        after: Option<UserId>,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<AccountSums>, StoreError>> + Send;

    /// For `verify`: rows that belong to no job, and what the database's own check finds.
    fn orphans(&self, limit: usize) -> impl Future<Output = Result<Vec<String>, StoreError>> + Send;
}

/// An event, its place in the journal, and what a reader filters by.
#[derive(Clone, Debug, PartialEq)]
pub struct JournalEntry {
    /// Its place.
    pub position: Position,
    /// What happened.
    pub event: Event,
    /// The job's lifecycle.
    pub lifecycle: LifecycleName,
    /// The job's type.
    pub job_type: TypeName,
    /// The job's queue.
    pub queue: QueueName,
    /// The job's owner.
    pub user_id: Option<UserId>,
    /// What else belongs to it.
    pub correlation_id: Name,
    /// Its trace.
    pub trace_id: Name,
}

/// How many jobs of a lifecycle and type are in a state.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs, reason = "the names are the job's own fields")]
pub struct Count {
    pub lifecycle: LifecycleName,
    pub job_type: TypeName,
    pub queue: QueueName,
    pub state: StateName,
    pub count: u64,
}

/// Workers that are told of at once.
pub const WORKERS_MAX: usize = 10_000;

/// Nodes that are told of at once.
pub const NODES_MAX: usize = 1000;

/// What is to be watched.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gauges {
    /// How many live jobs are where.
    pub jobs: Vec<Count>,
    /// How long the next jobs have waited, by queue and type.
    pub oldest_ready: Vec<OldestReady>,
    /// How many dead letters are not dismissed.
    pub dead_letters: u64,
    /// When the first of those was written.
    pub oldest_dead_letter: Option<Timestamp>,
}

/// Since when a queue has had a job of a type that nobody claimed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OldestReady {
    /// The queue, paused or not.
    pub queue: QueueName,
    /// The type.
    pub job_type: TypeName,
    /// The earliest `run_at` that has come.
    pub since: Timestamp,
}

/// A user, his account, and the movements of his ledger or their sums.
pub type AccountSums = (UserId, Account, Vec<(Movement, u64)>);

/// A job's records, or why they cannot be read.
#[derive(Clone, Debug)]
pub struct Scanned {
    /// Which job.
    pub id: JobId,
    /// What is kept about it.
    pub record: Result<Record, String>,
}
