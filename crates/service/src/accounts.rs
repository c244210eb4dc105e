//! Access to accounts, and grants of credits.

use tenure_core::limits::CREDITS_MAX;

use crate::fields::{message, up_to};
use crate::prelude::*;

pub fn may_see(caller: &Caller, user: &UserId) -> Result<()> {
    if caller.owns(Some(user)) {
        return Ok(());
    }
    if caller.has(Role::Producer) && !caller.sees_all_users() {
        return Err(Problem::forbidden("a producer sees only the account of its user"));
    }
    caller.may(Right::ReadSystem)
}

pub async fn grant(
    service: &Service,
    caller: &Caller,
    key: Option<IdempotencyKey>,
    user: &UserId,
    amount: u64,
    reason: String,
) -> Result<()> {
    caller.may(Right::ManageSystem)?;
    let reason = message("#/reason", Some(reason))?;
    let amount = up_to(CREDITS_MAX, "#/grant", amount)?;
    service.submit(caller, key, Command::GrantCredits { user: user.clone(), amount, reason }).await?;
    Ok(())
}
