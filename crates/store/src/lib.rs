//! The stores of Tenure: one handle, [`Store`], over one trait, [`Backend`]. A store loads and writes; `decide` in core
//! decides. The only refusal that comes from a store itself is for lack of disk space: see `WorkingSet::adds_work`.
//!
//! Every store passes the same conformance suite, and both databases hold the same values: times as integer milliseconds,
//! ids as 16 bytes, payloads as the original text.

mod claim_index;
mod codec;
mod error;
mod flow_report;
mod handle;
mod inspect;
mod intake;
mod lease_pages;
mod list;
mod live;
mod memory;
mod migrate;
mod newest_rows;
mod pages;
mod postgres;
mod prelude;
mod query;
mod reads;
mod ready;
mod records;
mod row;
mod sequence_lines;
mod sorted;
mod sqlite;
mod tables;

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::prelude::*;

pub use error::StoreError;
pub use flow_report::{
    BucketReport, ResourceFilter, ResourceReport, SequenceFilter, SequenceReport, WaitKind, WaitReport,
};
pub use handle::Store;
pub use inspect::{DatabaseSettings, InspectedNode, Inspection, NODE_CONNECTIONS_MAX};
pub use intake::{CommittedRequest, EnqueueRequest, IntakeCursor, IntakePage, RequestKind};
pub use lease_pages::LeasePages;
pub use memory::{Fault, MemoryStore};
pub use newest_rows::NewestRows;
pub use pages::BoundedPage;
pub use postgres::{Outbox, SCHEMA_DEFAULT, check_url, inspect_database, intake_script};
pub use query::{Query, QueryAnswer};
pub use ready::{AwaitedJobs, DueJobs, ReadyJobs};
use sqlite::SqliteStore;
pub use sqlite::{BackupError, BackupSummary, Restoration, back_up, inspect_folder};

type Result<T, E = StoreError> = std::result::Result<T, E>;

/// A future of a backend. Boxed: unboxed, those of PostgreSQL would make the future of every call several kilobytes large, and
/// next to a commit an allocation costs nothing.
pub type BackendFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Decides a batch: changes the working set at a time. Pure, so that it may be called again after a conflict.
pub type Decide = Box<dyn FnMut(&mut WorkingSet, Now) + Send>;

/// Applies what a reload of a store has loaded.
pub type ApplyReload = Box<dyn FnOnce() + Send>;

/// What a store implements. Its users call the methods of [`Store`], where they are described.
pub trait Backend: fmt::Debug + Send + Sync + 'static {
    fn transact(&self, reads: Reads, decide: Decide) -> BackendFuture<'_, Result<(), StoreError>>;
    fn read(&self, query: Query) -> BackendFuture<'_, Result<QueryAnswer, StoreError>>;
    fn now(&self) -> BackendFuture<'_, Result<Now, StoreError>>;
    fn heartbeat(&self) -> BackendFuture<'_, Result<(), StoreError>>;
    fn remote_commit(&self) -> BackendFuture<'_, Option<Vec<ReadyJobs>>>;
    fn properties(&self) -> Properties;
    /// Only PostgreSQL has an intake.
    fn intake(&self, cursor: IntakeCursor) -> BackendFuture<'_, Result<IntakePage, StoreError>> {
        Box::pin(async { Ok(IntakePage { requests: Vec::new(), next: cursor }) })
    }
    /// A request for a job that is in the intake.
    fn pending_request(&self, _id: JobId) -> BackendFuture<'_, Result<Option<PendingRequest>, StoreError>> {
        Box::pin(async { Ok(None) })
    }
    fn reload(&self) -> Result<ApplyReload, StoreError> {
        Ok(Box::new(|| {}))
    }
    /// Limits what the store keeps in memory although it could read it again.
    fn limit_memory(&self, _process_bytes: usize) {}
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Properties {
    pub kind: StoreKind,
    /// The number of batches to have in flight at once.
    pub parallel_batches: usize,
    /// Whether other nodes may commit to it.
    pub is_shared: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreKind {
    Memory,
    Sqlite,
    Postgres,
}

impl StoreKind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Sqlite => "sqlite",
            Self::Postgres => "postgres",
        }
    }
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

/// Without a heartbeat for this long, the time counts as an outage. Nodes send one every half second.
const SILENCE_MS_MAX: i64 = 1500;

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
