//! `tenure schedule …`.

use clap::{Args as ClapArgs, Subcommand};

#[derive(Subcommand)]
#[command(before_help = "Examples:
  tenure schedule create --id nightly '30 2 * * *' resize --timezone Europe/Berlin
  tenure schedule list")]
pub(crate) enum ScheduleCommand {
    /// List schedules and their next times
    #[command(before_help = "Examples:
  tenure schedule list
  tenure schedule list -o wide")]
    List,
    /// Create a schedule, which creates a job at each of its times
    #[command(before_help = "Examples:
  tenure schedule create --id nightly '30 2 * * *' resize --timezone Europe/Berlin
  tenure schedule create '*/5 9-17 * * MON-FRI' import -p '{\"all\": true}' --overlap skip

CRON has five fields: minute, hour, day of the month, month, day of the week.")]
    Create(Box<ScheduleCreateArgs>),
    /// Stop creating jobs until the schedule is resumed
    #[command(before_help = "Examples:
  tenure schedule pause nightly")]
    Pause(ScheduleIdArgs),
    /// Resume a paused schedule at its next time
    #[command(before_help = "Examples:
  tenure schedule resume nightly")]
    Resume(ScheduleIdArgs),
    /// Delete a schedule; its jobs are kept
    #[command(before_help = "Examples:
  tenure schedule delete nightly")]
    Delete(ScheduleIdArgs),
}

#[derive(ClapArgs)]
pub(crate) struct ScheduleCreateArgs {
    /// Cron expression with five fields
    pub(crate) cron: String,
    /// Type of the jobs
    #[arg(value_name = "TYPE")]
    pub(crate) job_type: String,
    /// Id of the schedule [default: generated]
    #[arg(long)]
    pub(crate) id: Option<String>,
    /// Time zone of the cron expression
    #[arg(long, value_name = "ZONE", default_value = "UTC")]
    pub(crate) timezone: String,
    /// Payload of the jobs: JSON, @FILE, or - for stdin
    #[arg(short, long, value_name = "JSON", allow_hyphen_values = true)]
    pub(crate) payload: Option<String>,
    /// Owner of the jobs
    #[arg(long)]
    pub(crate) user: Option<String>,
    /// Queue of the jobs [default: the type's]
    #[arg(long)]
    pub(crate) queue: Option<String>,
    /// Priority of the jobs; higher is claimed first [default: the type's]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub(crate) priority: Option<i32>,
    /// Maximum number of attempts [default: the type's]
    #[arg(long, value_name = "N")]
    pub(crate) max_attempts: Option<u32>,
    /// Lifecycle of the jobs, for the catch-all type
    #[arg(long, value_name = "NAME")]
    pub(crate) lifecycle: Option<String>,
    /// For times missed during downtime: create no job, one job, or all jobs
    #[arg(long, value_name = "POLICY", default_value = "once", value_parser = ["skip", "once", "all"])]
    pub(crate) misfire: String,
    /// When the previous job is unfinished: create another job or skip this time
    #[arg(long, value_name = "POLICY", default_value = "allow", value_parser = ["allow", "skip"])]
    pub(crate) overlap: String,
}

#[derive(ClapArgs)]
pub(crate) struct ScheduleIdArgs {
    /// Id of the schedule, as shown by `tenure schedule list`
    pub(crate) id: String,
}
