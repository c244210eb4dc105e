//! Credits of a user, and the ledger of every movement.

use axum::extract::State;
use axum::response::Response;
use serde::Deserialize;
use serde_json::json;
use tenure_core::api_key::Role;
use tenure_core::command::{Command, GivenKey};
use tenure_core::id::Name;
use tenure_core::limits::CREDITS_MAX;
use tenure_core::wire;
use tenure_store::Store as _;

use crate::app::App;
use crate::body::Body;
use crate::caller::{Caller, Right};
use crate::http::jobs::message;
use crate::http::{Named, Reply, answer};
use crate::problem::Problem;
use crate::query::Given;

pub(crate) async fn get(
    State(app): State<App>,
    caller: Caller,
    Named(user): Named,
    mut given: Given,
) -> Reply {
    may_see(&caller, &user)?;
    let (after, limit) = (given.rows_after("cursor")?, given.limit()?);
    given.done()?;
    shown(&app, user, (after, limit)).await
}

/// Whether the account of a user is the caller's to see.
pub(crate) fn may_see(caller: &Caller, user: &Name) -> Result<(), Problem> {
    if caller.role != Role::Producer {
        return caller.may(Right::Oversee);
    }
    if caller.user.as_ref() == Some(user) {
        return Ok(());
    }
    Err(Problem::forbidden("a producer sees the account of its own user"))
}

async fn shown(app: &App, user: Name, (after, limit): (u64, usize)) -> Result<Response, Problem> {
    let account = app.store().account(user.clone()).await?;
    let lines = app.store().ledger(user, after, limit).await?;
    let next = (lines.len() == limit).then(|| lines.last().map(|(row, _)| row.to_string())).flatten();
    let mut body = wire::account(account);
    body["ledger"] = lines.iter().map(|(row, line)| wire::ledger_line(*row, line)).collect();
    body["next_cursor"] = json!(next);
    Ok(answer(http::StatusCode::OK, &body))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GrantBody {
    grant: u64,
    reason: String,
}

pub(crate) async fn grant(
    State(app): State<App>,
    caller: Caller,
    Named(user): Named,
    given: Given,
    body: Body<GrantBody>,
) -> Reply {
    given.done()?;
    let GrantBody { grant, reason } = body.value;
    give(&app, &caller, body.key, (&user, grant, reason)).await?;
    shown(&app, user, (0, 500)).await
}

/// Grants credits.
pub(crate) async fn give(
    app: &App,
    caller: &Caller,
    key: Option<GivenKey>,
    (user, grant, reason): (&Name, u64, String),
) -> Result<(), Problem> {
    caller.may(Right::Operate)?;
    let reason = message("#/reason", Some(reason))?;
    if !(1..=CREDITS_MAX).contains(&grant) {
        return Err(Problem::malformed("#/grant", format!("must be from 1 to {CREDITS_MAX}")));
    }
    app.submit(caller, key, Command::Grant(user.clone(), grant, reason)).await?;
    Ok(())
}
