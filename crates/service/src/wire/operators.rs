//! Accounts, the audit log, keys, assets and workers.

use tenure_api::{Account, ApiKey, Asset, AuditLine, HeldJob, LedgerLine, WorkerStatus};
use tenure_core::{api_key, asset, credit, event};

use crate::workers;

/// An account without its ledger.
pub fn account(account: credit::Account) -> Account {
    Account {
        granted: account.granted,
        reserved: account.reserved,
        spent: account.spent,
        available: account.available(),
        ..Account::default()
    }
}

/// A line of the ledger in this row.
pub fn ledger_line(row: u64, line: &credit::LedgerLine) -> LedgerLine {
    LedgerLine {
        id: row,
        ts: line.ts.to_string(),
        kind: line.kind.as_str().to_owned(),
        amount: line.amount,
        job_id: line.job_id.map(|id| id.to_string()),
        reason: line.reason.clone(),
    }
}

/// A line of the audit log in this row.
pub fn audit_line(row: u64, line: &event::AuditLine) -> AuditLine {
    AuditLine {
        id: row,
        ts: line.ts.to_string(),
        action: line.action.to_string(),
        actor: line.actor.0.to_string(),
        job_id: line.job_id.map(|id| id.to_string()),
        reason: line.reason.clone(),
    }
}

/// A key without its secret.
pub fn api_key(key: &api_key::ApiKey) -> ApiKey {
    ApiKey {
        id: key.id.to_string(),
        role: key.role.as_str().to_owned(),
        user_id: key.user_id.as_ref().map(ToString::to_string),
        created_at: key.created_at.to_string(),
        created_by: key.created_by.0.to_string(),
        revoked_at: key.revoked_at.map(|at| at.to_string()),
        key: None,
    }
}

pub fn asset(asset: &asset::Asset) -> Asset {
    Asset {
        id: asset.id.to_string(),
        job_id: asset.job_id.to_string(),
        user_id: asset.user_id.as_ref().map(ToString::to_string),
        asset_type: asset.asset_type.to_string(),
        url: asset.url.clone(),
        storage_path: asset.storage_path.clone(),
        file_size: asset.file_size,
        created_at: asset.created_at.to_string(),
        discarded_at: asset.discarded_at.map(|at| at.to_string()),
    }
}

pub fn worker(worker: &workers::Worker) -> WorkerStatus {
    let held = |job: &std::sync::Arc<tenure_core::job::Job>| HeldJob {
        job_id: job.id().to_string(),
        job_type: job.spec.job_type.to_string(),
        state: job.state.to_string(),
        fence: job.lease.as_ref().map_or(0, |lease| lease.fence.0),
    };
    WorkerStatus {
        name: worker.name.to_string(),
        seen_at: worker.seen_at.map(|at| at.to_string()),
        holds: worker.holds.iter().map(held).collect(),
    }
}
