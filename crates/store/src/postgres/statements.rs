//! The statements of this database, by file name, with the types of their parameters. Those of `reads.rs` are the same in both.

use tokio_postgres::types::Type;

use super::connection::Sql;

/// Declares a file of `sql/` and the types of its parameters.
macro_rules! statements {
    ($($name:ident = $file:literal [$($type:ident)*])+) => {
        $(pub(super) static $name: Sql =
            Sql { text: include_str!(concat!("sql/", $file, ".sql")), types: &[$(Type::$type),*] };)+
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
    DISCARD_ASSETS = "discard_assets" [UUID_ARRAY INT8_ARRAY]
    ERASE_ACCOUNT = "erase_account" [TEXT_ARRAY]
    ERASE_LEDGER = "erase_ledger" [TEXT_ARRAY TEXT_ARRAY]
    DUE = "due" [INT8 INT8 INT8]
    FENCE_COMMIT = "fence_commit" [UUID]
    FORGET_GARBAGE = "forget_garbage" [TEXT_ARRAY]
    INSERT_ACCOUNT = "insert_account" [TEXT_ARRAY INT8_ARRAY INT8_ARRAY INT8_ARRAY]
    INSERT_API_KEY = "insert_api_key" [
        TEXT_ARRAY TEXT_ARRAY TEXT_ARRAY BYTEA_ARRAY INT8_ARRAY TEXT_ARRAY INT8_ARRAY TEXT_ARRAY
    ]
    INSERT_ASSET = "insert_asset" [
        UUID_ARRAY UUID_ARRAY TEXT_ARRAY TEXT_ARRAY TEXT_ARRAY TEXT_ARRAY INT8_ARRAY BOOL_ARRAY INT8_ARRAY
        INT8_ARRAY
    ]
    INSERT_AUDIT = "insert_audit" [INT8_ARRAY TEXT_ARRAY TEXT_ARRAY UUID_ARRAY TEXT_ARRAY TEXT_ARRAY]
    INSERT_COMMIT = "insert_commit" [UUID UUID_ARRAY]
    INSERT_EVENT = "insert_event" [
        UUID_ARRAY INT4_ARRAY TEXT_ARRAY TEXT_ARRAY TEXT_ARRAY TEXT_ARRAY INT4_ARRAY INT8_ARRAY
        TEXT_ARRAY TEXT_ARRAY TEXT_ARRAY
    ]
    INSERT_JOB = "insert_job" [
        UUID_ARRAY TEXT_ARRAY TEXT_ARRAY INT4_ARRAY TEXT_ARRAY TEXT_ARRAY INT4_ARRAY INT4_ARRAY
        INT8_ARRAY TEXT_ARRAY INT8_ARRAY TEXT_ARRAY TEXT_ARRAY TEXT_ARRAY UUID_ARRAY UUID_ARRAY
    ]
    INSERT_KEY = "insert_key" [UUID_ARRAY BYTEA_ARRAY TEXT_ARRAY INT8_ARRAY INT8_ARRAY]
    INSERT_LEDGER = "insert_ledger" [INT8_ARRAY TEXT_ARRAY TEXT_ARRAY INT8_ARRAY UUID_ARRAY TEXT_ARRAY]
    INSERT_LIFECYCLE = "insert_lifecycle" [TEXT_ARRAY INT4_ARRAY TEXT_ARRAY]
    INSERT_LOG = "insert_log" [UUID_ARRAY INT8_ARRAY INT8_ARRAY TEXT_ARRAY TEXT_ARRAY TEXT_ARRAY]
    INSERT_MIGRATION = "insert_migration" [INT4 TEXT]
    INSERT_AUTOMATION = "insert_automation" [TEXT_ARRAY TEXT_ARRAY INT8_ARRAY TEXT_ARRAY]
    INSERT_STATE = "insert_state" [
        UUID_ARRAY TEXT_ARRAY TEXT_ARRAY TEXT_ARRAY INT4_ARRAY INT4_ARRAY INT4_ARRAY INT8_ARRAY
        INT8_ARRAY INT8_ARRAY INT8_ARRAY INT8_ARRAY INT8_ARRAY INT8_ARRAY INT8_ARRAY INT8_ARRAY
        TEXT_ARRAY TEXT_ARRAY TEXT_ARRAY TEXT_ARRAY TEXT_ARRAY TEXT_ARRAY TEXT_ARRAY TEXT_ARRAY
        TEXT_ARRAY INT8_ARRAY INT8_ARRAY BOOL_ARRAY TEXT_ARRAY TEXT_ARRAY TEXT_ARRAY INT4_ARRAY
    ]
    INSERT_TELEMETRY = "insert_telemetry" [UUID_ARRAY INT8_ARRAY TEXT_ARRAY INT8_ARRAY TEXT_ARRAY INT8_ARRAY]
    JOB = "job" [UUID]
    LEASED = "leased" [TEXT UUID INT8]
    LIVE_COUNTS = "live_counts" []
    LOAD_ACCOUNTS = "load_accounts" [TEXT_ARRAY UUID_ARRAY]
    LOAD_REFERENCED_ACCOUNTS = "load_referenced_accounts" [TEXT_ARRAY]
    LOAD_API_KEYS = "load_api_keys" []
    LOAD_ASSETS = "load_assets" [UUID_ARRAY]
    LOAD_DEAD_LETTERS = "load_dead_letters" [UUID_ARRAY]
    LOAD_GARBAGE = "load_garbage" [TEXT_ARRAY]
    LOAD_JOB_STATES = "load_job_states" [UUID_ARRAY]
    LOAD_JOBS = "load_jobs" [UUID_ARRAY]
    LOAD_KEYS = "load_keys" [UUID_ARRAY]
    LOAD_REFERENCED = "load_referenced" [UUID_ARRAY]
    LOAD_LIFECYCLES = "load_lifecycles" [TEXT_ARRAY INT4_ARRAY]
    LOAD_AUTOMATIONS = "load_automations" [TEXT_ARRAY TEXT_ARRAY]
    LOCK_JOURNAL = "lock_journal" []
    LOCK_MIGRATIONS = "lock_migrations" []
    MIGRATED = "migrated" []
    NOTIFY = "notify" [TEXT]
    NOW = "now" []
    NOW_BATCH = "now_batch" []
    NOW_FIRST = "now_first" []
    OLDEST_READY = "oldest_ready" [INT8]
    OPEN_DEAD_LETTERS = "open_dead_letters" []
    PAUSE_QUEUE = "pause_queue" [TEXT_ARRAY]
    PRUNE_KEYS = "prune_keys" [INT8]
    PRUNE_SESSIONS = "prune_sessions" [INT8]
    PRUNE_TELEMETRY = "prune_telemetry" [INT8]
    PRUNE_NODES = "prune_nodes" [INT8]
    PRUNE_WORKERS = "prune_workers" [INT8]
    PURGE_ASSETS = "purge_assets" [UUID_ARRAY]
    PURGE_DEAD_LETTER = "purge_dead_letter" [UUID_ARRAY]
    PURGE_EVENTS = "purge_events" [UUID_ARRAY]
    PURGE_JOB = "purge_job" [UUID_ARRAY]
    PURGE_LOGS = "purge_logs" [UUID_ARRAY]
    PURGE_STATE = "purge_state" [UUID_ARRAY]
    PURGE_TELEMETRY = "purge_telemetry" [UUID_ARRAY]
    PUT_ACCOUNT = "put_account" [TEXT_ARRAY INT8_ARRAY INT8_ARRAY INT8_ARRAY]
    PUT_API_KEY = "put_api_key" [TEXT_ARRAY BYTEA_ARRAY INT8_ARRAY TEXT_ARRAY]
    PUT_DEAD_LETTER = "put_dead_letter" [UUID_ARRAY INT8_ARRAY TEXT_ARRAY TEXT_ARRAY BOOL_ARRAY TEXT_ARRAY]
    PUT_GARBAGE = "put_garbage" [TEXT_ARRAY INT8_ARRAY]
    PUT_KEY = "put_key" [UUID_ARRAY BYTEA_ARRAY TEXT_ARRAY INT8_ARRAY INT8_ARRAY]
    PUT_NODE = "put_node" [
        TEXT_ARRAY TEXT_ARRAY TEXT_ARRAY INT8_ARRAY INT8_ARRAY BOOL_ARRAY TEXT_ARRAY
    ]
    PUT_AUTOMATION = "put_automation" [TEXT_ARRAY TEXT_ARRAY INT8_ARRAY TEXT_ARRAY]
    PUT_SESSION = "put_session" [TEXT_ARRAY INT8_ARRAY TEXT_ARRAY]
    PUT_WORKER = "put_worker" [TEXT_ARRAY TEXT_ARRAY INT8_ARRAY UUID_ARRAY]
    REMOVE_SESSION = "remove_session" [TEXT_ARRAY]
    REMOVE_AUTOMATION = "remove_automation" [TEXT_ARRAY TEXT_ARRAY]
    READY_JOBS = "ready_jobs" [INT8 INT8 TEXT_ARRAY TEXT_ARRAY]
    RESUME_QUEUE = "resume_queue" [TEXT_ARRAY]
    SCAN = "scan" [UUID INT8]
    SCAN_ACCOUNTS = "scan_accounts" [TEXT INT8]
    SCAN_EVENTS = "scan_events" [UUID_ARRAY]
    SCAN_LEDGER = "scan_ledger" [UUID_ARRAY]
    SCAN_LOGS = "scan_logs" [UUID_ARRAY]
    SETTINGS = "settings" []
    CLAIM_INDEX = "claim_index" []
    DISCARD_OBJECTS = "discard_objects" [UUID_ARRAY]
    ORPHANS = "orphans" [INT8]
    TOUCH_API_KEY = "touch_api_key" [TEXT_ARRAY INT8_ARRAY]
    UPDATE_HOLD = "update_hold" [
        UUID_ARRAY INT8_ARRAY INT8_ARRAY INT8_ARRAY TEXT_ARRAY TEXT_ARRAY TEXT_ARRAY INT8_ARRAY
        INT8_ARRAY INT8_ARRAY
    ]
    UPDATE_STATE = "update_state" [
        UUID_ARRAY TEXT_ARRAY TEXT_ARRAY TEXT_ARRAY INT4_ARRAY INT4_ARRAY INT4_ARRAY INT8_ARRAY
        INT8_ARRAY INT8_ARRAY INT8_ARRAY INT8_ARRAY INT8_ARRAY INT8_ARRAY INT8_ARRAY INT8_ARRAY
        TEXT_ARRAY TEXT_ARRAY TEXT_ARRAY TEXT_ARRAY TEXT_ARRAY TEXT_ARRAY TEXT_ARRAY TEXT_ARRAY
        TEXT_ARRAY INT8_ARRAY INT8_ARRAY BOOL_ARRAY
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
