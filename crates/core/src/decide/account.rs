//! Accounts: credits granted to a user.

use serde_json::json;

use crate::command_origin::CommandOrigin;
use crate::credit::{LedgerLine, Movement};
use crate::decide::audit::ValueChange;
use crate::decide::{CommandOutput, CommandResult, DecisionContext};
use crate::id::UserId;
use crate::limits;
use crate::refusal::Refusal;

pub(crate) fn grant(
    context: &mut DecisionContext<'_>,
    by: &CommandOrigin,
    user: &UserId,
    amount: u64,
    reason: Option<&str>,
) -> CommandResult {
    let left = limits::CREDITS_MAX.saturating_sub(context.set.account(user).granted);
    if !(1..=left).contains(&amount) {
        let detail = format!("must be at least 1, and all grants together at most {}", limits::CREDITS_MAX);
        return Err(Refusal::invalid("#/grant", detail));
    }
    let (ts, kind, reason_text) = (context.now.at, Movement::Grant, reason.map(str::to_owned));
    let line = LedgerLine { ts, user_id: user.clone(), kind, amount, job_id: None, reason: reason_text };
    let before = context.set.account(user);
    let account = context.set.move_credits(line).expect("the limit is far below an overflow");
    let why = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
    // Only what the grant changes: the rest depends on which expired timers of other jobs have been applied.
    let change =
        ValueChange::new(json!({ "granted": before.granted }), json!({ "granted": account.granted }));
    context.audit(by, "grant", &format!("{amount} for {user}{why}"), &change);
    Ok(CommandOutput::Account(account))
}
