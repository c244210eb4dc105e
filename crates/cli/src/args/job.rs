//! `tenure job …`, and arguments that `run`, `dead` and `events` share with it.

use clap::{Args as ClapArgs, Subcommand};
use tenure_core::time::{Millis, Timestamp};

#[derive(Subcommand)]
pub(crate) enum JobCommand {
    /// Create a job
    Create(NewJobArgs),
    /// List jobs, newest first
    List {
        /// Query, such as state:failed,dead type:image error:TIMEOUT payload.order:42 since:2h
        #[arg(value_name = "QUERY")]
        query: Vec<String>,
        #[command(flatten)]
        filter: JobFilter,
        #[command(flatten)]
        page: PageArgs,
    },
    /// Show a job
    Get(JobArgs),
    /// Show the history of a job
    Events {
        /// Id of the job, or a unique prefix
        job: String,
        /// Include heartbeats, lease renewals and progress
        #[arg(long)]
        telemetry: bool,
    },
    /// Rebuild a job from its events, optionally as it was earlier
    Replay {
        /// Id of the job, or a unique prefix
        job: String,
        /// Stop after this many transitions [default: all]
        #[arg(long, value_name = "N")]
        seq: Option<u32>,
    },
    /// Print the log of a job
    Logs {
        /// Id of the job, or a unique prefix
        job: String,
        /// Follow the log until the job has finished
        #[arg(short, long)]
        follow: bool,
        /// Only lines after this line number
        #[arg(long, value_name = "N", default_value_t = 0, conflicts_with = "follow")]
        after: u64,
    },
    /// List the assets of a job, newest first
    Assets(JobArgs),
    /// Cancel jobs: their workers are asked to stop; with --hard, the jobs end now
    Cancel {
        #[command(flatten)]
        target: TargetArgs,
        /// Cancel at once and revoke the worker's lease
        #[arg(long)]
        hard: bool,
        /// Reason, recorded in the history
        #[arg(long, value_name = "TEXT", conflicts_with_all = ["filters", "all"])]
        reason: Option<String>,
    },
    /// Create a new job like each of these finished ones
    Retry(TargetArgs),
    /// Delete finished jobs with their events, logs, assets and dead letters
    Delete(TargetArgs),
    /// Change the payload, priority or time of a job that no worker holds
    Edit(EditArgs),
    /// Wait until a job has finished
    Wait {
        /// Id of the job, or a unique prefix
        job: String,
        /// Give up after this time, such as 30s [default: never]
        #[arg(long, value_name = "DURATION", value_parser = duration)]
        timeout: Option<Millis>,
    },
    /// Move a job to the dead letters
    DeadLetter {
        /// Id of the job, or a unique prefix
        job: String,
        /// Reason code, by which dead letters are grouped
        #[arg(long, value_name = "CODE")]
        reason_code: String,
        /// Description of the reason
        #[arg(long, value_name = "TEXT", default_value = "")]
        detail: String,
    },
    /// Send a signal that the job's lifecycle declares
    Signal {
        /// Id of the job, or a unique prefix
        job: String,
        /// Name of the signal
        name: String,
        /// Payload of the signal: JSON, @FILE, or - for stdin
        #[arg(short, long, value_name = "JSON|@FILE|-")]
        payload: Option<String>,
    },
}

#[derive(ClapArgs)]
pub(crate) struct JobArgs {
    /// Id of the job, or a unique prefix
    pub(crate) job: String,
}

#[derive(ClapArgs)]
#[command(group = clap::ArgGroup::new("values").required(true).multiple(true))]
pub(crate) struct EditArgs {
    /// Id of the job, or a unique prefix
    pub(crate) job: String,
    /// New payload: JSON, @FILE, or - for stdin
    #[arg(short, long, value_name = "JSON|@FILE|-", group = "values")]
    pub(crate) payload: Option<String>,
    /// New priority; higher is claimed first
    #[arg(long, allow_negative_numbers = true, group = "values")]
    pub(crate) priority: Option<i32>,
    /// New earliest time, such as 2026-11-16T12:00:00Z, or a duration from now, such as 1h
    #[arg(long, value_name = "TIME", value_parser = time, group = "values")]
    pub(crate) run_at: Option<TimeArg>,
    /// Change it only if its seq is this number
    #[arg(long, value_name = "SEQ")]
    pub(crate) if_match: Option<u64>,
}

/// One job, or all that match.
#[derive(ClapArgs)]
pub(crate) struct TargetArgs {
    /// Id of the job, or a unique prefix
    #[arg(required_unless_present_any = ["filters", "all"], conflicts_with_all = ["filters", "all"])]
    pub(crate) job: Option<String>,
    /// Every job that matches, such as type=resize or `created_before=30d`; several must all match
    #[arg(long = "filter", value_name = "NAME=VALUE", value_parser = pair)]
    pub(crate) filters: Vec<(String, String)>,
    /// Every job
    #[arg(long, conflicts_with = "filters")]
    pub(crate) all: bool,
    /// Only count the jobs that match
    #[arg(long, conflicts_with = "job")]
    pub(crate) dry_run: bool,
    /// Do not ask; without a terminal nothing is asked
    #[arg(short, long, conflicts_with = "job")]
    pub(crate) yes: bool,
}

#[derive(ClapArgs)]
pub(crate) struct NewJobArgs {
    /// Type of the job
    #[arg(value_name = "TYPE")]
    pub(crate) job_type: String,
    /// Payload: JSON, @FILE, or - for stdin [default: {}]
    #[arg(short, long, value_name = "JSON|@FILE|-")]
    pub(crate) payload: Option<String>,
    /// Return the existing job if one was created with the same key
    #[arg(long, value_name = "KEY")]
    pub(crate) idempotency_key: Option<String>,
    /// Owner of the job
    #[arg(long)]
    pub(crate) user: Option<String>,
    /// Queue [default: the type's]
    #[arg(long)]
    pub(crate) queue: Option<String>,
    /// Lifecycle, if the type does not define one
    #[arg(long, value_name = "NAME")]
    pub(crate) lifecycle: Option<String>,
    /// Priority; higher is claimed first
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) priority: Option<i32>,
    /// Time to wait before the job can be claimed, such as 10s or 1h
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub(crate) delay: Option<Millis>,
    /// Maximum number of attempts
    #[arg(long, value_name = "N")]
    pub(crate) max_attempts: Option<u32>,
    /// Correlation id, passed on to the worker and to every event
    #[arg(long, value_name = "ID")]
    pub(crate) correlation_id: Option<String>,
}

#[derive(ClapArgs, Default)]
pub(crate) struct JobFilter {
    /// In this state
    #[arg(long)]
    pub(crate) state: Option<String>,
    /// In this phase: ready, held, active, waiting, final
    #[arg(long)]
    pub(crate) phase: Option<String>,
    /// With this outcome: succeeded, partial, failed, cancelled, rejected, dead
    #[arg(long)]
    pub(crate) outcome: Option<String>,
    /// With this lifecycle
    #[arg(long, value_name = "NAME")]
    pub(crate) lifecycle: Option<String>,
    /// Of this type
    #[arg(long = "type", value_name = "TYPE")]
    pub(crate) job_type: Option<String>,
    /// In this queue
    #[arg(long)]
    pub(crate) queue: Option<String>,
    /// Of this user
    #[arg(long)]
    pub(crate) user: Option<String>,
    /// Held by this worker
    #[arg(long)]
    pub(crate) worker: Option<String>,
    /// With this correlation id
    #[arg(long, value_name = "ID")]
    pub(crate) correlation_id: Option<String>,
    /// Created by a retry of this job
    #[arg(long, value_name = "JOB")]
    pub(crate) retry_of: Option<String>,
    /// Created after this time (RFC 3339), or within this duration (1h)
    #[arg(long, value_name = "TIME|DURATION", value_parser = time)]
    pub(crate) since: Option<TimeArg>,
    /// Created before this time (RFC 3339), or longer ago than this duration (1h)
    #[arg(long, value_name = "TIME|DURATION", value_parser = time)]
    pub(crate) until: Option<TimeArg>,
}

#[derive(ClapArgs)]
pub(crate) struct PageArgs {
    /// Maximum number of rows
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
    pub(crate) limit: usize,
    /// Continue a previous list at its cursor
    #[arg(long)]
    pub(crate) cursor: Option<String>,
}

#[derive(ClapArgs)]
pub(crate) struct EventsArgs {
    /// Follow the journal until interrupted
    #[arg(short, long)]
    pub(crate) follow: bool,
    /// Start after this cursor
    #[arg(long, value_name = "CURSOR")]
    pub(crate) after: Option<String>,
    /// Maximum number of events
    #[arg(short = 'n', long, value_name = "N", default_value_t = 100, conflicts_with = "follow")]
    pub(crate) limit: usize,
    /// Of this type, such as `job_failed`
    #[arg(long = "type", value_name = "TYPE")]
    pub(crate) event_type: Option<String>,
    /// Of jobs with this lifecycle
    #[arg(long, value_name = "NAME")]
    pub(crate) lifecycle: Option<String>,
    /// Of this job
    #[arg(long)]
    pub(crate) job: Option<String>,
    /// Of jobs with this correlation id
    #[arg(long, value_name = "ID")]
    pub(crate) correlation_id: Option<String>,
    /// Of this user's jobs
    #[arg(long)]
    pub(crate) user: Option<String>,
}

/// A point in time, absolute or relative to now.
#[derive(Clone, Copy, Debug)]
pub(crate) enum TimeArg {
    At(Timestamp),
    /// Before now in a filter, after now in a new time.
    Span(Millis),
}

pub(crate) fn time(text: &str) -> Result<TimeArg, String> {
    let at = Timestamp::parse(text).map(TimeArg::At);
    at.or_else(|| Millis::parse(text).map(TimeArg::Span))
        .ok_or_else(|| "expected a time such as 2026-11-16T12:00:00Z or a duration such as 1h".to_owned())
}

fn pair(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE, such as type=resize")?;
    Ok((name.to_owned(), value.to_owned()))
}

pub(super) fn duration(text: &str) -> Result<Millis, String> {
    Millis::parse(text).ok_or_else(|| "expected a duration such as 500ms, 30s, 5m or 1h".to_owned())
}
