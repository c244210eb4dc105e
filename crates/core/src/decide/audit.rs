//! The audit log: what operators and admins did.

use crate::command::{Command, CommandEnvelope};
use crate::decide::{CommandOutput, DecisionContext};
use crate::event::AuditLine;
use crate::id::{Actor, JobId};

impl DecisionContext<'_> {
    /// Records an operator's action on one job. Actions on anything else write their line themselves.
    pub(crate) fn audit_job_action(&mut self, envelope: &CommandEnvelope, output: &CommandOutput) {
        let is_new = matches!(output, CommandOutput::Job { replayed: false, .. });
        if !envelope.by.oversees() || !is_new {
            return;
        }
        let reason = match &envelope.command {
            Command::Cancel(cancel) => cancel.reason.as_deref(),
            Command::DeadLetter { detail, .. } => Some(detail.as_str()),
            Command::Signal { name, .. } => Some(name.as_str()),
            Command::Retry(_) => None,
            // A rule may add its own audit line; this one names the operator.
            Command::Report(report) if report.holder.is_none() => None,
            _ => return,
        };
        self.push_audit(&envelope.by, envelope.command.verb(), envelope.command.job(), reason);
    }

    /// Records an action on something that is not a job; `detail` names it.
    pub(crate) fn audit(&mut self, by: &Actor, action: &str, detail: &str) {
        self.push_audit(by, action, None, Some(detail));
    }

    pub(crate) fn push_audit(
        &mut self,
        by: &Actor,
        action: &str,
        job_id: Option<JobId>,
        reason: Option<&str>,
    ) {
        let (ts, actor, reason) = (self.now.at, by.clone(), reason.map(str::to_owned));
        self.set.changes.appended.audit.push(AuditLine { ts, action: action.into(), actor, job_id, reason });
    }
}
