//! Dead letters: a job is given up by an operator, and its dead letter is dismissed.

use serde_json::{Value, json};

use crate::command_origin::CommandOrigin;
use crate::dead_letter::{DeadLetter, Dismissal, ReasonCode};
use crate::decide::audit::ValueChange;
use crate::decide::report::fits;
use crate::decide::transition::TransitionRequest;
use crate::decide::{CommandResult, DecisionContext, clock, sequence};
use crate::id::JobId;
use crate::job::{Category, Class, JobError};
use crate::lifecycle::Trigger;
use crate::limits;
use crate::refusal::Refusal;

pub(crate) fn give_up(
    context: &mut DecisionContext<'_>,
    by: &CommandOrigin,
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
    by: &CommandOrigin,
    id: JobId,
    reason: &str,
) -> CommandResult {
    fits("reason", reason.len(), limits::MESSAGE_BYTES_MAX)?;
    context.job(id)?;
    let letter = context.set.dead_letters.get(&id).cloned();
    let letter = letter.ok_or_else(|| Refusal::NotFound { what: "dead letter", name: id.to_string() })?;
    if letter.dismissed.is_none() {
        let dismissed =
            Some(Dismissal { at: context.now.at, by: by.actor.clone(), reason: reason.to_owned() });
        let before = values(&letter);
        let letter = DeadLetter { dismissed, ..letter };
        let change = ValueChange::new(before, values(&letter));
        context.set.put_dead_letter(letter);
        context.push_audit(by, "dismiss", Some(id), Some(reason), &change);
        let job = context.job(id)?;
        sequence::end_halt(context, &job);
    }
    context.job_output(id)
}

fn values(letter: &DeadLetter) -> Value {
    let dismissed = letter.dismissed.as_ref();
    json!({
        "reason_code": letter.reason_code.as_str(),
        "dismissed_at": dismissed.map(|dismissal| dismissal.at),
        "dismissed_by": dismissed.map(|dismissal| &dismissal.by),
    })
}
