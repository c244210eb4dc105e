//! `tenure job …`, and what `run` and `events` share with it.

use clap::{Args as ClapArgs, Subcommand};
use tenure_core::time::{Millis, Timestamp};

/// `tenure job …`.
#[derive(Subcommand)]
#[command(before_help = "Examples:
  tenure job create hello -p '{\"name\": \"Ada\"}'
  tenure job list --state queued
  tenure job get 01990c3a-7d2e

A job may be named by any beginning of its id that no other job has.")]
pub(crate) enum JobCommand {
    /// Create a job
    #[command(before_help = "Examples:
  tenure job create hello
  tenure job create resize -p '{\"width\": 640}' --delay 10s --idempotency-key order-42
  echo '{\"rows\": 3}' | tenure job create import -p - -o name")]
    Create(NewJob),
    /// List jobs, newest first
    #[command(before_help = "Examples:
  tenure job list
  tenure job list --state failed --type resize --since 1h
  tenure job list --outcome dead --limit 1000 -o name")]
    List(JobList),
    /// Show a job
    #[command(before_help = "Examples:
  tenure job get 01990c3a-7d2e
  tenure job get 01990c3a-7d2e -o json")]
    Get(One),
    /// Show what has happened to a job
    #[command(before_help = "Examples:
  tenure job events 01990c3a-7d2e
  tenure job events 01990c3a-7d2e --telemetry -o jsonl")]
    Events(History),
    /// Show a job as it was, folded from its events
    #[command(before_help = "Examples:
  tenure job replay 01990c3a-7d2e
  tenure job replay 01990c3a-7d2e --seq 1 -o json")]
    Replay(Replay),
    /// Print a job's log
    #[command(before_help = "Examples:
  tenure job logs 01990c3a-7d2e
  tenure job logs 01990c3a-7d2e -o wide
  tenure job logs -f 01990c3a-7d2e")]
    Logs(Logs),
    /// List what a job left behind, newest first
    #[command(before_help = "Examples:
  tenure job assets 01990c3a-7d2e
  tenure job assets 01990c3a-7d2e -o json")]
    Assets(One),
    /// Stop a job: its worker is told, and may finish; --hard stops it now
    #[command(before_help = "Examples:
  tenure job cancel 01990c3a-7d2e --hard --reason 'no longer needed'")]
    Cancel(Cancel),
    /// Create a new job like this finished one
    #[command(before_help = "Examples:
  tenure job retry 01990c3a-7d2e")]
    Retry(One),
    /// Wait for a job's end
    #[command(before_help = "Examples:
  tenure job wait 01990c3a-7d2e --timeout 30s

Exits with 0 if the job succeeded, with 3 if it ended otherwise, with 8 if it did not end in time.")]
    Wait(Wait),
    /// Give a job up
    #[command(before_help = "Examples:
  tenure job dead-letter 01990c3a-7d2e --reason-code policy_violation --detail 'seen by Ada'")]
    DeadLetter(Give),
    /// Send a signal that the job's lifecycle declares
    #[command(before_help = "Examples:
  tenure job signal 01990c3a-7d2e approve")]
    Signal(Signal),
}

/// A command on one job.
#[derive(ClapArgs)]
pub(crate) struct One {
    /// Its id, or a beginning of it
    #[arg(value_name = "JOB")]
    pub(crate) job: String,
}

/// A job to be created.
#[derive(ClapArgs)]
pub(crate) struct NewJob {
    /// Its type
    #[arg(value_name = "TYPE")]
    pub(crate) job_type: String,
    /// Its payload: JSON, @FILE, or - for stdin [default: {}]
    #[arg(short, long, value_name = "JSON|@FILE|-")]
    pub(crate) payload: Option<String>,
    /// The same key again finds the same job
    #[arg(long, value_name = "KEY")]
    pub(crate) idempotency_key: Option<String>,
    /// Its owner
    #[arg(long, value_name = "USER")]
    pub(crate) user: Option<String>,
    /// Its queue, instead of the type's
    #[arg(long, value_name = "QUEUE")]
    pub(crate) queue: Option<String>,
    /// Its lifecycle, where the type leaves it open
    #[arg(long, value_name = "NAME")]
    pub(crate) lifecycle: Option<String>,
    /// Higher is claimed first
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) priority: Option<i32>,
    /// Not before this much time has passed, such as 10s or 1h
    #[arg(long, value_name = "SPAN", value_parser = span)]
    pub(crate) delay: Option<Millis>,
    /// How many attempts it may have
    #[arg(long, value_name = "N")]
    pub(crate) max_attempts: Option<u32>,
    /// What it belongs to
    #[arg(long, value_name = "ID")]
    pub(crate) correlation_id: Option<String>,
}

/// Which jobs.
#[derive(ClapArgs, Default)]
pub(crate) struct JobFilter {
    /// In this state
    #[arg(long, value_name = "STATE")]
    pub(crate) state: Option<String>,
    /// In a state of this role (ready, held, active, waiting), or final
    #[arg(long, value_name = "PHASE")]
    pub(crate) phase: Option<String>,
    /// Ended so: succeeded, partial, failed, cancelled, rejected, dead
    #[arg(long, value_name = "OUTCOME")]
    pub(crate) outcome: Option<String>,
    /// Of this lifecycle
    #[arg(long, value_name = "NAME")]
    pub(crate) lifecycle: Option<String>,
    /// Of this type
    #[arg(long = "type", value_name = "TYPE")]
    pub(crate) job_type: Option<String>,
    /// Of this queue
    #[arg(long, value_name = "QUEUE")]
    pub(crate) queue: Option<String>,
    /// Of this user
    #[arg(long, value_name = "USER")]
    pub(crate) user: Option<String>,
    /// Held by this worker
    #[arg(long, value_name = "WORKER")]
    pub(crate) worker: Option<String>,
    /// Belonging to this
    #[arg(long, value_name = "ID")]
    pub(crate) correlation_id: Option<String>,
    /// Created again from this job
    #[arg(long, value_name = "JOB")]
    pub(crate) retry_of: Option<String>,
    /// Created after this moment (RFC 3339), or not longer ago than this (1h)
    #[arg(long, value_name = "TIME|SPAN", value_parser = moment)]
    pub(crate) since: Option<Moment>,
    /// Created before this moment (RFC 3339), or longer ago than this (1h)
    #[arg(long, value_name = "TIME|SPAN", value_parser = moment)]
    pub(crate) until: Option<Moment>,
}

/// `tenure job list`.
#[derive(ClapArgs)]
pub(crate) struct JobList {
    #[command(flatten)]
    pub(crate) filter: JobFilter,
    /// At most so many
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
    pub(crate) limit: usize,
    /// Where an earlier list stopped
    #[arg(long, value_name = "CURSOR")]
    pub(crate) cursor: Option<String>,
}

/// `tenure job events`.
#[derive(ClapArgs)]
pub(crate) struct History {
    /// Its id, or a beginning of it
    #[arg(value_name = "JOB")]
    pub(crate) job: String,
    /// With its heartbeats, renewals and progress
    #[arg(long)]
    pub(crate) telemetry: bool,
}

/// `tenure job replay`.
#[derive(ClapArgs)]
pub(crate) struct Replay {
    /// Its id, or a beginning of it
    #[arg(value_name = "JOB")]
    pub(crate) job: String,
    /// After this many transitions [default: all]
    #[arg(long, value_name = "N")]
    pub(crate) seq: Option<u32>,
}

/// `tenure job logs`.
#[derive(ClapArgs)]
pub(crate) struct Logs {
    /// Its id, or a beginning of it
    #[arg(value_name = "JOB")]
    pub(crate) job: String,
    /// Goes on until the job's end
    #[arg(short, long)]
    pub(crate) follow: bool,
    /// Only lines after the one with this number
    #[arg(long, value_name = "N", default_value_t = 0, conflicts_with = "follow")]
    pub(crate) after: u64,
}

/// `tenure job cancel`.
#[derive(ClapArgs)]
pub(crate) struct Cancel {
    /// Its id, or a beginning of it
    #[arg(value_name = "JOB")]
    pub(crate) job: String,
    /// Now, whatever its worker does
    #[arg(long)]
    pub(crate) hard: bool,
    /// Why, for those who look later
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
}

/// `tenure job wait`.
#[derive(ClapArgs)]
pub(crate) struct Wait {
    /// Its id, or a beginning of it
    #[arg(value_name = "JOB")]
    pub(crate) job: String,
    /// At most so long, such as 30s [default: as long as it takes]
    #[arg(long, value_name = "SPAN", value_parser = span)]
    pub(crate) timeout: Option<Millis>,
}

/// `tenure job dead-letter`.
#[derive(ClapArgs)]
pub(crate) struct Give {
    /// Its id, or a beginning of it
    #[arg(value_name = "JOB")]
    pub(crate) job: String,
    /// The reason, as dead letters are sorted by it
    #[arg(long, value_name = "CODE")]
    pub(crate) reason_code: String,
    /// The reason, for people
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub(crate) detail: String,
}

/// `tenure job signal`.
#[derive(ClapArgs)]
pub(crate) struct Signal {
    /// Its id, or a beginning of it
    #[arg(value_name = "JOB")]
    pub(crate) job: String,
    /// The signal
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// What goes with it: JSON, @FILE, or - for stdin
    #[arg(short, long, value_name = "JSON|@FILE|-")]
    pub(crate) payload: Option<String>,
}

/// `tenure events`.
#[derive(ClapArgs)]
pub(crate) struct Events {
    /// Goes on for ever
    #[arg(short, long)]
    pub(crate) follow: bool,
    /// After this cursor
    #[arg(long, value_name = "CURSOR")]
    pub(crate) after: Option<String>,
    /// At most so many
    #[arg(short = 'n', long, value_name = "N", default_value_t = 100, conflicts_with = "follow")]
    pub(crate) limit: usize,
    /// Of this type, such as `job_failed`
    #[arg(long = "type", value_name = "TYPE")]
    pub(crate) event_type: Option<String>,
    /// Of jobs of this lifecycle
    #[arg(long, value_name = "NAME")]
    pub(crate) lifecycle: Option<String>,
    /// Of this job
    #[arg(long, value_name = "JOB")]
    pub(crate) job: Option<String>,
    /// Of jobs that belong to this
    #[arg(long, value_name = "ID")]
    pub(crate) correlation_id: Option<String>,
    /// Of this user's jobs
    #[arg(long, value_name = "USER")]
    pub(crate) user: Option<String>,
}

/// A moment, or how long ago it was.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Moment {
    /// On the calendar.
    At(Timestamp),
    /// Before now.
    Ago(Millis),
}

fn moment(text: &str) -> Result<Moment, String> {
    let at = Timestamp::parse(text).map(Moment::At);
    at.or_else(|| Millis::parse(text).map(Moment::Ago))
        .ok_or_else(|| "neither a time such as 2026-11-16T12:00:00Z nor a span such as 1h".to_owned())
}

fn span(text: &str) -> Result<Millis, String> {
    Millis::parse(text).ok_or_else(|| "not a span of time: write 500ms, 30s, 5m or 1h".to_owned())
}
