//! Commands for operators: `dead`, `queue`, `worker`, `account`, `key`.

use clap::{Args as ClapArgs, Subcommand, ValueEnum};

use super::job::{JobArgs, JobFilter, PageArgs};

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
    Create {
        /// What the key allows
        #[arg(long, value_enum)]
        role: Role,
        /// User whose jobs the key gives access to; required for a producer
        #[arg(long)]
        user: Option<String>,
    },
    /// List keys, without their secrets
    List,
    /// Revoke a key
    Revoke {
        /// Id of the key, as shown by `tenure key list`, or a unique prefix
        id: String,
    },
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
