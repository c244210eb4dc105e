//! What can be read from a store, outside of batches: one list, from which follow [`Query`], [`QueryAnswer`], a method of
//! [`Store`] for each query, and the dispatch of each backend.

use std::sync::Arc;

use crate::prelude::*;
use crate::{
    AccountSums, AwaitedJobs, CompletedJob, Count, DueJobs, Gauges, JournalEntry, ReadyJobs, ResourceFilter,
    ResourceReport, Result, Scanned, SequenceFilter, SequenceReport, Store, StoreError, WaitReport,
};

/// The list of queries: variant, method, arguments, answer, and how both databases answer it:
/// - `store`: each by its own method.
/// - `function`: by the function of that name in `reads.rs`.
/// - `statement`: by the statement of that name with the arguments as its values; the function decodes a row.
macro_rules! queries {
    ($expand:ident) => {
        $expand! {
            Job = job(id: JobId) -> Option<Arc<Job>> [store];
            /// The number of jobs by lifecycle, type, queue and state.
            Counts = counts() -> Vec<Count> [store];
            /// Counts of live jobs and dead letters. Never reads finished jobs.
            Gauges = gauges() -> Gauges [store];
            /// Jobs with a lease, of all workers or of one, after an id, in id order. A page that has fewer jobs, because
            /// they have many bytes, has at least one if there is one. [`crate::LeasePages`] reads all of them.
            Leased = leased(worker: Option<WorkerId>, after: Option<JobId>, limit: usize) -> Vec<Arc<Job>> [store];
            /// Jobs in a waiting state after an id, oldest first. A page that has fewer jobs, because they have many bytes, has at least
            /// one if there is one.
            Waiting = waiting(after: Option<JobId>, limit: usize) -> Vec<Arc<Job>> [store];
            /// Jobs with an overdue clock, most overdue first, and the time until the next clock.
            Due = due(limit: usize) -> DueJobs [store];
            /// The ready jobs that one of the waiting claims may take, in queues that are not paused. Counts are exact up to `limit`.
            /// The earliest `next_run` of all is exact; other queues and types may lack theirs.
            ReadyJobs = ready_jobs(awaited: Vec<AwaitedJobs>, limit: usize) -> Vec<ReadyJobs> [store];
            /// The declared resources after a name, or one, with their busiest buckets, or that of a key.
            Resources = resources(filter: ResourceFilter) -> Vec<ResourceReport> [store];
            /// Sequences with unfinished jobs, and halted ones, in order of type and key.
            Sequences = sequences(filter: SequenceFilter) -> Vec<SequenceReport> [store];
            /// What flow control makes an unfinished job wait for.
            Waits = waits(id: JobId) -> Vec<WaitReport> [store];
            /// For `verify`: all records of the jobs after an id, in id order. A page that has fewer jobs, because they have many bytes, has
            /// at least one if there is one.
            Scan = scan(after: Option<JobId>, limit: usize) -> Vec<Scanned> [store];
            /// For `verify`: accounts after a user with the sums of their ledgers; also users that have only one of the two.
            ScanAccounts = scan_accounts(after: Option<UserId>, limit: usize) -> Vec<AccountSums> [store];
            /// For `verify`: rows without a job, and the findings of the database's integrity check.
            Orphans = orphans(limit: usize) -> Vec<String> [store];
            JournalEnd = journal_end() -> Position [function];
            /// Newest first.
            List = list(filter: JobFilter, page: Page) -> Vec<Arc<Job>> [function];
            /// The job that is `jobs` jobs older than `before`, if there is one: bounds a search that must not read everything.
            /// `jobs` is at least one.
            NthOlder = nth_older(before: Option<JobId>, jobs: usize) -> Option<JobId> [function];
            /// Newest job first.
            DeadLetters = dead_letters(filter: DeadLetterFilter, page: Page) -> Vec<DeadLetter> [function];
            Account = account(user: UserId) -> Account [function];
            /// Storage paths of objects that are due for deletion.
            AssetGarbage = asset_garbage(limit: usize) -> Vec<String> [function];
            /// Whether pruning has something to do: an expired key, line of telemetry, worker or session, or on PostgreSQL old
            /// changes of the journal.
            HasExpired = has_expired() -> bool [function];
            /// By id; at most [`tenure_core::limits::AUTOMATIONS_MAX`].
            Automations = automations(kind: AutomationKind) -> Vec<Automation> [function];
            /// Due automations of a kind, oldest first.
            DueAutomations = due_automations(kind: AutomationKind, limit: usize) -> Vec<Automation> [function];
            /// Last seen first; at most [`crate::WORKERS_MAX`].
            Workers = workers() -> Vec<WorkerRecord> [function];
            /// Last seen first; at most [`crate::NODES_MAX`].
            Nodes = nodes() -> Vec<NodeRecord> [function];
            /// The periods of a series that begin from one time on and before another, in order. Periods in which nothing happened
            /// are not there.
            Statistics = statistics(
                resolution: Resolution,
                series: Series,
                from: Timestamp,
                before: Timestamp
            ) -> Vec<(Timestamp, PeriodCounts)> [function];
            /// The numbered events of a job after number `after`, in order. [`Store::history_page`] is limited in bytes, too.
            History = history(id: JobId, after: u64, limit: usize) -> Vec<Event> [statement codec::event];
            /// The events of a job that have no number, without the first `skipped`, in order.
            Notes = notes(id: JobId, skipped: u64, limit: usize) -> Vec<Event> [statement codec::event];
            /// The journal after a position, in commit order, which is the same for all readers.
            Events = events(after: Position, limit: usize) -> Vec<JournalEntry> [statement records::journal_entry];
            /// Finished jobs of a lifecycle that completed after a job, which completed at `after`, and before a time. In the
            /// order of their completion, then of their ids.
            CompletedBetween = completed_between(
                lifecycle: LifecycleName,
                after: Timestamp,
                after_job: JobId,
                before: Timestamp,
                limit: usize
            ) -> Vec<CompletedJob> [statement records::completed_job];
            /// Jobs that completed at or after a time, newest completion first. Without what may be large: the payload is null, and
            /// there is no result, checkpoint, error or amendment.
            Finished = finished(since: Timestamp, limit: usize) -> Vec<Arc<Job>> [statement codec::job];
            /// Log lines after number `after`.
            Logs = logs(job: JobId, after: u64, limit: usize) -> Vec<LogLine> [statement records::log_line];
            /// A job's telemetry without the first `skipped` lines, in order. [`Store::telemetry_page`] is limited in bytes, too.
            Telemetry = telemetry(job: JobId, skipped: u64, limit: usize) -> Vec<Telemetry> [statement records::telemetry];
            /// A job's last lines of telemetry, newest first.
            LastTelemetry = last_telemetry(job: JobId, limit: usize) -> Vec<Telemetry> [statement records::telemetry];
            /// Ledger lines after row `after`, each with its row number.
            Ledger = ledger(user: UserId, after: u64, limit: usize) -> Vec<(u64, LedgerLine)> [statement records::ledger_line];
            /// Accounts after a user, ordered by user.
            Accounts = accounts(after: Option<UserId>, limit: usize) -> Vec<(UserId, Account)> [statement records::account];
            /// Ledger lines before a row, newest first, each with its row number.
            LedgerBefore = ledger_before(user: UserId, before: u64, limit: usize) -> Vec<(u64, LedgerLine)> [statement records::ledger_line];
            /// Audit lines before a row, newest first, each with its row number.
            AuditBefore = audit_before(before: u64, limit: usize) -> Vec<(u64, AuditLine)> [statement records::audit_line];
            /// Like `audit_before`, without the lines about jobs, of which a bulk action writes many.
            AuditWithoutJob = audit_without_job(before: u64, limit: usize) -> Vec<(u64, AuditLine)> [statement records::audit_line];
            /// Audit lines after row `after`, each with its row number.
            Audit = audit(after: u64, limit: usize) -> Vec<(u64, AuditLine)> [statement records::audit_line];
            Paused = paused() -> Vec<QueueName> [statement records::queue];
            /// Every lifecycle file that was ever registered.
            Lifecycles = lifecycles() -> Vec<(LifecycleRef, String)> [statement records::lifecycle];
            /// All API keys by id, revoked ones included.
            ApiKeys = api_keys() -> Vec<ApiKey> [statement records::api_key];
            /// The session whose id has this digest, also if it has expired.
            Session = session(digest: Name) -> Option<Session> [statement records::session];
            /// Newest first, optionally before one.
            Assets = assets(job: JobId, before: Option<AssetId>, limit: usize) -> Vec<Asset> [statement records::asset];
            Asset = asset(id: AssetId) -> Option<Asset> [statement records::asset];
            /// What became of a request in SQL that created no job.
            IntakeRecord = intake_record(id: JobId) -> Option<IntakeRecord> [statement records::intake_record];
            /// Refused requests for jobs, of a user or of all, newest first, optionally before one.
            Refusals = refusals(user: Option<UserId>, before: Option<JobId>, limit: usize) -> Vec<IntakeRecord> [statement records::intake_record];
            Worker = worker(name: WorkerId) -> Option<WorkerRecord> [statement records::worker];
        }
    };
}
pub(crate) use queries;

macro_rules! declare_queries {
    ($(
        $(#[$doc:meta])*
        $variant:ident = $name:ident($($arg:ident: $type:ty),*) -> $output:ty [$($how:tt)+];
    )*) => {
        /// A read, with its arguments. See the method of [`Store`] with the same name.
        #[derive(Clone, Debug)]
        pub enum Query {
            $($variant { $($arg: $type),* },)*
        }

        /// The answer to the query of the same name.
        #[derive(Clone, Debug)]
        pub enum QueryAnswer {
            $($variant($output),)*
        }

        impl Store {
            $(
                $(#[$doc])*
                pub async fn $name(&self, $($arg: $type),*) -> Result<$output, StoreError> {
                    match self.backend().read(Query::$variant { $($arg),* }).await? {
                        QueryAnswer::$variant(answer) => Ok(answer),
                        _ => unreachable!("a backend answers the query that it was asked"),
                    }
                }
            )*
        }
    };
}

queries!(declare_queries);
