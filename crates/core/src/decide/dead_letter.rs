//! Dead letters: a job is given up by an operator, and its dead letter is dismissed.

use crate::dead_letter::{DeadLetter, Dismissal, ReasonCode};
use crate::decide::report::fits;
use crate::decide::transition::TransitionRequest;
use crate::decide::{CommandResult, DecisionContext, clock};
use crate::id::{Actor, JobId};
use crate::job::{Category, Class, JobError};
use crate::lifecycle::Trigger;
use crate::limits;
use crate::refusal::Refusal;

pub(crate) fn give_up(
    context: &mut DecisionContext<'_>,
    by: &Actor,
    id: JobId,
    reason: ReasonCode,
    detail: &str,
) -> CommandResult {
    fits("detail", detail.len(), limits::MESSAGE_BYTES_MAX)?;
    let code = reason.as_str().to_ascii_uppercase();
    let error = JobError {
        class: Class::Permanent,
        reason_code: Some(reason),
        ..JobError::own(&code, detail, Category::System)
    };
    context.transition(id, TransitionRequest::new(Trigger::DeadLetter, by.clone()).failing(error))?;
    clock::catch_up(context, id)?;
    context.job_output(id)
}

/// Marks a dead letter as dismissed; it stays readable.
pub(crate) fn dismiss(
    context: &mut DecisionContext<'_>,
    by: &Actor,
    id: JobId,
    reason: &str,
) -> CommandResult {
    fits("reason", reason.len(), limits::MESSAGE_BYTES_MAX)?;
    context.job(id)?;
    let letter = context.set.dead_letters.get(&id).cloned();
    let letter = letter.ok_or_else(|| Refusal::NotFound { what: "dead letter", name: id.to_string() })?;
    if letter.dismissed.is_none() {
        let dismissed = Some(Dismissal { at: context.now.at, by: by.clone(), reason: reason.to_owned() });
        context.set.put_dead_letter(DeadLetter { dismissed, ..letter });
        context.push_audit(by, "dismiss", Some(id), Some(reason));
    }
    context.job_output(id)
}
