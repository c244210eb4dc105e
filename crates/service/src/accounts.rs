//! Access to accounts, and grants of credits.

use tenure_core::limits::CREDITS_MAX;

use crate::fields::message;
use crate::prelude::*;

pub fn may_see(caller: &Caller, user: &UserId) -> Result<(), Problem> {
    if caller.role != Role::Producer {
        return caller.may(Right::ReadSystem);
    }
    if caller.user.as_ref() == Some(user) {
        return Ok(());
    }
    Err(Problem::forbidden("a producer sees only the account of its user"))
}

pub async fn grant(
    service: &Service,
    caller: &Caller,
    key: Option<IdempotencyKey>,
    user: &UserId,
    amount: u64,
    reason: String,
) -> Result<(), Problem> {
    caller.may(Right::Operate)?;
    let reason = message("#/reason", Some(reason))?;
    if !(1..=CREDITS_MAX).contains(&amount) {
        return Err(Problem::malformed("#/grant", format!("must be from 1 to {CREDITS_MAX}")));
    }
    service.submit(caller, key, Command::GrantCredits { user: user.clone(), amount, reason }).await?;
    Ok(())
}
