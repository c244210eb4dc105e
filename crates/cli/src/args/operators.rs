//! Commands for operators: `dead`, `queue`, `worker`, `account`, `key`.

use clap::{Args as ClapArgs, Subcommand, ValueEnum};

use tenure_core::time::Millis;

use super::job::{JobArgs, JobFilter, PageArgs, duration};

#[derive(Subcommand)]
pub(crate) enum DeadCommand {
    /// List dead letters, newest first
    List {
        #[command(flatten)]
        filter: DeadFilter,
        /// List dismissed dead letters instead
        #[arg(long)]
        dismissed: bool,
        #[command(flatten)]
        page: PageArgs,
    },
    /// Show a dead letter
    Get(JobArgs),
    /// Create a new job for each of these dead letters
    Redrive(RedriveArgs),
    /// Dismiss a dead letter
    Dismiss {
        /// Id of the job, or a unique prefix
        job: String,
        /// Reason, kept with the dead letter
        #[arg(long, value_name = "TEXT")]
        reason: String,
    },
}

#[derive(ClapArgs, Default)]
pub(crate) struct DeadFilter {
    #[command(flatten)]
    pub(crate) jobs: JobFilter,
    /// With this reason
    #[arg(long, value_name = "CODE")]
    pub(crate) reason_code: Option<String>,
    /// Whose last error occurred at this stage: fetch, input, exec, output, commit
    #[arg(long)]
    pub(crate) stage: Option<String>,
}

#[derive(ClapArgs)]
pub(crate) struct RedriveArgs {
    /// Ids of the jobs, or unique prefixes
    #[arg(value_name = "JOB", required_unless_present = "all", conflicts_with = "all")]
    pub(crate) jobs: Vec<String>,
    /// Redrive every dead letter that matches the filters
    #[arg(long)]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) filter: DeadFilter,
    /// Maximum number of new jobs per second
    #[arg(long, value_name = "N")]
    pub(crate) max_per_second: Option<u32>,
}

#[derive(Subcommand)]
pub(crate) enum QueueCommand {
    /// List queues and the number of jobs in them
    List,
    /// Stop handing out jobs of a queue; running jobs continue
    Pause(QueueArgs),
    /// Hand out jobs of a queue again
    Resume(QueueArgs),
}

#[derive(ClapArgs)]
pub(crate) struct QueueArgs {
    /// Name of the queue
    pub(crate) queue: String,
}

#[derive(Subcommand)]
pub(crate) enum WorkerCommand {
    /// List workers, when they were last seen, and the jobs they hold
    List,
}

#[derive(Subcommand)]
pub(crate) enum AccountCommand {
    /// Show a user's credits; with -o wide, the ledger too
    Get {
        /// Id of the user
        user: String,
    },
    /// Erase a user: delete the finished jobs now, the others when they finish, then the name in the ledger
    Erase {
        /// Id of the user
        user: String,
        /// Reason, recorded in the audit log
        #[arg(long, value_name = "TEXT")]
        reason: String,
    },
    /// Grant credits to a user
    Grant {
        /// Id of the user
        user: String,
        /// Number of credits
        credits: u64,
        /// Reason, recorded in the ledger
        #[arg(long, value_name = "TEXT")]
        reason: String,
    },
}

#[derive(Subcommand)]
pub(crate) enum KeyCommand {
    /// Create a key and print its secret, which is shown only once
    Create(Box<KeyCreateArgs>),
    /// List keys, without their secrets
    List,
    /// Give a key a new secret and print it; earlier secrets stay valid for a time
    Rotate {
        /// Id of the key, as shown by `tenure key list`, or a unique prefix
        id: String,
        /// How long earlier secrets stay valid [default: 1h]
        #[arg(long, value_name = "DURATION", value_parser = duration)]
        overlap: Option<Millis>,
    },
    /// Revoke a key
    Revoke {
        /// Id of the key, as shown by `tenure key list`, or a unique prefix
        id: String,
    },
}

#[derive(ClapArgs)]
pub(crate) struct KeyCreateArgs {
    /// What the key allows; may be repeated
    #[arg(long, value_enum, required = true)]
    pub(crate) role: Vec<Role>,
    /// User whose jobs the key gives access to; required for a producer
    #[arg(long)]
    pub(crate) user: Option<String>,
    /// Description
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// Limit it to jobs of this type; may be repeated
    #[arg(long = "type", value_name = "TYPE")]
    pub(crate) job_type: Vec<String>,
    /// Limit it to jobs of this queue; may be repeated
    #[arg(long)]
    pub(crate) queue: Vec<String>,
    /// Limit it to jobs of this user; not for workers
    #[arg(long, value_name = "USER")]
    pub(crate) only_user: Option<String>,
    /// Limit it to workers with such a name; * is any text
    #[arg(long, value_name = "PATTERN")]
    pub(crate) worker_name: Option<String>,
    /// Limit the priority of jobs that it creates, such as 0..10, 0.. or ..10
    #[arg(long, value_name = "MIN..MAX", allow_hyphen_values = true, value_parser = priority_range)]
    pub(crate) priority: Option<PriorityRange>,
    /// How long it is valid, such as 30d [default: without limit]
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub(crate) expires: Option<Millis>,
}

/// Priorities, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PriorityRange {
    pub(crate) min: Option<i64>,
    pub(crate) max: Option<i64>,
}

fn priority_range(text: &str) -> Result<PriorityRange, String> {
    let bad = || format!("`{text}` is not a range, such as 0..10");
    let (min, max) = text.split_once("..").ok_or_else(bad)?;
    let bound = |text: &str| match text {
        "" => Ok(None),
        number => number.parse().map(Some).map_err(|_| bad()),
    };
    let range = PriorityRange { min: bound(min)?, max: bound(max)? };
    if range.min.is_none() && range.max.is_none() { Err(bad()) } else { Ok(range) }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Role {
    /// Create and manage the jobs of one user
    Producer,
    /// Claim jobs and report on them
    Worker,
    /// Everything except keys
    Operator,
    /// Read everything, change nothing
    Viewer,
    /// Everything
    Admin,
}
