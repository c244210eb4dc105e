//! Accounts: which of them a caller may see, and grants.

use tenure_core::api_key::Role;
use tenure_core::command::{Command, IdempotencyKey};
use tenure_core::id::UserId;
use tenure_core::limits::CREDITS_MAX;

use crate::caller::{Caller, Right};
use crate::fields::message;
use crate::problem::Problem;
use crate::service::Service;

/// Whether the account of a user is the caller's to see.
pub fn may_see(caller: &Caller, user: &UserId) -> Result<(), Problem> {
    if caller.role != Role::Producer {
        return caller.may(Right::Oversee);
    }
    if caller.user.as_ref() == Some(user) {
        return Ok(());
    }
    Err(Problem::forbidden("a producer sees the account of its own user"))
}

/// Grants credits.
pub async fn give(
    service: &Service,
    caller: &Caller,
    key: Option<IdempotencyKey>,
    (user, grant, reason): (&Name, u64, String),
) -> Result<(), Problem> {
    caller.may(Right::Operate)?;
    let reason = message("#/reason", Some(reason))?;
    if !(1..=CREDITS_MAX).contains(&grant) {
        return Err(Problem::malformed("#/grant", format!("must be from 1 to {CREDITS_MAX}")));
    }
    service.submit(caller, key, Command::Grant(user.clone(), grant, reason)).await?;
    Ok(())
}
