//! The intake: requests that applications commit in SQL, and what becomes of those that create no job.

use serde::{Deserialize, Serialize};

use crate::command::{Command, CommandEnvelope, Create};
use crate::command_origin::CommandOrigin;
use crate::id::{JobId, Name, QueueName, TypeName, UserId};
use crate::json::Json;
use crate::lifecycle::Trigger;
use crate::refusal::Refusal;
use crate::time::Timestamp;

/// The event of a refused request. It has no number.
pub const JOB_REFUSED: &str = "job_refused";

/// The place of a request in the store's own table. Its order is that in which requests are taken in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IntakePlace {
    /// The transaction that committed it.
    pub transaction: i64,
    /// Grows with each call.
    pub number: i64,
}

/// A committed request, judged together with others in one command.
#[derive(Clone, Debug, PartialEq)]
pub struct IntakeRequest {
    /// Removed from the store's table in the same commit; `None` for a request from another database, which the record of its id
    /// keeps from being judged twice.
    pub place: Option<IntakePlace>,
    /// The job: a new one, or the one to cancel or to signal.
    pub job: JobId,
    /// Identifies a cancel or a signal from another database. That of a creation is the job.
    pub receipt: JobId,
    pub by: CommandOrigin,
    pub requested_at: Timestamp,
    pub action: IntakeAction,
}

#[derive(Clone, Debug, PartialEq)]
pub enum IntakeAction {
    Create {
        job_type: TypeName,
        queue: Option<QueueName>,
        user_id: Option<UserId>,
        correlation_id: Option<Name>,
        /// Checked against its type, or the refusal of that check.
        create: Result<Box<Create>, Refusal>,
    },
    /// A cancel or a signal.
    Act { trigger: Trigger, command: Result<Box<Command>, Refusal> },
}

impl IntakeRequest {
    /// The command that is decided, unless it was refused before.
    pub fn envelope(&self) -> Result<CommandEnvelope, Refusal> {
        let command = match &self.action {
            IntakeAction::Create { create, .. } => Command::Create(create.clone()?),
            IntakeAction::Act { command, .. } => *command.clone()?,
        };
        Ok(CommandEnvelope { by: self.by.clone(), key: None, command })
    }
}

/// What became of a request that created no job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IntakeRecord {
    pub id: JobId,
    #[serde(rename = "type")]
    pub job_type: TypeName,
    pub queue: Option<QueueName>,
    pub user_id: Option<UserId>,
    pub correlation_id: Option<Name>,
    pub requested_at: Timestamp,
    pub judged_at: Timestamp,
    pub keep_until: Timestamp,
    pub outcome: IntakeOutcome,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IntakeOutcome {
    /// `{ code, detail, errors }` of the problem.
    Refused(Json),
    /// Idempotency or `unique` answered with this job.
    Merged(JobId),
    /// A cancel or a signal of another database, or one that was refused: recorded, but not shown.
    Acted,
}

impl IntakeRecord {
    /// Whether it is listed as a refused job.
    pub fn is_refused_job(&self) -> bool {
        matches!(self.outcome, IntakeOutcome::Refused(_))
    }
}

/// A request in the intake, as it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingRequest {
    pub id: JobId,
    pub job_type: TypeName,
    pub queue: Option<QueueName>,
    pub user_id: Option<UserId>,
    pub correlation_id: Option<Name>,
    pub requested_at: Timestamp,
}
