//! `schedule`.

use clap::{Args as ClapArgs, Subcommand};

/// `tenure schedule …`.
#[derive(Subcommand)]
#[command(before_help = "Examples:
  tenure schedule create --id nightly '30 2 * * *' resize --timezone Europe/Berlin
  tenure schedule list")]
pub(crate) enum ScheduleCommand {
    /// List schedules and when they fire next
    #[command(before_help = "Examples:
  tenure schedule list
  tenure schedule list -o wide")]
    List,
    /// Create a schedule: at each of its times a job
    #[command(before_help = "Examples:
  tenure schedule create --id nightly '30 2 * * *' resize --timezone Europe/Berlin
  tenure schedule create '*/5 9-17 * * MON-FRI' import -p '{\"all\": true}' --overlap skip

The expression has five fields: minute, hour, day of the month, month, day of the week.")]
    Create(Box<ScheduleCreate>),
    /// Make no more jobs until it is resumed
    #[command(before_help = "Examples:
  tenure schedule pause nightly")]
    Pause(ScheduleId),
    /// Go on at its next time
    #[command(before_help = "Examples:
  tenure schedule resume nightly")]
    Resume(ScheduleId),
    /// Forget a schedule; its jobs stay
    #[command(before_help = "Examples:
  tenure schedule delete nightly")]
    Delete(ScheduleId),
}

/// `tenure schedule create`.
#[derive(ClapArgs)]
pub(crate) struct ScheduleCreate {
    /// When: five fields
    #[arg(value_name = "CRON")]
    pub(crate) cron: String,
    /// What kind of work
    #[arg(value_name = "TYPE")]
    pub(crate) job_type: String,
    /// Its name; one is made if this is left out
    #[arg(long, value_name = "ID")]
    pub(crate) id: Option<String>,
    /// The time zone of the expression
    #[arg(long, value_name = "ZONE", default_value = "UTC")]
    pub(crate) timezone: String,
    /// The work: JSON, @FILE, or - for stdin
    #[arg(short, long, value_name = "JSON", allow_hyphen_values = true)]
    pub(crate) payload: Option<String>,
    /// Whose jobs
    #[arg(long, value_name = "USER")]
    pub(crate) user: Option<String>,
    /// Where they wait, instead of the type's
    #[arg(long, value_name = "QUEUE")]
    pub(crate) queue: Option<String>,
    /// Higher is claimed first, instead of the type's
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub(crate) priority: Option<i32>,
    /// Attempts, instead of the type's
    #[arg(long, value_name = "N")]
    pub(crate) max_attempts: Option<u32>,
    /// The lifecycle to follow, for the catch-all type
    #[arg(long, value_name = "NAME")]
    pub(crate) lifecycle: Option<String>,
    /// What becomes of times that were missed: skip, once, all
    #[arg(long, value_name = "POLICY", default_value = "once", value_parser = ["skip", "once", "all"])]
    pub(crate) misfire: String,
    /// What happens while its last job is unfinished: allow, skip
    #[arg(long, value_name = "POLICY", default_value = "allow", value_parser = ["allow", "skip"])]
    pub(crate) overlap: String,
}

/// A command on one schedule.
#[derive(ClapArgs)]
pub(crate) struct ScheduleId {
    /// Its id, as `schedule list` shows it
    #[arg(value_name = "ID")]
    pub(crate) id: String,
}
