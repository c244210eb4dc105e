//! API keys: added with a role, revoked, never deleted.

use crate::api_key::{ApiKey, Role};
use crate::command::NewKey;
use crate::decide::{CommandOutput, CommandResult, DecisionContext, create};
use crate::id::{Actor, Name};
use crate::refusal::Refusal;

/// The same id with the same digest is a replay, even if the key was revoked since.
pub(crate) fn add(context: &mut DecisionContext<'_>, by: &Actor, new: &NewKey) -> CommandResult {
    if let Some(key) = context.set.api_keys.get(&new.id) {
        if key.digest != new.digest {
            return Err(Refusal::invalid("#/id", "there is another key with this id"));
        }
        return Ok(CommandOutput::Key { key: key.clone(), replayed: true });
    }
    create::name_within_limits("#/id", &new.id)?;
    if let Some(user) = &new.user_id {
        create::name_within_limits("#/user_id", user)?;
    }
    if new.role == Role::Producer && new.user_id.is_none() {
        return Err(Refusal::invalid("#/user_id", "a producer's key needs one"));
    }
    if context.set.api_keys.is_empty() && new.role != Role::Admin {
        return Err(Refusal::invalid("#/role", "the first key must be an admin's"));
    }
    let key = ApiKey {
        id: new.id.clone(),
        role: new.role,
        user_id: new.user_id.clone(),
        digest: new.digest,
        created_at: context.now.at,
        created_by: by.clone(),
        revoked_at: None,
    };
    context.set.put_api_key(key.clone());
    context.audit(by, "key_create", &new.id);
    Ok(CommandOutput::Key { key, replayed: false })
}

/// Revokes a key. Revoking it again changes nothing.
pub(crate) fn revoke(context: &mut DecisionContext<'_>, by: &Actor, id: &Name) -> CommandResult {
    let key = context.set.api_keys.get(id).cloned();
    let key = key.ok_or_else(|| Refusal::NotFound { what: "key", name: id.to_string() })?;
    if key.revoked_at.is_some() {
        return Ok(CommandOutput::Key { key, replayed: true });
    }
    let key = ApiKey { revoked_at: Some(context.now.at), ..key };
    context.set.put_api_key(key.clone());
    context.audit(by, "key_revoke", id);
    Ok(CommandOutput::Key { key, replayed: false })
}
