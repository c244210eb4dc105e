//! Keys: made, listed, revoked. Their secret is shown once, in the answer that makes it.

use axum::extract::State;
use http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};
use tenure_core::api_key::Role;
use tenure_core::command::{Command, NewKey};
use tenure_core::decide::Done;
use tenure_core::refusal::Refusal;
use tenure_core::wire;
use tenure_store::Store as _;

use crate::app::App;
use crate::auth::key::Issued;
use crate::body::Body;
use crate::caller::{Caller, Right};
use crate::http::{Named, Reply, answer, done_reply, name, ok, page};
use crate::problem::Problem;
use crate::query::Given;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct KeyBody {
    role: Role,
    #[serde(alias = "user")]
    user_id: Option<String>,
}

pub(crate) async fn create(
    State(app): State<App>,
    caller: Caller,
    given: Given,
    body: Body<KeyBody>,
) -> Reply {
    caller.may(Right::Keys)?;
    given.done()?;
    let user_id = name("#/user_id", body.value.user_id)?;
    let given = body.key.as_ref().map(|given| given.key.as_str());
    let issued = given.map_or_else(Issued::new, Issued::repeatable);
    let known = app.store().api_keys().await?.into_iter().find(|key| key.id == issued.id.as_str());
    if let Some(key) = known {
        if key.role != body.value.role || key.user_id != user_id {
            return Err(Refusal::IdempotencyMismatch(given.unwrap_or_default().into()).into());
        }
        let again = Done::Key { key, replayed: true };
        return Ok(done_reply(StatusCode::OK, again, app.runtime().reading()));
    }
    let key = NewKey { id: issued.id.as_str().into(), role: body.value.role, user_id, digest: issued.digest };
    let done = app.submit(&caller, None, Command::AddKey(Box::new(key))).await?;
    app.keyring().changed().await?;
    let Done::Key { key, .. } = done else { unreachable!("a new key is answered with the key") };
    let mut shown = wire::api_key(&key);
    shown["key"] = json!(issued.text.reveal());
    Ok(answer(StatusCode::CREATED, &shown))
}

pub(crate) async fn list(State(app): State<App>, caller: Caller, given: Given) -> Reply {
    caller.may(Right::Keys)?;
    given.done()?;
    let keys = app.store().api_keys().await?;
    page("keys", keys.iter().map(wire::api_key).collect::<Vec<Value>>(), None)
}

/// Answers when no node takes the key any more.
pub(crate) async fn revoke(State(app): State<App>, caller: Caller, Named(id): Named, given: Given) -> Reply {
    caller.may(Right::Keys)?;
    given.done()?;
    let done = app.submit(&caller, None, Command::RevokeKey(id.clone())).await?;
    app.keyring().changed().await?;
    let Done::Key { key, .. } = done else { return Err(Problem::not_found("key", id)) };
    ok(&wire::api_key(&key))
}
