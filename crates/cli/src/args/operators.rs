//! Commands for operators: `dead`, `queue`, `worker`, `account`, `key`.

use clap::{Args as ClapArgs, Subcommand, ValueEnum};

use super::job::{JobArgs, JobFilter};

#[derive(Subcommand)]
#[command(before_help = "Examples:
  tenure dead list
  tenure dead redrive 01990c3a-7d2e")]
pub(crate) enum DeadCommand {
    /// List dead letters, newest first
    #[command(before_help = "Examples:
  tenure dead list
  tenure dead list --reason-code exhausted_retries --since 1d
  tenure dead list --dismissed -o json")]
    List(DeadListArgs),
    /// Show a dead letter
    #[command(before_help = "Examples:
  tenure dead get 01990c3a-7d2e")]
    Get(JobArgs),
    /// Create a new job for each of these dead letters
    #[command(before_help = "Examples:
  tenure dead redrive 01990c3a-7d2e
  tenure dead redrive --all --type resize --max-per-second 50")]
    Redrive(RedriveArgs),
    /// Dismiss a dead letter
    #[command(before_help = "Examples:
  tenure dead dismiss 01990c3a-7d2e --reason 'the customer left'")]
    Dismiss(DismissArgs),
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
pub(crate) struct DeadListArgs {
    #[command(flatten)]
    pub(crate) filter: DeadFilter,
    /// List dismissed dead letters instead
    #[arg(long)]
    pub(crate) dismissed: bool,
    /// Maximum number of rows
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
    pub(crate) limit: usize,
    /// Continue a previous list at its cursor
    #[arg(long)]
    pub(crate) cursor: Option<String>,
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

#[derive(ClapArgs)]
pub(crate) struct DismissArgs {
    /// Id of the job, or a unique prefix
    pub(crate) job: String,
    /// Reason, kept with the dead letter
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: String,
}

#[derive(Subcommand)]
#[command(before_help = "Examples:
  tenure queue list
  tenure queue pause pictures")]
pub(crate) enum QueueCommand {
    /// List queues and the number of jobs in them
    #[command(before_help = "Examples:
  tenure queue list")]
    List,
    /// Stop handing out jobs of a queue; running jobs continue
    #[command(before_help = "Examples:
  tenure queue pause pictures")]
    Pause(QueueArgs),
    /// Hand out jobs of a queue again
    #[command(before_help = "Examples:
  tenure queue resume pictures")]
    Resume(QueueArgs),
}

#[derive(ClapArgs)]
pub(crate) struct QueueArgs {
    /// Name of the queue
    pub(crate) queue: String,
}

#[derive(Subcommand)]
#[command(before_help = "Examples:
  tenure worker list")]
pub(crate) enum WorkerCommand {
    /// List workers, when they were last seen, and the jobs they hold
    #[command(before_help = "Examples:
  tenure worker list
  tenure worker list -o json")]
    List,
}

#[derive(Subcommand)]
#[command(before_help = "Examples:
  tenure account get ada
  tenure account grant ada 100 --reason 'invoice 17'")]
pub(crate) enum AccountCommand {
    /// Show a user's credits; with -o wide, the ledger too
    #[command(before_help = "Examples:
  tenure account get ada
  tenure account get ada -o wide")]
    Get(AccountArgs),
    /// Grant credits to a user
    #[command(before_help = "Examples:
  tenure account grant ada 100 --reason 'invoice 17'")]
    Grant(GrantArgs),
}

#[derive(ClapArgs)]
pub(crate) struct AccountArgs {
    /// Id of the user
    pub(crate) user: String,
}

#[derive(ClapArgs)]
pub(crate) struct GrantArgs {
    /// Id of the user
    pub(crate) user: String,
    /// Number of credits
    pub(crate) credits: u64,
    /// Reason, recorded in the ledger
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: String,
}

#[derive(Subcommand)]
#[command(before_help = "Examples:
  tenure key create --role admin
  tenure key list

The first key of a server must be an admin key. From then on the server requires a key for every call.")]
pub(crate) enum KeyCommand {
    /// Create a key and print its secret, which is shown only once
    #[command(before_help = "Examples:
  tenure key create --role admin
  tenure key create --role producer --user ada")]
    Create(KeyCreateArgs),
    /// List keys, without their secrets
    #[command(before_help = "Examples:
  tenure key list")]
    List,
    /// Revoke a key
    #[command(before_help = "Examples:
  tenure key revoke 7k2m9qfd0xyz")]
    Revoke(KeyIdArgs),
}

#[derive(ClapArgs)]
pub(crate) struct KeyCreateArgs {
    /// What the key allows
    #[arg(long, value_enum)]
    pub(crate) role: Role,
    /// User whose jobs the key gives access to; required for a producer
    #[arg(long)]
    pub(crate) user: Option<String>,
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

#[derive(ClapArgs)]
pub(crate) struct KeyIdArgs {
    /// Id of the key, as shown by `tenure key list`, or a unique prefix
    pub(crate) id: String,
}
