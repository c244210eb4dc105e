//! Accounts, the audit log, keys, assets and workers.

use tenure_api::{Account, ApiKey, Asset, AuditLine, HeldJob, KeyScopes, LedgerLine, WorkerStatus};
use tenure_core::{api_key, asset, credit, event};

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
    let details = line.details.as_ref().and_then(|details| details.to_value().ok());
    convert!(line => AuditLine { ts, action, actor, job_id, reason; id: row, details })
}

/// A key without its secret.
pub fn api_key(key: &api_key::ApiKey) -> ApiKey {
    let role = key.role.as_str().to_owned();
    let roles = key.roles().map(|role| role.as_str().to_owned()).collect();
    let details = &key.details;
    let earlier_secrets_until = details.earlier_secrets.iter().map(|secret| secret.valid_until).max();
    convert!(key => ApiKey { id, user_id, created_at, created_by, revoked_at, last_used_at;
        role,
        roles,
        name: details.name.as_ref().map(ToString::to_string),
        expires_at: details.expires_at.as_ref().map(ToString::to_string),
        scopes: key_scopes(&details.scopes),
        rotated_at: details.rotated_at.as_ref().map(ToString::to_string),
        earlier_secrets_until: earlier_secrets_until.as_ref().map(ToString::to_string),
        key: None
    })
}

fn key_scopes(scopes: &api_key::Scopes) -> KeyScopes {
    fn names<T: ToString>(names: Option<&Vec<T>>) -> Option<Vec<String>> {
        names.map(|names| names.iter().map(ToString::to_string).collect())
    }
    KeyScopes {
        types: names(scopes.types.as_ref()),
        queues: names(scopes.queues.as_ref()),
        user_id: scopes.user_id.as_ref().map(ToString::to_string),
        worker: scopes.worker.as_ref().map(ToString::to_string),
        priority_min: scopes.priority_min.map(i64::from),
        priority_max: scopes.priority_max.map(i64::from),
    }
}

pub fn asset(asset: &asset::Asset) -> Asset {
    convert!(asset => Asset {
        id, job_id, user_id, asset_type, url, storage_path, file_size, created_at, discarded_at
    })
}

pub fn worker(worker: &workers::Worker) -> WorkerStatus {
    let held = |held: &workers::HeldLease| HeldJob {
        job_id: held.job.to_string(),
        job_type: held.job_type.to_string(),
        state: held.state.to_string(),
        fence: held.fence.0,
    };
    let claiming = worker.claiming.as_deref();
    let about = claiming.map(|claiming| &claiming.about);
    let types = claiming.and_then(|claiming| claiming.types.as_ref());
    convert!(worker => WorkerStatus { name, seen_at;
        holds: worker.holds.iter().map(held).collect(),
        status: worker.presence.as_str().to_owned(),
        types: types.map(|types| types.iter().map(ToString::to_string).collect()),
        slots: about.and_then(|about| about.slots).map(u64::from),
        host: about.and_then(|about| about.host.clone()),
        version: about.and_then(|about| about.version.clone())
    })
}
