//! API keys: create, list, rotate, revoke. The answers to a creation and to a rotation show the secret once.

use tenure_api::ApiKey;
use tenure_core::api_key::{NewKey, Role, RotateKey, Scopes};
use tenure_core::command::When;
use tenure_core::limits::{KEY_SCOPE_NAMES_MAX, PRIORITY_MAX};
use tenure_service::auth::key::IssuedKey;

use crate::http::claims::names;
use crate::http::prelude::*;

/// How long earlier secrets stay valid after a rotation, unless the request says otherwise.
const OVERLAP: Millis = Millis(3_600_000);

pub(crate) async fn create(call: CallContext, body: Body<request::NewKey>) -> Reply {
    let given = body.key.as_ref().map(|given| given.key.as_str());
    let issued = given.map_or_else(IssuedKey::random, IssuedKey::repeatable);
    let new = new_key(body.value, &issued)?;
    let known = call.store().api_keys().await?.into_iter().find(|key| key.id == new.id);
    if let Some(key) = known {
        if !new.describes(&key) {
            return Err(Problem::key_reused(given.unwrap_or_default()));
        }
        let output = CommandOutput::Key { key, replayed: true };
        return Ok(output_reply(StatusCode::OK, output, call.runtime().reading()));
    }
    let output = call.submit(None, Command::AddKey(Box::new(new))).await?;
    call.keyring().changed().await?;
    Ok(issued_key(&issued, output))
}

/// The answer with the secret.
fn issued_key(issued: &IssuedKey, output: CommandOutput) -> Response {
    let CommandOutput::Key { key, .. } = output else { unreachable!("a new key is answered with the key") };
    let secret = Some(issued.text.reveal().to_owned());
    answer(StatusCode::CREATED, &ApiKey { key: secret, ..wire::api_key(&key) })
}

fn new_key(body: request::NewKey, issued: &IssuedKey) -> Result<NewKey> {
    let mut roles = roles(body.role, body.roles)?;
    let role = roles.remove(0);
    let expires_at = parsed::<Timestamp>("#/expires_at", body.expires_at)?;
    let expires = match (expires_at, parsed::<Millis>("#/ttl", body.ttl)?) {
        (Some(_), Some(_)) => {
            return Err(Problem::malformed("#/ttl", "expires_at and ttl exclude each other"));
        }
        (Some(at), None) => When::At(at),
        (None, Some(span)) => When::In(span),
        (None, None) => When::Now,
    };
    Ok(NewKey {
        id: issued.id.as_str().into(),
        role,
        more_roles: roles,
        user_id: name("#/user_id", body.user_id)?,
        digest: issued.digest,
        name: name("#/name", body.name)?,
        expires,
        scopes: body.scopes.map(scopes).transpose()?.unwrap_or_default(),
    })
}

/// The roles of a key in the order in which they are given, at least one, without duplicates.
fn roles(role: Option<String>, roles: Option<Vec<String>>) -> Result<Vec<Role>> {
    let first = parsed::<Role>("#/role", role)?;
    let mut all: Vec<Role> = first.into_iter().collect();
    for (index, role) in roles.into_iter().flatten().enumerate() {
        let role = parsed::<Role>(&format!("#/roles/{index}"), Some(role))?;
        all.extend(role.filter(|role| !all.contains(role)));
    }
    require(!all.is_empty(), "#/role", "missing field `role`, or `roles`")?;
    Ok(all)
}

fn scopes(given: request::NewKeyScopes) -> Result<Scopes> {
    for (pointer, names) in [("#/scopes/types", &given.types), ("#/scopes/queues", &given.queues)] {
        let count = names.as_ref().map_or(1, Vec::len);
        let detail = format_args!("must have 1 to {KEY_SCOPE_NAMES_MAX} names");
        require((1..=KEY_SCOPE_NAMES_MAX).contains(&count), pointer, detail)?;
    }
    let priority = |pointer: &str, value: Option<i64>| {
        let checked = |value: i64| i32::try_from(value).ok().filter(|value| value.abs() <= PRIORITY_MAX);
        let bad = || Problem::malformed(pointer, format!("must be within ±{PRIORITY_MAX}"));
        value.map(|value| checked(value).ok_or_else(bad)).transpose()
    };
    Ok(Scopes {
        types: names("#/scopes/types", given.types)?,
        queues: names("#/scopes/queues", given.queues)?,
        user_id: name("#/scopes/user_id", given.user_id)?,
        worker: name("#/scopes/worker", given.worker)?,
        priority_min: priority("#/scopes/priority_min", given.priority_min)?,
        priority_max: priority("#/scopes/priority_max", given.priority_max)?,
    })
}

pub(crate) async fn list(State(app): State<App>) -> Reply {
    let keys = app.store().api_keys().await?;
    page(CallId::ListKeys, keys.iter().map(wire::api_key).collect(), None)
}

/// Answers when every node accepts the new secret.
pub(crate) async fn rotate(
    call: CallContext,
    Named(id): Named<Name>,
    body: OptionalBody<request::KeyRotation>,
) -> Reply {
    let overlap = parsed::<Millis>("#/overlap", body.value.overlap)?.unwrap_or(OVERLAP);
    let issued = IssuedKey::for_id(id.as_str());
    let rotate = RotateKey { id: id.clone(), digest: issued.digest, overlap };
    let output = call.submit(body.key, Command::RotateKey(rotate)).await?;
    if matches!(output, CommandOutput::Key { replayed: true, .. }) {
        return Ok(output_reply(StatusCode::OK, output, call.runtime().reading()));
    }
    call.keyring().changed().await?;
    Ok(issued_key(&issued, output))
}

/// Answers when no node accepts the key any more.
pub(crate) async fn revoke(call: CallContext, Named(id): Named<Name>) -> Reply {
    let output = call.submit(None, Command::RevokeKey(id.clone())).await?;
    call.keyring().changed().await?;
    let CommandOutput::Key { key, .. } = output else { return Err(Problem::not_found("key", id)) };
    ok(&wire::api_key(&key))
}
