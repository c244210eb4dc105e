//! The one JSON form of jobs, events and their like, as callers see them. Times are RFC 3339; deadlines are shown on
//! the calendar, which is why each function is told what time it is.

mod history;
mod job;
mod lifecycle;

use serde_json::{Value, json};

use crate::api_key::ApiKey;
use crate::asset::Asset;
use crate::automation::Automation;
use crate::credit::{Account, LedgerLine};
use crate::event::{AuditLine, LogLine};
use crate::job::CancelRequest;
use crate::schedule::{Plan, Schedule};
use crate::time::Now;
use crate::webhook::Webhook;

pub use history::{DeadLetterForm, ErrorForm, EventForm};
pub use job::{JobForm, LeaseForm};
pub use lifecycle::lifecycle;

pub(crate) fn cancel(request: &CancelRequest, now: Now) -> Value {
    json!({
        "mode": request.mode,
        "reason": request.reason,
        "by": request.by,
        "at": request.at,
        "hard_at": now.calendar(request.hard_at),
    })
}

/// A line of a job's log.
pub fn log_line(line: &LogLine) -> Value {
    json!({ "n": line.n, "ts": line.ts, "stream": line.stream, "level": line.level, "text": line.text })
}

/// An account; the ledger is listed apart.
pub fn account(account: Account) -> Value {
    let Account { granted, reserved, spent } = account;
    json!({ "granted": granted, "reserved": reserved, "spent": spent, "available": account.available() })
}

/// A line of the ledger, and its row.
pub fn ledger_line(row: u64, line: &LedgerLine) -> Value {
    let LedgerLine { ts, kind, amount, job_id, reason, .. } = line;
    json!({ "id": row, "ts": ts, "kind": kind, "amount": amount, "job_id": job_id, "reason": reason })
}

/// A line of the operators' trail, and its row.
pub fn audit_line(row: u64, line: &AuditLine) -> Value {
    let AuditLine { ts, action, actor, job_id, reason } = line;
    json!({ "id": row, "ts": ts, "action": action, "actor": actor, "job_id": job_id, "reason": reason })
}

/// A caller's key, without its digest.
pub fn api_key(key: &ApiKey) -> Value {
    let ApiKey { id, role, user_id, digest: _, created_at, created_by, revoked_at } = key;
    json!({
        "id": id,
        "role": role,
        "user_id": user_id,
        "created_at": created_at,
        "created_by": created_by,
        "revoked_at": revoked_at,
    })
}

/// An asset.
pub fn asset(asset: &Asset) -> Value {
    json!({
        "id": asset.id,
        "job_id": asset.job_id,
        "user_id": asset.user_id,
        "asset_type": asset.asset_type,
        "url": asset.url,
        "storage_path": asset.storage_path,
        "file_size": asset.file_size,
        "created_at": asset.created_at,
        "discarded_at": asset.discarded_at,
    })
}

/// A schedule.
pub fn schedule(schedule: &Schedule) -> Value {
    let Schedule { id, plan, created_at, created_by, next_at, last_at, last_job, last_error } = schedule;
    let Plan { cron, timezone, job, misfire, overlap } = plan;
    json!({
        "id": id,
        "cron": cron,
        "timezone": timezone,
        "job": job,
        "misfire": misfire,
        "overlap": overlap,
        "paused": next_at.is_none(),
        "created_at": created_at,
        "created_by": created_by,
        "next_at": next_at,
        "last_at": last_at,
        "last_job": last_job,
        "last_error": last_error,
    })
}

/// A webhook, without its secret and who sends.
pub fn webhook(webhook: &Webhook) -> Value {
    json!({
        "id": webhook.id,
        "url": webhook.url,
        "filter": webhook.filter,
        "created_at": webhook.created_at,
        "created_by": webhook.created_by,
        "position": webhook.position,
        "failures": webhook.failures,
        "disabled_at": webhook.disabled_at,
        "last_status": webhook.last_status,
        "last_error": webhook.last_error,
    })
}

/// A standing order.
pub fn automation(order: &Automation) -> Value {
    match order {
        Automation::Schedule(it) => schedule(it),
        Automation::Webhook(it) => webhook(it),
    }
}
