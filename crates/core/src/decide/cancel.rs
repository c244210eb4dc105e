//! Cancels: immediate without a lease and when hard; otherwise the worker gets a cancel request and a grace period.

use crate::command::Cancel;
use crate::command_origin::CommandOrigin;
use crate::decide::report::fits;
use crate::decide::transition::TransitionRequest;
use crate::decide::{CommandResult, DecisionContext, clock, invalid_transition};
use crate::job::{CancelMode, CancelRequest};
use crate::lifecycle::Trigger;
use crate::limits;

pub(crate) fn decide(
    context: &mut DecisionContext<'_>,
    by: &CommandOrigin,
    cancel: &Cancel,
) -> CommandResult {
    let job = context.job(cancel.job)?;
    let lifecycle = context.lifecycle(&job)?;
    fits("reason", cancel.reason.as_ref().map_or(0, String::len), limits::MESSAGE_BYTES_MAX)?;
    if !lifecycle.has_rule(job.state.as_str(), &Trigger::Cancel) {
        return Err(invalid_transition(&job, &lifecycle, &Trigger::Cancel));
    }
    if cancel.mode == CancelMode::Hard || !job.phase.is_leased() {
        let request = TransitionRequest::cancel(by.clone(), cancel.reason.as_deref());
        context.transition(cancel.job, request)?;
        if cancel.mode == CancelMode::Hard {
            context.set.discard_assets(cancel.job, context.now.at);
        }
        clock::catch_up(context, cancel.job)?;
        return context.job_output(cancel.job);
    }
    if job.cancel.is_none() {
        let grace = context.policy(&job.spec.job_type, &lifecycle).cancel_grace;
        let (at, hard_at) = (context.now.at, context.now.running() + grace);
        let (mode, reason, credential) = (CancelMode::Soft, cancel.reason.clone(), by.credential.clone());
        context.set.job_mut(cancel.job).cancel =
            Some(Box::new(CancelRequest { mode, reason, by: by.actor.clone(), credential, at, hard_at }));
    }
    context.job_output(cancel.job)
}
