//! Accounts, the audit log, keys, assets and workers.

use tenure_api::{Account, ApiKey, Asset, AuditLine, HeldJob, LedgerLine, WorkerStatus};
use tenure_core::{api_key, asset, credit, event};

use crate::prelude::*;
use crate::workers;

/// An account without its ledger.
pub fn account(account: credit::Account) -> Account {
    convert!(account => Account { granted, reserved, spent;
        available: account.available(), ..Account::default() })
}

/// A line of the ledger in this row.
pub fn ledger_line(row: u64, line: &credit::LedgerLine) -> LedgerLine {
    let kind = line.kind.as_str().to_owned();
    convert!(line => LedgerLine { ts, amount, job_id, reason; id: row, kind })
}

/// A line of the audit log in this row.
pub fn audit_line(row: u64, line: &event::AuditLine) -> AuditLine {
    convert!(line => AuditLine { ts, action, actor, job_id, reason; id: row })
}

/// A key without its secret.
pub fn api_key(key: &api_key::ApiKey) -> ApiKey {
    let role = key.role.as_str().to_owned();
    convert!(key => ApiKey { id, user_id, created_at, created_by, revoked_at; role, key: None })
}

pub fn asset(asset: &asset::Asset) -> Asset {
    convert!(asset => Asset {
        id, job_id, user_id, asset_type, url, storage_path, file_size, created_at, discarded_at
    })
}

pub fn worker(worker: &workers::Worker) -> WorkerStatus {
    let held = |job: &Arc<Job>| HeldJob {
        job_id: job.id().to_string(),
        job_type: job.spec.job_type.to_string(),
        state: job.state.to_string(),
        fence: job.lease.as_ref().map_or(0, |lease| lease.fence.0),
    };
    convert!(worker => WorkerStatus { name, seen_at; holds: worker.holds.iter().map(held).collect() })
}
