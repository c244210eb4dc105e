//! The command line: every command, flag and help text. A test runs the examples.

mod bench;
mod dev;
mod job;
mod lifecycle;
mod operators;
mod schedule;
mod server;
mod top;
mod webhook;
mod work;

use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};

pub(crate) use bench::{BenchArgs, StoreKind};
pub(crate) use dev::DevArgs;
pub(crate) use job::{
    CancelArgs, DeadLetterArgs, EventsArgs, HistoryArgs, JobArgs, JobCommand, JobFilter, JobListArgs,
    LogsArgs, NewJobArgs, ReplayArgs, SignalArgs, TimeArg, WaitArgs,
};
pub(crate) use lifecycle::{CheckArgs, DiagramFormat, DiffArgs, LifecycleCommand, ShowArgs};
pub(crate) use operators::{
    AccountCommand, DeadCommand, DeadFilter, DeadListArgs, DismissArgs, KeyCommand, KeyCreateArgs,
    QueueCommand, RedriveArgs, WorkerCommand,
};
pub(crate) use schedule::{ScheduleCommand, ScheduleCreateArgs};
pub(crate) use server::{CompletionsArgs, ConfigArgs, ManArgs, ServeArgs, VerifyArgs};
pub(crate) use top::{TopArgs, View};
pub(crate) use webhook::{WebhookCommand, WebhookCreateArgs};
pub(crate) use work::WorkArgs;

/// A durable job engine
#[derive(Parser)]
#[command(
    name = "tenure",
    version,
    before_help = "Examples:
  tenure lifecycle list
  tenure job list
  tenure run hello -p '{\"name\": \"Ada\"}'",
    after_help = "Exit codes: 0 success, 1 failure, 2 wrong usage, 3 the job finished without success, 4 not authenticated \
or not allowed, 5 not found, 6 refused, 7 a file or payload is invalid, 8 timed out, 9 server unreachable, 130 interrupted."
)]
pub(crate) struct Args {
    /// Output format
    #[arg(short, long, global = true, value_enum, default_value_t = OutputFormat::Table, value_name = "FORMAT")]
    pub(crate) output: OutputFormat,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Clone, ClapArgs)]
pub(crate) struct ServerArgs {
    /// Address of the server
    #[arg(
        long,
        global = true,
        env = "TENURE_URL",
        value_name = "URL",
        default_value = tenure_client::DEFAULT_URL
    )]
    pub(crate) server: String,
    /// API key or JWT
    #[arg(long, global = true, env = "TENURE_KEY", hide_env_values = true)]
    pub(crate) key: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// A table
    Table,
    /// A table with more columns
    Wide,
    /// One JSON document
    Json,
    /// One JSON document per line
    Jsonl,
    /// Only ids or names
    Name,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Run a server with demo types and a worker on this machine, without configuration
    #[command(before_help = dev::HELP)]
    Dev(DevArgs),
    /// Create a job and follow it until it has finished
    #[command(before_help = "Examples:
  tenure run hello
  tenure run resize -p '{\"width\": 640}' --queue pictures --priority 5
  tenure run import -p @payload.json -o json

Prints transitions, progress and log lines to stderr, the result to stdout. Exits with 0 if the job succeeded, with 3 if
it finished otherwise.")]
    Run(NewJobArgs),
    /// Run a program for each job: a worker in any language
    #[command(before_help = work::HELP)]
    Work(WorkArgs),
    /// Explain why a job is in its state and what can happen next
    #[command(before_help = "Examples:
  tenure explain 01990c3a-7d2e")]
    Explain(JobArgs),
    /// Watch lifecycles, jobs, dead letters, workers and the journal in this terminal
    #[command(before_help = top::HELP)]
    Top(TopArgs),
    /// Create, list, show, cancel and retry jobs
    #[command(subcommand)]
    Job(JobCommand),
    /// Read the journal: the events of all jobs in commit order
    #[command(before_help = "Examples:
  tenure events --limit 5
  tenure events --type job_failed -o jsonl
  tenure events -f

Starts at the beginning of the journal; with -f, at its current end; with --after, after that cursor.")]
    Events(EventsArgs),
    /// List, show, redrive and dismiss dead letters
    #[command(subcommand)]
    Dead(DeadCommand),
    /// List, pause and resume queues
    #[command(subcommand)]
    Queue(QueueCommand),
    /// List workers
    #[command(subcommand)]
    Worker(WorkerCommand),
    /// Show and grant credits of users
    #[command(subcommand)]
    Account(AccountCommand),
    /// Manage schedules, which create jobs at set times
    #[command(subcommand)]
    Schedule(ScheduleCommand),
    /// Manage webhooks, which send events to a URL
    #[command(subcommand)]
    Webhook(WebhookCommand),
    /// Create, list and revoke API keys
    #[command(subcommand)]
    Key(KeyCommand),
    /// Check, show and compare lifecycles
    #[command(subcommand)]
    Lifecycle(LifecycleCommand),
    /// Run the server
    #[command(before_help = "Examples:
  tenure serve
  tenure serve --listen 127.0.0.1:7117 --data ./tenure-data
  tenure serve --config tenure.toml --database-url postgres://localhost/tenure

On SIGTERM the server hands out no more jobs, finishes open requests and exits with 0.")]
    Serve(ServeArgs),
    /// Print every server setting with its value and origin
    #[command(before_help = "Examples:
  tenure config
  tenure config --config tenure.toml -o json

Exits with 7 if the configuration is invalid.")]
    Config(ConfigArgs),
    /// Verify a store: replay every history and compare it with the stored rows
    #[command(before_help = "Examples:
  tenure verify
  tenure verify --data ./tenure-data -o jsonl

Also works while the server runs. Exits with 0 if there is no difference, with 1 if there is one, with 5 if there is no
store, with 9 if the database cannot be reached.")]
    Verify(VerifyArgs),
    /// Measure the throughput and latency of a server, next to the limits of the machine
    #[command(before_help = bench::HELP)]
    Bench(BenchArgs),
    /// Print shell completions
    #[command(before_help = "Examples:
  tenure completions bash > tenure.bash
  tenure completions zsh > _tenure")]
    Completions(CompletionsArgs),
    /// Print the manual page
    #[command(before_help = "Examples:
  tenure man > tenure.1
  tenure man --dir .")]
    Man(ManArgs),
}
