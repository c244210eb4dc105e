//! What operators do: `dead`, `queue`, `worker`, `account`, `key`.

use clap::{Args as ClapArgs, Subcommand, ValueEnum};

use super::job::{JobFilter, One};

/// `tenure dead …`.
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
    List(DeadList),
    /// Show a dead letter
    #[command(before_help = "Examples:
  tenure dead get 01990c3a-7d2e")]
    Get(One),
    /// Create a new job for each of these
    #[command(before_help = "Examples:
  tenure dead redrive 01990c3a-7d2e
  tenure dead redrive --all --type resize --max-per-second 50")]
    Redrive(Redrive),
    /// Put a dead letter aside
    #[command(before_help = "Examples:
  tenure dead dismiss 01990c3a-7d2e --reason 'the customer left'")]
    Dismiss(Dismiss),
}

/// Which dead letters.
#[derive(ClapArgs, Default)]
pub(crate) struct DeadFilter {
    #[command(flatten)]
    pub(crate) jobs: JobFilter,
    /// With this reason
    #[arg(long, value_name = "CODE")]
    pub(crate) reason_code: Option<String>,
    /// Whose last error arose here: fetch, input, exec, output, commit
    #[arg(long, value_name = "STAGE")]
    pub(crate) stage: Option<String>,
}

/// `tenure dead list`.
#[derive(ClapArgs)]
pub(crate) struct DeadList {
    #[command(flatten)]
    pub(crate) filter: DeadFilter,
    /// Those that were put aside, instead
    #[arg(long)]
    pub(crate) dismissed: bool,
    /// At most so many
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
    pub(crate) limit: usize,
    /// Where an earlier list stopped
    #[arg(long, value_name = "CURSOR")]
    pub(crate) cursor: Option<String>,
}

/// `tenure dead redrive`.
#[derive(ClapArgs)]
pub(crate) struct Redrive {
    /// Their jobs' ids, or beginnings of them
    #[arg(value_name = "JOB", required_unless_present = "all", conflicts_with = "all")]
    pub(crate) jobs: Vec<String>,
    /// All that match the filters
    #[arg(long)]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) filter: DeadFilter,
    /// At most so many new jobs a second
    #[arg(long, value_name = "N")]
    pub(crate) max_per_second: Option<u32>,
}

/// `tenure dead dismiss`.
#[derive(ClapArgs)]
pub(crate) struct Dismiss {
    /// Its job's id, or a beginning of it
    #[arg(value_name = "JOB")]
    pub(crate) job: String,
    /// Why
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: String,
}

/// `tenure queue …`.
#[derive(Subcommand)]
#[command(before_help = "Examples:
  tenure queue list
  tenure queue pause pictures")]
pub(crate) enum QueueCommand {
    /// List queues and what is in them
    #[command(before_help = "Examples:
  tenure queue list")]
    List,
    /// Give out no more of its jobs; those that run go on
    #[command(before_help = "Examples:
  tenure queue pause pictures")]
    Pause(Queue),
    /// Give out its jobs again
    #[command(before_help = "Examples:
  tenure queue resume pictures")]
    Resume(Queue),
}

/// A command on one queue.
#[derive(ClapArgs)]
pub(crate) struct Queue {
    /// The queue
    #[arg(value_name = "QUEUE")]
    pub(crate) queue: String,
}

/// `tenure worker …`.
#[derive(Subcommand)]
#[command(before_help = "Examples:
  tenure worker list")]
pub(crate) enum WorkerCommand {
    /// List workers, when they were heard last, and what they hold
    #[command(before_help = "Examples:
  tenure worker list
  tenure worker list -o json")]
    List,
}

/// `tenure account …`.
#[derive(Subcommand)]
#[command(before_help = "Examples:
  tenure account get ada
  tenure account grant ada 100 --reason 'invoice 17'")]
pub(crate) enum AccountCommand {
    /// Show what a user may spend; -o wide with every movement
    #[command(before_help = "Examples:
  tenure account get ada
  tenure account get ada -o wide")]
    Get(Account),
    /// Grant a user credits
    #[command(before_help = "Examples:
  tenure account grant ada 100 --reason 'invoice 17'")]
    Grant(Grant),
}

/// A command on one account.
#[derive(ClapArgs)]
pub(crate) struct Account {
    /// The user
    #[arg(value_name = "USER")]
    pub(crate) user: String,
}

/// `tenure account grant`.
#[derive(ClapArgs)]
pub(crate) struct Grant {
    /// The user
    #[arg(value_name = "USER")]
    pub(crate) user: String,
    /// How many
    #[arg(value_name = "CREDITS")]
    pub(crate) credits: u64,
    /// Why, for the ledger
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: String,
}

/// `tenure key …`.
#[derive(Subcommand)]
#[command(before_help = "Examples:
  tenure key create --role admin
  tenure key list

On a server without keys the first one must be an admin's; from then on the server asks every caller for a key.")]
pub(crate) enum KeyCommand {
    /// Create a key and print it, this once
    #[command(before_help = "Examples:
  tenure key create --role admin
  tenure key create --role producer --user ada")]
    Create(KeyCreate),
    /// List keys, without what was printed once
    #[command(before_help = "Examples:
  tenure key list")]
    List,
    /// Make a key worthless
    #[command(before_help = "Examples:
  tenure key revoke 7k2m9qfd0xyz")]
    Revoke(KeyId),
}

/// `tenure key create`.
#[derive(ClapArgs)]
pub(crate) struct KeyCreate {
    /// What its holder may do
    #[arg(long, value_enum, value_name = "ROLE")]
    pub(crate) role: Role,
    /// Whose jobs; a producer's key is for one user
    #[arg(long, value_name = "USER")]
    pub(crate) user: Option<String>,
}

/// What the holder of a key may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Role {
    /// Its own user's jobs
    Producer,
    /// Claims and reports
    Worker,
    /// Everything but keys
    Operator,
    /// Sees everything, changes nothing
    Viewer,
    /// Everything
    Admin,
}

/// A command on one key.
#[derive(ClapArgs)]
pub(crate) struct KeyId {
    /// The key's id, as `key list` shows it
    #[arg(value_name = "ID")]
    pub(crate) id: String,
}
