//! API keys: added with roles and scopes, rotated, revoked, never deleted.

use serde_json::{Value, json};

use crate::api_key::{ApiKey, EarlierSecret, KeyDetails, KeyUse, NewKey, Role, RotateKey, Scopes};
use crate::command_origin::CommandOrigin;
use crate::decide::audit::ValueChange;
use crate::decide::{CommandOutput, CommandResult, DecisionContext, create};
use crate::id::Name;
use crate::limits;
use crate::refusal::Refusal;

/// The same id with the same digest is a replay, even if the key was revoked since.
pub(crate) fn add(context: &mut DecisionContext<'_>, by: &CommandOrigin, new: &NewKey) -> CommandResult {
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
    let roles: Vec<Role> = new.roles().collect();
    if roles.contains(&Role::Producer) && new.user_id.is_none() {
        return Err(Refusal::invalid("#/user_id", "a producer's key needs one"));
    }
    if context.set.api_keys.is_empty() && !roles.contains(&Role::Admin) {
        return Err(Refusal::invalid("#/role", "the first key must be an admin's"));
    }
    check_scopes(new, &roles)?;
    let now = context.now.at;
    let expires_at = new.expires_at(now);
    if expires_at.is_some_and(|at| at <= now) {
        return Err(Refusal::invalid("#/expires_at", "must be in the future"));
    }
    let details = KeyDetails {
        more_roles: new.more_roles.clone(),
        name: new.name.clone(),
        expires_at,
        scopes: new.scopes.clone(),
        ..KeyDetails::default()
    };
    let key = ApiKey {
        id: new.id.clone(),
        role: new.role,
        user_id: new.user_id.clone(),
        digest: new.digest,
        created_at: now,
        created_by: by.actor.clone(),
        revoked_at: None,
        details: Box::new(details),
        last_used_at: None,
    };
    context.set.put_api_key(key.clone());
    context.audit(by, "key_create", &new.id, &ValueChange::new(Value::Null, values(&key)));
    Ok(CommandOutput::Key { key, replayed: false })
}

/// Claims are not selected by user, and an admin could give itself a key without scopes.
fn check_scopes(new: &NewKey, roles: &[Role]) -> Result<(), Refusal> {
    let scopes: &Scopes = &new.scopes;
    if roles.contains(&Role::Admin) && !scopes.is_empty() {
        return Err(Refusal::invalid("#/scopes", "an admin's key has none"));
    }
    if scopes.user_id.is_some() && roles.contains(&Role::Worker) {
        return Err(Refusal::invalid("#/scopes/user_id", "a worker's key cannot be limited to a user"));
    }
    if roles.contains(&Role::Producer) && scopes.user_id.is_some() && scopes.user_id != new.user_id {
        return Err(Refusal::invalid("#/scopes/user_id", "must be the producer's user"));
    }
    if scopes.types.as_ref().is_some_and(Vec::is_empty) {
        return Err(Refusal::invalid("#/scopes/types", "must name a type"));
    }
    if scopes.queues.as_ref().is_some_and(Vec::is_empty) {
        return Err(Refusal::invalid("#/scopes/queues", "must name a queue"));
    }
    if scopes.priority_min.zip(scopes.priority_max).is_some_and(|(min, max)| max < min) {
        return Err(Refusal::invalid("#/scopes/priority_max", "must not be below priority_min"));
    }
    Ok(())
}

/// Replaces the secret of a key. All earlier ones end after the overlap, if not before.
pub(crate) fn rotate(
    context: &mut DecisionContext<'_>,
    by: &CommandOrigin,
    rotate: &RotateKey,
) -> CommandResult {
    let mut key = find(context, &rotate.id)?;
    let before = values(&key);
    if key.digest == rotate.digest {
        return Ok(CommandOutput::Key { key, replayed: true });
    }
    let now = context.now.at;
    if key.revoked_at.is_some() || key.details.expires_at.is_some_and(|at| at <= now) {
        return Err(Refusal::invalid("#", "the key is revoked or has expired; create another"));
    }
    let end = now + rotate.overlap;
    let secrets = &mut key.details.earlier_secrets;
    secrets.push(EarlierSecret { digest: key.digest, valid_until: end });
    for secret in secrets.iter_mut() {
        secret.valid_until = secret.valid_until.min(end);
    }
    secrets.retain(|secret| now < secret.valid_until);
    if secrets.len() > limits::KEY_EARLIER_SECRETS_MAX {
        let detail = format!(
            "{} earlier secrets are still valid; rotate with a shorter overlap first",
            limits::KEY_EARLIER_SECRETS_MAX
        );
        return Err(Refusal::invalid("#/overlap", detail));
    }
    (key.digest, key.details.rotated_at) = (rotate.digest, Some(now));
    context.set.put_api_key(key.clone());
    context.audit(by, "key_rotate", &rotate.id, &ValueChange::new(before, values(&key)));
    Ok(CommandOutput::Key { key, replayed: false })
}

/// Revokes a key. Revoking it again changes nothing.
pub(crate) fn revoke(context: &mut DecisionContext<'_>, by: &CommandOrigin, id: &Name) -> CommandResult {
    let key = find(context, id)?;
    if key.revoked_at.is_some() {
        return Ok(CommandOutput::Key { key, replayed: true });
    }
    let before = values(&key);
    let key = ApiKey { revoked_at: Some(context.now.at), ..key };
    context.set.put_api_key(key.clone());
    context.audit(by, "key_revoke", id, &ValueChange::new(before, values(&key)));
    Ok(CommandOutput::Key { key, replayed: false })
}

fn find(context: &DecisionContext<'_>, id: &Name) -> Result<ApiKey, Refusal> {
    let key = context.set.api_keys.get(id).cloned();
    key.ok_or_else(|| Refusal::NotFound { what: "key", name: id.to_string() })
}

/// Records when keys were last used. Of a key that is listed twice, the last entry counts.
pub(crate) fn used(context: &mut DecisionContext<'_>, uses: &[KeyUse]) -> CommandOutput {
    let rows = uses.iter().map(|it| (it.key.clone(), it.at));
    context.set.changes.upserted.keys_used.extend(rows);
    CommandOutput::Nothing
}

/// A key in the audit log, without its digests.
fn values(key: &ApiKey) -> Value {
    json!({
        "id": key.id,
        "role": key.role,
        "roles": key.roles().collect::<Vec<_>>(),
        "user_id": key.user_id,
        "name": key.details.name,
        "scopes": key.details.scopes,
        "expires_at": key.details.expires_at,
        "rotated_at": key.details.rotated_at,
        "revoked_at": key.revoked_at,
    })
}
