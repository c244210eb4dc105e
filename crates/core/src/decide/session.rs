//! Sessions of the dashboard and of streams: begun by a credential, extended, ended by signing out, deleted after their expiry.

use crate::decide::{CommandOutput, CommandResult, DecisionContext};
use crate::id::Name;
use crate::refusal::Refusal;
use crate::session::NewSession;

/// A session that exists gets the new expiry.
pub(crate) fn begin(context: &mut DecisionContext<'_>, new: &NewSession) -> CommandResult {
    if new.session.expires_at <= context.now.at {
        return Err(Refusal::invalid("#", "the credential has expired"));
    }
    context.set.changes.upserted.sessions.insert(new.digest.clone(), Some(new.session.clone()));
    Ok(CommandOutput::Nothing)
}

/// Ending a session that does not exist changes nothing.
pub(crate) fn end(context: &mut DecisionContext<'_>, digest: &Name) -> CommandOutput {
    context.set.changes.upserted.sessions.insert(digest.clone(), None);
    CommandOutput::Nothing
}
