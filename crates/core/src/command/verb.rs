//! The name of each command, and the job that it acts on.

use super::{Command, Verb};
use crate::id::JobId;

impl Command {
    /// The verb in idempotency scopes and metrics.
    pub fn verb(&self) -> &'static str {
        match self {
            Self::Create(_) => "create",
            Self::Claim(_) => "claim",
            Self::Report(report) => match report.verb {
                Verb::Start => "start",
                Verb::Succeed { .. } => "succeed",
                Verb::Partial { .. } => "partial",
                Verb::Fail { .. } => "fail",
                Verb::Reject { .. } => "reject",
                Verb::Release { .. } => "release",
                Verb::CancelConfirm { .. } => "cancel-confirm",
            },
            Self::Heartbeat(_) => "heartbeat",
            Self::Progress { .. } => "progress",
            Self::Log(_) => "log",
            Self::Upload(_) => "upload",
            Self::AddAsset(_) => "add-asset",
            Self::ForgetGarbage(_) => "forget-garbage",
            Self::Cancel(_) => "cancel",
            Self::TakeIn(_) => "take-in",
            Self::DeadLetter { .. } => "dead-letter",
            Self::Signal { .. } => "signal",
            Self::Retry(_) => "retry",
            Self::Amend(_) => "amend",
            Self::Delete { .. } => "delete",
            Self::Erase(_) => "erase",
            Self::DeleteErased { .. } => "delete-erased",
            Self::FinishErasure(_) => "finish-erasure",
            Self::Disconnect(_) => "disconnect",
            Self::DismissDeadLetter { .. } => "dismiss",
            Self::PauseQueue { .. } => "pause",
            Self::DeclareFlow(_) => "declare-flow",
            Self::ChangeResource { change, .. } => change.verb(),
            Self::ResumeSequence(_) => "resume-sequence",
            Self::GrantCredits { .. } => "grant",
            Self::RegisterLifecycle { .. } => "register",
            Self::RecordConfiguration(_) => "configure",
            Self::AddKey(_) => "add-key",
            Self::RotateKey(_) => "rotate-key",
            Self::RevokeKey(_) => "revoke-key",
            Self::KeysUsed(_) => "keys-used",
            Self::BeginSession(_) => "begin-session",
            Self::EndSession(_) => "end-session",
            Self::AddSchedule(_) => "add-schedule",
            Self::ChangeSchedule { .. } => "change-schedule",
            Self::Fire(_) => "fire",
            Self::AddWebhook(_) => "add-webhook",
            Self::ChangeWebhook { .. } => "change-webhook",
            Self::WorkersSeen(_) => "seen",
            Self::NodeHeartbeat(_) => "seen-node",
            Self::AddStatistics(_) => "statistics",
            Self::BindWorkerConnection { .. } => "bind-worker-connection",
            Self::KeyRequest { .. } => "key-request",
            Self::Sweep(_) => "sweep",
            Self::Purge(_) => "purge",
            Self::Prune => "prune",
        }
    }

    /// The existing job that the command acts on.
    pub fn job(&self) -> Option<JobId> {
        match self {
            Self::Report(report) => Some(report.job),
            Self::Heartbeat(hold) | Self::Progress { hold, .. } | Self::Disconnect(hold) => Some(hold.job),
            Self::Log(log) => Some(log.job),
            Self::Upload(upload) => Some(upload.job),
            Self::AddAsset(new) => Some(new.job),
            Self::Cancel(cancel) => Some(cancel.job),
            Self::Retry(retry) => Some(retry.job),
            Self::Amend(amend) => Some(amend.job),
            Self::Fire(fire) => fire.last_job,
            Self::DeadLetter { job, .. }
            | Self::Signal { job, .. }
            | Self::Delete { job, .. }
            | Self::DeleteErased { job, .. }
            | Self::DismissDeadLetter { job, .. }
            | Self::Sweep(job)
            | Self::Purge(job) => Some(*job),
            Self::Create(_)
            | Self::TakeIn(_)
            | Self::Claim(_)
            | Self::PauseQueue { .. }
            | Self::DeclareFlow(_)
            | Self::ChangeResource { .. }
            | Self::ResumeSequence(_)
            | Self::GrantCredits { .. }
            | Self::Erase(_)
            | Self::FinishErasure(_)
            | Self::RegisterLifecycle { .. }
            | Self::RecordConfiguration(_)
            | Self::AddKey(_)
            | Self::RotateKey(_)
            | Self::RevokeKey(_)
            | Self::KeysUsed(_)
            | Self::BeginSession(_)
            | Self::EndSession(_)
            | Self::AddSchedule(_)
            | Self::ChangeSchedule { .. }
            | Self::AddWebhook(_)
            | Self::ChangeWebhook { .. }
            | Self::WorkersSeen(_)
            | Self::NodeHeartbeat(_)
            | Self::AddStatistics(_)
            | Self::BindWorkerConnection { .. }
            | Self::KeyRequest { .. }
            | Self::ForgetGarbage(_)
            | Self::Prune => None,
        }
    }
}
