//! API keys: create, list, revoke. The answer to a creation shows the secret once.

use tenure_api::ApiKey;
use tenure_core::api_key::Role;
use tenure_core::command::NewKey;
use tenure_service::auth::key::IssuedKey;

use crate::http::prelude::*;

pub(crate) async fn create(call: CallContext, body: Body<request::NewKey>) -> Reply {
    let role = parsed::<Role>("#/role", Some(body.value.role))?.expect("a given text is parsed");
    let user_id = name("#/user_id", body.value.user_id)?;
    let given = body.key.as_ref().map(|given| given.key.as_str());
    let issued = given.map_or_else(IssuedKey::random, IssuedKey::repeatable);
    let known = call.store().api_keys().await?.into_iter().find(|key| key.id == issued.id.as_str());
    if let Some(key) = known {
        if key.role != role || key.user_id != user_id {
            return Err(Problem::key_reused(given.unwrap_or_default()));
        }
        let output = CommandOutput::Key { key, replayed: true };
        return Ok(output_reply(StatusCode::OK, output, call.runtime().reading()));
    }
    let key = NewKey { id: issued.id.as_str().into(), role, user_id, digest: issued.digest };
    let output = call.submit(None, Command::AddKey(Box::new(key))).await?;
    call.keyring().changed().await?;
    let CommandOutput::Key { key, .. } = output else { unreachable!("a new key is answered with the key") };
    let secret = Some(issued.text.reveal().to_owned());
    Ok(answer(StatusCode::CREATED, &ApiKey { key: secret, ..wire::api_key(&key) }))
}

pub(crate) async fn list(State(app): State<App>) -> Reply {
    let keys = app.store().api_keys().await?;
    page(CallId::ListKeys, keys.iter().map(wire::api_key).collect(), None)
}

/// Answers when no node accepts the key any more.
pub(crate) async fn revoke(call: CallContext, Named(id): Named<Name>) -> Reply {
    let output = call.submit(None, Command::RevokeKey(id.clone())).await?;
    call.keyring().changed().await?;
    let CommandOutput::Key { key, .. } = output else { return Err(Problem::not_found("key", id)) };
    ok(&wire::api_key(&key))
}
