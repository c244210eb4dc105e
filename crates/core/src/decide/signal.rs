//! Signals that a lifecycle declares.

use crate::command_origin::CommandOrigin;
use crate::decide::report::fits;
use crate::decide::transition::TransitionRequest;
use crate::decide::{CommandResult, DecisionContext, clock};
use crate::id::{JobId, Name};
use crate::json::Json;
use crate::lifecycle::Trigger;
use crate::limits;

pub(crate) fn decide(
    context: &mut DecisionContext<'_>,
    by: &CommandOrigin,
    id: JobId,
    name: &Name,
    payload: Option<Json>,
) -> CommandResult {
    fits("payload", payload.as_ref().map_or(0, |payload| payload.as_str().len()), limits::PAYLOAD_BYTES_MAX)?;
    let request = TransitionRequest::new(Trigger::Signal(name.clone()), by.clone());
    context.transition(id, TransitionRequest { note: payload, ..request })?;
    clock::catch_up(context, id)?;
    context.job_output(id)
}
