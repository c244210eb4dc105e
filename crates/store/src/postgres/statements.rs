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
    CHANGE_FLOW = "change_flow" []
    COMMIT_DONE = "commit_done" [UUID]
    COUNT_OUTAGE = "count_outage" [INT8 INT8 INT8]
    COUNTS = "counts" []
    END_POSITION = "end_position" []
    FENCE_COMMIT = "fence_commit" [UUID]
    FLOW_RECORDS = "flow_records" [TEXT]
    HAS_RECORD = "has_record" [INT8 UUID]
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
    INSERT_JOB_CHANGE = "insert_job_change" [
        UUID_ARRAY INT4_ARRAY INT8_ARRAY INT8_ARRAY INT8_ARRAY INT8_ARRAY TEXT_ARRAY TEXT_ARRAY TEXT_ARRAY
    ]
    INSERT_KEY = "insert_key" [UUID_ARRAY BYTEA_ARRAY TEXT_ARRAY INT8_ARRAY INT8_ARRAY]
    INSERT_MIGRATION = "insert_migration" [INT4 TEXT]
    INTAKE_INSTALLED = "intake_installed" [TEXT TEXT]
    INTAKE_PAGE = "intake_page" [INT8 INT8_ARRAY INT8 INT8 INT8 INT8]
    JOB = "job" [UUID]
    LAST_RECORD = "last_record" []
    LOAD_ACCOUNTS = "load_accounts" [TEXT_ARRAY]
    LOAD_INTAKE = "load_intake" [INT8_ARRAY INT8_ARRAY]
    LOAD_KEYS = "load_keys" [UUID_ARRAY]
    LOAD_REFERENCED = "load_referenced" [UUID_ARRAY]
    LOCK_JOURNAL = "lock_journal" []
    LOCK_MIGRATIONS = "lock_migrations" []
    MIGRATED = "migrated" []
    NOTIFY = "notify" [TEXT TEXT]
    NOW = "now" []
    NOW_BATCH = "now_batch" []
    NOW_FIRST = "now_first" []
    OPEN = "open" [TEXT UUID INT8 INT8]
    OPEN_DEAD_LETTERS = "open_dead_letters" []
    OPEN_READY = "open_ready" [TEXT UUID INT8]
    PENDING_REQUEST = "pending_request" [UUID]
    PRUNE_CHANGES = "prune_changes" [INT8]
    PUT_ACCOUNT = "put_account" [TEXT_ARRAY INT8_ARRAY INT8_ARRAY INT8_ARRAY]
    PUT_KEY = "put_key" [UUID_ARRAY BYTEA_ARRAY TEXT_ARRAY INT8_ARRAY INT8_ARRAY]
    PUT_STATE = "put_state" [
        UUID_ARRAY TEXT_ARRAY TEXT_ARRAY TEXT_ARRAY INT4_ARRAY INT4_ARRAY INT4_ARRAY INT8_ARRAY
        INT8_ARRAY INT8_ARRAY INT8_ARRAY INT8_ARRAY INT8_ARRAY INT8_ARRAY INT8_ARRAY INT8_ARRAY
        TEXT_ARRAY TEXT_ARRAY TEXT_ARRAY TEXT_ARRAY TEXT_ARRAY TEXT_ARRAY TEXT_ARRAY TEXT_ARRAY
        TEXT_ARRAY INT8_ARRAY TEXT_ARRAY INT4_ARRAY TEXT_ARRAY TEXT_ARRAY TEXT_ARRAY TEXT_ARRAY
    ]
    REMOVE_INTAKE = "remove_intake" [INT8_ARRAY INT8_ARRAY]
    SAVE_POSITION = "save_position" [INT8]
    SCAN = "scan" [UUID INT8 INT8]
    SCAN_ACCOUNTS = "scan_accounts" [TEXT INT8]
    SCAN_DEAD_LETTERS = "scan_dead_letters" [UUID_ARRAY]
    SCAN_EVENTS = "scan_events" [UUID_ARRAY]
    SCAN_LEDGER = "scan_ledger" [UUID_ARRAY]
    SCAN_LOGS = "scan_logs" [UUID_ARRAY]
    SETTINGS = "settings" []
    ORPHANS = "orphans" [INT8]
    TABLES_FOUND = "tables_found" [TEXT]
    TAIL = "tail" [INT8 INT8 INT8]
    TAIL_CHANGES = "tail_changes" [INT8 INT8 INT8]
}

/// The statements of every batch.
pub(super) static HOT: [&Sql; 13] = [
    &LOCK_JOURNAL,
    &NOW_BATCH,
    &TAIL,
    &TAIL_CHANGES,
    &LOAD_KEYS,
    &LOAD_REFERENCED,
    &LOAD_ACCOUNTS,
    &INSERT_COMMIT,
    &INSERT_JOB,
    &PUT_STATE,
    &INSERT_EVENT,
    &INSERT_JOB_CHANGE,
    &END_POSITION,
];
