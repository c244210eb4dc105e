//! Keys of callers: added with a role, revoked, never forgotten.

use crate::api_key::{ApiKey, Role};
use crate::command::NewKey;
use crate::decide::operate::audit;
use crate::decide::{Answer, Done, Scene, create};
use crate::id::{Actor, Name};
use crate::refusal::Refusal;

/// A key for a caller. The same id with the same digest again is a repeat, whatever became of the key since.
pub(crate) fn add(scene: &mut Scene<'_>, by: &Actor, new: &NewKey) -> Answer {
    if let Some(key) = scene.set.api_keys.get(&new.id) {
        if key.digest != new.digest {
            return Err(Refusal::invalid("#/id", "there is another key with this id"));
        }
        return Ok(Done::Key { key: key.clone(), replayed: true });
    }
    create::name_within_limits("#/id", &new.id)?;
    if let Some(user) = &new.user_id {
        create::name_within_limits("#/user_id", user)?;
    }
    if new.role == Role::Producer && new.user_id.is_none() {
        return Err(Refusal::invalid("#/user_id", "a producer's key needs one"));
    }
    if scene.set.api_keys.is_empty() && new.role != Role::Admin {
        return Err(Refusal::invalid("#/role", "the first key must be an admin's"));
    }
    let key = ApiKey {
        id: new.id.clone(),
        role: new.role,
        user_id: new.user_id.clone(),
        digest: new.digest,
        created_at: scene.now.at,
        created_by: by.clone(),
        revoked_at: None,
    };
    scene.set.put_api_key(key.clone());
    audit(scene, by, "key_create", (None, Some(new.id.as_str())));
    Ok(Done::Key { key, replayed: false })
}

/// The key opens nothing any more. Once more changes nothing.
pub(crate) fn revoke(scene: &mut Scene<'_>, by: &Actor, id: &Name) -> Answer {
    let key = scene.set.api_keys.get(id).cloned();
    let key = key.ok_or_else(|| Refusal::NotFound { what: "key", name: id.to_string() })?;
    if key.revoked_at.is_some() {
        return Ok(Done::Key { key, replayed: true });
    }
    let key = ApiKey { revoked_at: Some(scene.now.at), ..key };
    scene.set.put_api_key(key.clone());
    audit(scene, by, "key_revoke", (None, Some(id.as_str())));
    Ok(Done::Key { key, replayed: false })
}
