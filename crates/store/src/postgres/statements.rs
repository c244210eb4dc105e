//! The statements of this database alone, by file name, with the types of their parameters. Those of `reads.rs` and `tables.rs`
//! are the same in both.

use std::borrow::Cow;

use tokio_postgres::types::Type;

use super::connection::Sql;

/// Declares a file of `sql/` and the types of its parameters.
macro_rules! statements {
    ($($name:ident = $file:literal [$($type:ident)*])+) => {
        $(pub(super) static $name: Sql =
            Sql { text: include_str!(concat!("sql/", $file, ".sql")), types: Cow::Borrowed(&[$(Type::$type),*]) };)+
    };
}

/// Opens the transaction of a batch. Several statements, so it is not prepared.
pub(super) const BEGIN: &str = include_str!("sql/begin.sql");
/// Creates the table of migrations.
pub(super) const MIGRATIONS: &str = include_str!("sql/migrations.sql");

statements! {
    HEARTBEAT = "heartbeat" [INT8 INT8]
    CLAIMABLE = "claimable" [TEXT_ARRAY TEXT_ARRAY INT4_ARRAY INT8_ARRAY UUID_ARRAY INT8 INT8]
    CLAIMABLE_SLOT = "claimable_slot" [TEXT TEXT INT4 INT8 UUID INT8 INT8]
    COMMIT_DONE = "commit_done" [UUID]
    COUNT_OUTAGE = "count_outage" [INT8 INT8 INT8]
    COUNTS = "counts" []
    DUE = "due" [INT8 INT8 INT8]
    FENCE_COMMIT = "fence_commit" [UUID]
    INSERT_ACCOUNT = "insert_account" [TEXT_ARRAY INT8_ARRAY INT8_ARRAY INT8_ARRAY]
    INSERT_AUDIT = "insert_audit" [INT8_ARRAY TEXT_ARRAY TEXT_ARRAY UUID_ARRAY TEXT_ARRAY TEXT_ARRAY]
    INSERT_COMMIT = "insert_commit" [UUID UUID_ARRAY]
    INSERT_EVENT = "insert_event" [
        UUID_ARRAY INT4_ARRAY TEXT_ARRAY TEXT_ARRAY TEXT_ARRAY TEXT_ARRAY INT4_ARRAY INT8_ARRAY
        TEXT_ARRAY TEXT_ARRAY TEXT_ARRAY
    ]
    INSERT_JOB = "insert_job" [
        UUID_ARRAY TEXT_ARRAY TEXT_ARRAY INT4_ARRAY TEXT_ARRAY TEXT_ARRAY INT4_ARRAY INT4_ARRAY
        INT8_ARRAY TEXT_ARRAY INT8_ARRAY TEXT_ARRAY TEXT_ARRAY TEXT_ARRAY UUID_ARRAY UUID_ARRAY
        TEXT_ARRAY
    ]
    INSERT_LIVE_COUNTS = "insert_live_counts" [TEXT_ARRAY TEXT_ARRAY TEXT_ARRAY TEXT_ARRAY INT8_ARRAY]
    INSERT_KEY = "insert_key" [UUID_ARRAY BYTEA_ARRAY TEXT_ARRAY INT8_ARRAY INT8_ARRAY]
    INSERT_MIGRATION = "insert_migration" [INT4 TEXT]
    INSERT_STATE = "insert_state" [
        UUID_ARRAY TEXT_ARRAY TEXT_ARRAY TEXT_ARRAY INT4_ARRAY INT4_ARRAY INT4_ARRAY INT8_ARRAY
        INT8_ARRAY INT8_ARRAY INT8_ARRAY INT8_ARRAY INT8_ARRAY INT8_ARRAY INT8_ARRAY INT8_ARRAY
        TEXT_ARRAY TEXT_ARRAY TEXT_ARRAY TEXT_ARRAY TEXT_ARRAY TEXT_ARRAY TEXT_ARRAY TEXT_ARRAY
        TEXT_ARRAY INT8_ARRAY TEXT_ARRAY INT8_ARRAY BOOL_ARRAY INT4_ARRAY TEXT_ARRAY TEXT_ARRAY
        TEXT_ARRAY
    ]
    JOB = "job" [UUID]
    LEASED = "leased" [TEXT UUID INT8]
    LIVE_COUNTS = "live_counts" []
    LOAD_ACCOUNTS = "load_accounts" [TEXT_ARRAY UUID_ARRAY]
    LOAD_REFERENCED_ACCOUNTS = "load_referenced_accounts" [TEXT_ARRAY]
    LOAD_JOB_STATES = "load_job_states" [UUID_ARRAY]
    LOAD_JOBS = "load_jobs" [UUID_ARRAY]
    LOAD_KEYS = "load_keys" [UUID_ARRAY]
    LOAD_REFERENCED = "load_referenced" [UUID_ARRAY]
    LOAD_UNIQUE_RECORDS = "load_unique_records" [UUID_ARRAY]
    LOCK_JOURNAL = "lock_journal" []
    LOCK_MIGRATIONS = "lock_migrations" []
    MERGE_LIVE_COUNTS = "merge_live_counts" []
    MIGRATED = "migrated" []
    NOTIFY = "notify" [TEXT]
    NOW = "now" []
    NOW_BATCH = "now_batch" []
    NOW_FIRST = "now_first" []
    OLDEST_READY = "oldest_ready" [INT8]
    OPEN_DEAD_LETTERS = "open_dead_letters" []
    PUT_ACCOUNT = "put_account" [TEXT_ARRAY INT8_ARRAY INT8_ARRAY INT8_ARRAY]
    PUT_KEY = "put_key" [UUID_ARRAY BYTEA_ARRAY TEXT_ARRAY INT8_ARRAY INT8_ARRAY]
    READY_JOBS = "ready_jobs" [INT8 INT8 TEXT_ARRAY TEXT_ARRAY]
    SCAN = "scan" [UUID INT8]
    SCAN_ACCOUNTS = "scan_accounts" [TEXT INT8]
    SCAN_DEAD_LETTERS = "scan_dead_letters" [UUID_ARRAY]
    SCAN_EVENTS = "scan_events" [UUID_ARRAY]
    SCAN_LEDGER = "scan_ledger" [UUID_ARRAY]
    SCAN_LOGS = "scan_logs" [UUID_ARRAY]
    SETTINGS = "settings" []
    CLAIM_INDEX = "claim_index" []
    ORPHANS = "orphans" [INT8]
    UPDATE_HOLD = "update_hold" [
        UUID_ARRAY INT8_ARRAY INT8_ARRAY INT8_ARRAY TEXT_ARRAY TEXT_ARRAY TEXT_ARRAY INT8_ARRAY
        INT8_ARRAY INT8_ARRAY
    ]
    UPDATE_STATE = "update_state" [
        UUID_ARRAY TEXT_ARRAY TEXT_ARRAY TEXT_ARRAY INT4_ARRAY INT4_ARRAY INT4_ARRAY INT8_ARRAY
        INT8_ARRAY INT8_ARRAY INT8_ARRAY INT8_ARRAY INT8_ARRAY INT8_ARRAY INT8_ARRAY INT8_ARRAY
        TEXT_ARRAY TEXT_ARRAY TEXT_ARRAY TEXT_ARRAY TEXT_ARRAY TEXT_ARRAY TEXT_ARRAY TEXT_ARRAY
        TEXT_ARRAY INT8_ARRAY TEXT_ARRAY INT8_ARRAY BOOL_ARRAY INT4_ARRAY
    ]
    WAITING = "waiting" [INT8]
}

/// The statements of every batch.
pub(super) static HOT: [&Sql; 12] = [
    &NOW_BATCH,
    &LOAD_KEYS,
    &LOAD_JOB_STATES,
    &LOAD_JOBS,
    &LOAD_ACCOUNTS,
    &CLAIMABLE,
    &CLAIMABLE_SLOT,
    &CLAIM_INDEX,
    &INSERT_JOB,
    &INSERT_STATE,
    &INSERT_EVENT,
    &INSERT_COMMIT,
];
