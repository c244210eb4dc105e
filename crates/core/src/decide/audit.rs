//! The audit log: what operators and admins did, with the values before and after.

use serde_json::{Value, json};

use crate::command::{Command, CommandEnvelope};
use crate::command_origin::CommandOrigin;
use crate::decide::{CommandOutput, DecisionContext};
use crate::event::{AuditLine, Event};
use crate::id::{JobId, Name};
use crate::job::Job;
use crate::json::Json;

/// The values that an action changed. Null for what did not exist before, or does not exist after.
#[derive(Clone, Debug, Default)]
pub(crate) struct ValueChange {
    pub(crate) before: Value,
    pub(crate) after: Value,
}

impl ValueChange {
    pub(crate) fn new(before: Value, after: Value) -> Self {
        Self { before, after }
    }

    fn details(&self, credential: Option<&Name>) -> Json {
        let Self { before, after } = self;
        Json::of(&json!({ "credential": credential, "before": before, "after": after }))
    }
}

/// The values of a job that commands of operators change.
fn job_values(job: &Job) -> Value {
    json!({
        "job_id": job.id(),
        "state": job.state,
        "seq": job.seq,
        "attempt": job.attempt,
        "worker": job.worker(),
        "cancel_requested": job.cancel.as_ref().map(|cancel| cancel.mode),
        "priority": job.priority(),
        "run_at": job.visible_run_at(),
    })
}

impl DecisionContext<'_> {
    /// The job before a command, if the command is written to the audit log.
    pub(crate) fn audited_job(&self, envelope: &CommandEnvelope) -> Option<Value> {
        let job = envelope.command.job().filter(|_| envelope.by.actor.oversees())?;
        self.set.job(job).map(|job| job_values(job))
    }

    /// Records an operator's action on one job. Actions on anything else write their line themselves.
    pub(crate) fn audit_job_action(
        &mut self,
        envelope: &CommandEnvelope,
        before: Option<Value>,
        output: &CommandOutput,
    ) {
        let CommandOutput::Job { job, replayed: false, .. } = output else { return };
        if !envelope.by.actor.oversees() {
            return;
        }
        let reason = match &envelope.command {
            Command::Cancel(cancel) => cancel.reason.as_deref(),
            Command::DeadLetter { detail, .. } => Some(detail.as_str()),
            Command::Signal { name, .. } => Some(name.as_str()),
            Command::Retry(_) | Command::Amend(_) => None,
            Command::Delete { reason, .. } => reason.as_deref(),
            // A rule may add its own audit line; this one names the operator.
            Command::Report(report) if report.holder.is_none() => None,
            _ => return,
        };
        let is_gone = matches!(envelope.command, Command::Delete { .. });
        let after = if is_gone { Value::Null } else { job_values(job) };
        let change = ValueChange::new(before.unwrap_or_default(), after);
        let (action, id) = (envelope.command.verb(), envelope.command.job());
        self.push_audit(&envelope.by, action, id, reason, &change);
    }

    /// Records an action on something that is not a job; `detail` names it.
    pub(crate) fn audit(&mut self, by: &CommandOrigin, action: &str, detail: &str, change: &ValueChange) {
        self.push_audit(by, action, None, Some(detail), change);
    }

    pub(crate) fn push_audit(
        &mut self,
        by: &CommandOrigin,
        action: &str,
        job_id: Option<JobId>,
        reason: Option<&str>,
        change: &ValueChange,
    ) {
        self.set.changes.appended.audit.push(AuditLine {
            ts: self.now.at,
            action: action.into(),
            actor: by.actor.clone(),
            job_id,
            reason: reason.map(str::to_owned),
            details: Some(change.details(by.credential.as_ref())),
        });
    }

    /// Records a transition whose rule asks for it.
    pub(crate) fn audit_transition(&mut self, action: &Name, event: &Event) {
        let error = event.facts.error.as_ref().map(|error| error.text());
        let reason = error.or_else(|| event.cause.as_ref().map(ToString::to_string));
        let change = ValueChange::new(json!({ "state": event.from }), json!({ "state": event.to }));
        self.set.changes.appended.audit.push(AuditLine {
            ts: event.ts,
            action: action.clone(),
            actor: event.actor.clone(),
            job_id: Some(event.job_id),
            reason,
            details: Some(change.details(event.facts.credential.as_ref())),
        });
    }
}
