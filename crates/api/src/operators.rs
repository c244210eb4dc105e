//! What operators see: workers, queues, accounts, keys, the audit log, assets, health.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::schema::Schema::{Bool, Extra, Integer, Json, List, Nullable, Ref, Text};
use crate::schema::{Schema, of};
use crate::values::{MAYBE_TEXT, MAYBE_TIME, PRIORITY};

const MAYBE_JOB: Schema = Nullable(&Ref("JobId"));

answers! {
    /// A worker, when it was last seen, and what it holds.
    pub struct WorkerStatus as "Worker" {
        name: String = Text,
        seen_at: Option<String> = MAYBE_TIME,
        holds: Vec<HeldJob> = List(&of::<HeldJob>()),
        /// `lost`: it is silent for longer than its claim waits and its leases allow, and holds jobs; `offline`: it holds none.
        status: String = Json(r#"{"type":"string","enum":["online","lost","offline"]}"#),
        /// The types that it claims at this node; null is any, or not known here.
        types: Option<Vec<String>> = Nullable(&List(&Text)),
        /// How many jobs it runs at once, if it says so.
        slots: Option<u64> = Nullable(&Integer(0)),
        /// The host on which it runs, if it says so.
        host: Option<String> = MAYBE_TEXT,
        /// Its version, if it says so.
        version: Option<String> = MAYBE_TEXT,
    }

    /// A job that a worker holds.
    pub struct HeldJob {
        job_id: String = Ref("JobId"),
        job_type as "type": String = Text,
        state: String = Text,
        fence: u64 = Ref("Fence"),
    }

    /// A queue and the number of its jobs.
    pub struct Queue {
        name: String = Text,
        /// While paused, no job of the queue is claimed.
        paused: bool = Bool,
        ready: u64 = Integer(0),
        /// Held or active.
        running: u64 = Integer(0),
        waiting: u64 = Integer(0),
    }

    /// A queue that was paused or resumed.
    pub struct PausedQueue {
        name: String = Text,
        paused: bool = Bool,
    }

    /// A user's credits, and a page of the ledger.
    pub struct Account {
        granted: u64 = Integer(0),
        reserved: u64 = Integer(0),
        spent: u64 = Integer(0),
        /// `granted − reserved − spent`, never below zero.
        available: u64 = Integer(0),
        /// Oldest first.
        ledger: Vec<LedgerLine> = List(&of::<LedgerLine>()),
        next_cursor: Option<String> = Nullable(&Ref("Cursor")),
    }

    /// One movement of credits.
    pub struct LedgerLine {
        id: u64 = Integer(0),
        ts: String = Ref("Timestamp"),
        kind: String = Json(r#"{"type":"string","enum":["grant","reserve","settle","refund"]}"#),
        amount: u64 = Integer(0),
        /// Null for a grant.
        job_id: Option<String> = MAYBE_JOB,
        reason: Option<String> = MAYBE_TEXT,
    }

    /// What one call did for the erasure of a user.
    pub struct ErasureProgress {
        user_id: String = Text,
        /// Jobs that this call deleted.
        deleted: u64 = Integer(0),
        /// Jobs that are deleted when they are finished.
        unfinished: u64 = Integer(0),
        /// Whether nothing is left: no job, and no name in the ledger.
        complete: bool = Bool,
    }

    /// One line of the audit log.
    pub struct AuditLine {
        id: u64 = Integer(0),
        ts: String = Ref("Timestamp"),
        action: String = Text,
        actor: String = Text,
        job_id: Option<String> = MAYBE_JOB,
        reason: Option<String> = MAYBE_TEXT,
        /// The credential of the caller, and the values that the action changed: `before` is null for what is new, `after` for
        /// what was removed. Null in lines that earlier versions wrote.
        details: Option<Value> = Json(r#"{"type":["object","null"],"required":["credential","before","after"],"properties":{"credential":{"type":["string","null"]},"before":{"type":["object","null"]},"after":{"type":["object","null"]}}}"#),
    }

    /// An API key, without its secret: only a hash of that is stored.
    pub struct ApiKey as "Key" {
        id: String = Json(r#"{"type":"string","pattern":"^[0-9a-z]{12}$"}"#),
        /// The first of its roles.
        role: String = Ref("Role"),
        /// All of its roles.
        roles: Vec<String> = List(&Ref("Role")),
        /// A description, for people.
        name: Option<String> = MAYBE_TEXT,
        /// The user whose jobs a producer's key can access.
        user_id: Option<String> = MAYBE_TEXT,
        created_at: String = Ref("Timestamp"),
        /// The actor that created it.
        created_by: String = Text,
        /// From then on it is refused.
        expires_at: Option<String> = MAYBE_TIME,
        /// What it is limited to, besides its roles.
        scopes: KeyScopes = of::<KeyScopes>(),
        /// When a request was last authenticated with it. Updated at most once a minute.
        last_used_at: Option<String> = MAYBE_TIME,
        /// When it last got a new secret.
        rotated_at: Option<String> = MAYBE_TIME,
        /// Until when one of its earlier secrets is valid.
        earlier_secrets_until: Option<String> = MAYBE_TIME,
        revoked_at: Option<String> = MAYBE_TIME,
        /// The key itself. It is shown only once, when it is created.
        #[serde(skip_serializing_if = "Option::is_none")]
        key: Option<String> = Extra(&Json(r#"{"type":"string","pattern":"^tn_[0-9a-z]{12}_[0-9a-f]{64}_[0-9a-f]{8}$"}"#)),
    }

    /// What a key is limited to. `null` is no limit.
    pub struct KeyScopes {
        /// Only jobs of these types.
        types: Option<Vec<String>> = Nullable(&List(&Text)),
        /// Only jobs of these queues.
        queues: Option<Vec<String>> = Nullable(&List(&Text)),
        /// Only jobs of this user.
        user_id: Option<String> = MAYBE_TEXT,
        /// Only workers with such a name: `*` is any text.
        worker: Option<String> = MAYBE_TEXT,
        /// Only new jobs with at least this priority.
        priority_min: Option<i64> = Nullable(&PRIORITY),
        /// Only new jobs with at most this priority.
        priority_max: Option<i64> = Nullable(&PRIORITY),
    }

    /// A file or other output of the work on a job.
    pub struct Asset {
        id: String = Json(r#"{"type":"string","format":"uuid"}"#),
        job_id: String = Ref("JobId"),
        /// The job's owner.
        user_id: Option<String> = MAYBE_TEXT,
        /// The kind of asset, as its creator names it.
        asset_type: String = Text,
        /// Where its content is; relative to this server if it begins with a slash.
        url: String = Text,
        /// Where its content is stored.
        storage_path: Option<String> = MAYBE_TEXT,
        /// Size of its content in bytes.
        file_size: Option<u64> = Nullable(&Integer(0)),
        created_at: String = Ref("Timestamp"),
        /// When its content was discarded, because its job was cancelled hard.
        discarded_at: Option<String> = MAYBE_TIME,
    }

    /// The process runs.
    pub struct Health {
        status: String = Json(r#"{"type":"string","const":"ok"}"#),
        version: String = Text,
    }

    /// The store answers.
    pub struct Readiness {
        ready: bool = Schema::True,
    }
}
