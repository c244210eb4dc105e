//! Schedules: jobs that are made at times of the calendar. When those times come is computed outside and handed in, like
//! all time; that each makes one job, whichever node fires it, is decided here.

use serde::{Deserialize, Serialize};

use crate::command::Create;
use crate::id::{Actor, JobId, LifecycleName, Name, QueueName, TypeName, UserId};
use crate::json::Json;
use crate::refusal::Refusal;
use crate::time::Timestamp;

/// What becomes of times that passed while no node ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Misfire {
    /// They are let go.
    Skip,
    /// One job stands for all of them.
    #[default]
    Once,
    /// A job for each, the last [`crate::limits::MISFIRES_MAX`] at most.
    All,
}

/// What happens at a time when the job of the one before is unfinished.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Overlap {
    /// Another job is made.
    #[default]
    Allow,
    /// None is.
    Skip,
}

/// The job that a schedule makes each time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Template {
    /// What kind of work.
    #[serde(rename = "type")]
    pub job_type: TypeName,
    /// The work.
    pub payload: Json,
    /// Only for the catch-all type.
    pub lifecycle: Option<LifecycleName>,
    /// Whose.
    pub user_id: Option<UserId>,
    /// Instead of the type's.
    pub queue: Option<QueueName>,
    /// Instead of the type's.
    pub priority: Option<i32>,
    /// Instead of the type's.
    pub max_attempts: Option<u32>,
}

/// When, and what.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// Five fields: minute, hour, day of the month, month, day of the week.
    pub cron: String,
    /// The time zone in which they are meant.
    pub timezone: Name,
    /// What is made.
    pub job: Template,
    /// What becomes of missed times.
    pub misfire: Misfire,
    /// What happens while the last job is unfinished.
    pub overlap: Overlap,
}

/// A schedule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schedule {
    /// Its name.
    pub id: Name,
    /// When, and what.
    pub plan: Plan,
    /// When it was made.
    pub created_at: Timestamp,
    /// By whom.
    pub created_by: Actor,
    /// When it fires next; not at all while it is paused.
    pub next_at: Option<Timestamp>,
    /// For which time it fired last.
    pub last_at: Option<Timestamp>,
    /// The last job that it made.
    pub last_job: Option<JobId>,
    /// Why it made none the last time.
    pub last_error: Option<String>,
}

/// A schedule that is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewSchedule {
    /// Its name.
    pub id: Name,
    /// When, and what.
    pub plan: Plan,
    /// When it fires first.
    pub next_at: Timestamp,
}

/// What an operator does to a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScheduleChange {
    /// It fires no more until it is resumed.
    Pause,
    /// It goes on, at this time. What would have been meanwhile is not made up for.
    Resume(Timestamp),
    /// It is forgotten; its jobs stay.
    Remove,
}

/// A schedule's time has come.
#[derive(Clone, Debug, PartialEq)]
pub struct Fire {
    /// Which.
    pub schedule: Name,
    /// Its `next_at` as it was read: if it is another by now, somebody else has fired.
    pub due_at: Timestamp,
    /// Its last job as it was read, so that it is looked at, too.
    pub last_job: Option<JobId>,
    /// When it fires after this.
    pub next_at: Timestamp,
    /// For which time, and the job or why it is not admitted. None: what was missed is let go.
    pub occurrence: Option<(Timestamp, Result<Box<Create>, Refusal>)>,
}
