//! Schedules: jobs created at calendar times. The runtime computes the times; `decide` ensures that each time creates one
//! job, whichever node fires it.

use serde::{Deserialize, Serialize};

use crate::command::Create;
use crate::id::{Actor, JobId, LifecycleName, Name, QueueName, TypeName, UserId};
use crate::json::Json;
use crate::refusal::Refusal;
use crate::time::Timestamp;

/// Policy for times that passed while no node ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Misfire {
    /// No job is created.
    Skip,
    /// One job for all of them.
    #[default]
    Once,
    /// A job for each, the last [`crate::limits::MISFIRES_MAX`] at most.
    All,
}

/// Policy for a time at which the previous job is unfinished.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Overlap {
    /// Another job is created.
    #[default]
    Allow,
    /// No job is created.
    Skip,
}

/// The job that a schedule creates.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Template {
    #[serde(rename = "type")]
    pub job_type: TypeName,
    pub payload: Json,
    /// Only for the catch-all type.
    pub lifecycle: Option<LifecycleName>,
    pub user_id: Option<UserId>,
    pub queue: Option<QueueName>,
    pub priority: Option<i32>,
    pub max_attempts: Option<u32>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// Five fields: minute, hour, day of the month, month, day of the week.
    pub cron: String,
    pub timezone: Name,
    pub job: Template,
    pub misfire: Misfire,
    pub overlap: Overlap,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schedule {
    pub id: Name,
    pub plan: Plan,
    pub created_at: Timestamp,
    pub created_by: Actor,
    /// `None` while it is paused.
    pub next_at: Option<Timestamp>,
    pub last_at: Option<Timestamp>,
    pub last_job: Option<JobId>,
    /// Why the last time created no job.
    pub last_error: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewSchedule {
    pub id: Name,
    pub plan: Plan,
    pub next_at: Timestamp,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ScheduleChange {
    Pause,
    /// Resumes at this time. Times that passed meanwhile create no jobs.
    Resume(Timestamp),
    /// A new plan, and its first time. A paused schedule stays paused.
    Replace(Box<Plan>, Timestamp),
    /// Its job, besides its times.
    Run(Box<RunNow>),
    /// Its jobs stay.
    Remove,
}

impl ScheduleChange {
    /// The verb in idempotency scopes.
    pub(crate) fn verb(&self) -> &'static str {
        match self {
            Self::Pause => "pause",
            Self::Resume(_) => "resume",
            Self::Replace(..) => "replace",
            Self::Run(_) => "run",
            Self::Remove => "remove",
        }
    }
}

/// A job of a schedule that an operator asks for.
#[derive(Clone, Debug, PartialEq)]
pub struct RunNow {
    /// The last job as it was read, so that it is loaded too.
    pub last_job: Option<JobId>,
    pub job: Box<Create>,
}

/// A due time of a schedule.
#[derive(Clone, Debug, PartialEq)]
pub struct Fire {
    pub schedule: Name,
    /// `next_at` as it was read: if it differs now, another node has fired.
    pub due_at: Timestamp,
    /// The last job as it was read, so that it is loaded too.
    pub last_job: Option<JobId>,
    pub next_at: Timestamp,
    /// The time and the job, or why the job is not admitted. `None`: missed times are skipped.
    pub occurrence: Option<(Timestamp, Result<Box<Create>, Refusal>)>,
}
