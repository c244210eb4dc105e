//! Credits of a user, and the ledger of every movement.

use tenure_api::Account;
use tenure_core::id::UserId;
use tenure_service::accounts::{self, may_see};

use crate::http::prelude::*;

pub(crate) async fn get(call: CallContext, Named(user): Named<UserId>, mut params: QueryParams) -> Reply {
    may_see(&call.caller, &user)?;
    let (after, limit) = (params.rows_after("cursor")?, params.limit()?);
    params.done()?;
    account(&call, user, after, limit).await
}

async fn account(app: &App, user: UserId, after: u64, limit: usize) -> Reply {
    let account = app.store().account(user.clone()).await?;
    let lines = app.store().ledger(user, after, limit).await?;
    ok(&Account {
        ledger: lines.iter().map(|(row, line)| wire::ledger_line(*row, line)).collect(),
        next_cursor: next_cursor(&lines, limit, |(row, _)| row.to_string()),
        ..wire::account(account)
    })
}

pub(crate) async fn grant(
    call: CallContext,
    Named(user): Named<UserId>,
    body: Body<request::Grant>,
) -> Reply {
    let request::Grant { grant, reason } = body.value;
    accounts::grant(&call, &call.caller, body.key, &user, grant, reason).await?;
    account(&call, user, 0, 500).await
}
