//! `tenure schedule …` and `tenure webhook …`.

use clap::{Args as ClapArgs, Subcommand};

#[derive(Subcommand)]
pub(crate) enum ScheduleCommand {
    /// List schedules and their next times
    List,
    /// Create a schedule, which creates a job at each of its times
    Create(Box<ScheduleCreateArgs>),
    /// Replace the times, the job and the policies of a schedule
    Replace(Box<ScheduleReplaceArgs>),
    /// Create the job of a schedule now; its times stay
    Run(ScheduleIdArgs),
    /// Stop creating jobs until the schedule is resumed
    Pause(ScheduleIdArgs),
    /// Resume a paused schedule at its next time
    Resume(ScheduleIdArgs),
    /// Delete a schedule; its jobs are kept
    Delete(ScheduleIdArgs),
}

#[derive(ClapArgs)]
pub(crate) struct ScheduleCreateArgs {
    #[command(flatten)]
    pub(crate) plan: SchedulePlanArgs,
    /// Id of the schedule [default: generated]
    #[arg(long)]
    pub(crate) id: Option<String>,
}

#[derive(ClapArgs)]
pub(crate) struct ScheduleReplaceArgs {
    /// Id of the schedule, as shown by `tenure schedule list`
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) plan: SchedulePlanArgs,
}

#[derive(ClapArgs)]
pub(crate) struct SchedulePlanArgs {
    /// Cron expression with five fields
    pub(crate) cron: String,
    /// Type of the jobs
    #[arg(value_name = "TYPE")]
    pub(crate) job_type: String,
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

#[derive(Subcommand)]
pub(crate) enum WebhookCommand {
    /// List webhooks and the status of their deliveries
    List,
    /// Create a webhook and print its secret, which is shown only once
    Create {
        /// Address that events are sent to
        url: String,
        /// Id of the webhook [default: generated]
        #[arg(long)]
        id: Option<String>,
        /// Only events of jobs of this type
        #[arg(long = "type", value_name = "TYPE")]
        job_type: Option<String>,
        /// Only events of jobs with this lifecycle
        #[arg(long, value_name = "NAME")]
        lifecycle: Option<String>,
        /// Only events of this type
        #[arg(long)]
        event: Option<String>,
        /// Only events of this user's jobs
        #[arg(long)]
        user: Option<String>,
    },
    /// Stop deliveries until the webhook is enabled
    Disable(WebhookIdArgs),
    /// Send events again, in order
    Replay {
        #[command(flatten)]
        webhook: WebhookIdArgs,
        /// From this long ago on
        #[arg(long, value_name = "DURATION", required_unless_present = "after")]
        since: Option<String>,
        /// After this position of the journal
        #[arg(long, value_name = "POSITION", conflicts_with = "since")]
        after: Option<u64>,
    },
    /// Resume deliveries of a disabled webhook where they stopped
    Enable(WebhookIdArgs),
    /// Delete a webhook
    Delete(WebhookIdArgs),
}

#[derive(ClapArgs)]
pub(crate) struct WebhookIdArgs {
    /// Id of the webhook, as shown by `tenure webhook list`
    pub(crate) id: String,
}
