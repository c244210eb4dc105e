//! The command line: every command and flag. The examples in `args/help.txt` begin the help of each command; a test
//! runs them.

mod automations;
mod bench;
mod job;
mod lifecycle;
mod mcp;
mod operators;
mod resource;
mod server;
mod top;
mod work;

use std::path::PathBuf;

use clap::{Args as ClapArgs, CommandFactory as _, FromArgMatches as _, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use tenure_client::DEFAULT_URL;

pub(crate) use automations::{ScheduleCommand, SchedulePlanArgs, WebhookCommand};
pub(crate) use bench::{BenchArgs, StoreKind};
pub(crate) use job::{
    EditArgs, EventsArgs, JobArgs, JobCommand, JobFilter, NewJobArgs, PageArgs, TargetArgs, TimeArg, time,
};
pub(crate) use lifecycle::{DiagramFormat, LifecycleCommand};
pub(crate) use mcp::McpArgs;
pub(crate) use operators::{
    AccountCommand, DeadCommand, DeadFilter, KeyCommand, KeyCreateArgs, QueueCommand, RedriveArgs, Role,
    WorkerCommand,
};
pub(crate) use resource::{ResourceCommand, SetResourceArgs};
pub(crate) use server::{DevArgs, ServeArgs};
pub(crate) use top::{TopArgs, View};
pub(crate) use work::WorkArgs;

/// A durable job engine
#[derive(Parser)]
#[command(
    name = "tenure",
    version,
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

impl Args {
    /// Parses the command line; exits after help and with wrong usage.
    pub(crate) fn from_command_line() -> Self {
        Self::from_arg_matches(&command().get_matches()).unwrap_or_else(|error| error.exit())
    }
}

/// The command line with the help of every command.
pub(crate) fn command() -> clap::Command {
    with_help("tenure", Args::command())
}

/// Adds the section `path` of the help, and those of the commands below it.
fn with_help(path: &str, command: clap::Command) -> clap::Command {
    let mut sections = include_str!("args/help.txt").split("# ");
    let text = sections.find_map(|section| section.strip_prefix(path)?.strip_prefix('\n'));
    let examples = text.expect("a test shows the help of every command").trim_end();
    let with_examples = command.before_help(format!("Examples:\n{examples}"));
    with_examples.mut_subcommands(|below| with_help(&format!("{path} {}", below.get_name()), below))
}

// The variables are read when they are needed, so that help texts never contain their values.
const KEY_HELP: &str =
    "API key or JWT; other users of this machine can see it in the list of processes [env: TENURE_KEY]";
const KEY_FILE_HELP: &str = "File that contains the API key or JWT [env: TENURE_KEY_FILE]";

#[derive(Clone, ClapArgs)]
pub(crate) struct ServerArgs {
    /// Address of the server
    #[arg(long, global = true, env = "TENURE_URL", value_name = "URL", default_value = DEFAULT_URL)]
    pub(crate) server: String,
    #[arg(long, global = true, help = KEY_HELP)]
    pub(crate) key: Option<String>,
    #[arg(long, global = true, value_name = "FILE", conflicts_with = "key", help = KEY_FILE_HELP)]
    pub(crate) key_file: Option<PathBuf>,
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
    Dev(DevArgs),
    /// Create a job and follow it until it has finished
    Run(NewJobArgs),
    /// Run a program for each job: a worker in any language
    Work(WorkArgs),
    /// Explain why a job is in its state and what can happen next
    Explain(JobArgs),
    /// Watch lifecycles, jobs, dead letters, workers, queues and the journal in this terminal
    Top(TopArgs),
    /// Create, list, show, cancel, retry and delete jobs
    #[command(subcommand)]
    Job(JobCommand),
    /// Read the journal: the events of all jobs in commit order
    Events(EventsArgs),
    /// List, show, redrive and dismiss dead letters
    #[command(subcommand)]
    Dead(DeadCommand),
    /// List, pause and resume queues
    #[command(subcommand)]
    Queue(QueueCommand),
    /// List, limit, pause and resume resources of flow control
    #[command(subcommand)]
    Resource(ResourceCommand),
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
    /// Give coding agents tools for this server: an MCP server on stdin and stdout
    Mcp(McpArgs),
    /// Run the server; SIGHUP reloads its configuration
    Serve(ServeArgs),
    /// Run a server in memory for tests, with a clock that lines on standard input move
    TestServer {
        /// Configuration file [default: tenure.toml in this folder, if it exists]
        #[arg(long, value_name = "FILE")]
        config: Option<PathBuf>,
        /// Address to listen on; port 0 is a free one
        #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:0")]
        listen: String,
    },
    /// Print every server setting with its value and origin
    Config {
        /// Configuration file [default: tenure.toml in this folder, if it exists]
        #[arg(long, global = true, value_name = "FILE")]
        config: Option<PathBuf>,
        #[command(subcommand)]
        check: Option<ConfigCommand>,
    },
    /// Check a deployment: configuration, store, disk, clock, certificate, limits and versions; changes nothing
    Doctor(ServeArgs),
    /// Verify a store: replay every history and compare it with the stored rows
    Verify {
        // The variables are read later: a flag goes before both.
        #[arg(
            long,
            value_name = "DIR",
            help = "Folder of an embedded store [env: TENURE_DATA] [default: ./tenure-data]"
        )]
        data: Option<PathBuf>,
        #[arg(
            long,
            value_name = "URL",
            conflicts_with = "data",
            help = "Verify a PostgreSQL store instead [env: TENURE_DATABASE_URL]"
        )]
        database_url: Option<String>,
        /// Schema of the tables in that database
        #[arg(long, env = "TENURE_DATABASE_SCHEMA", value_name = "NAME", default_value = tenure_store::SCHEMA_DEFAULT)]
        database_schema: String,
    },
    /// Write a backup of an embedded store to a file, also while the server runs
    Backup {
        /// File to write; it must not exist
        #[arg(long, value_name = "FILE")]
        to: PathBuf,
        /// Folder of the embedded store
        #[arg(long, env = "TENURE_DATA", value_name = "DIR", default_value = "./tenure-data")]
        data: PathBuf,
    },
    /// Restore an embedded store from a backup into an empty folder, and verify it
    Restore {
        /// File that `tenure backup` has written
        file: PathBuf,
        /// Folder for the embedded store; it must be empty or not exist
        #[arg(long, value_name = "DIR")]
        data: PathBuf,
    },
    /// Functions with which applications request jobs in their own PostgreSQL transactions
    #[command(subcommand)]
    Intake(IntakeCommand),
    /// Measure the throughput and latency of a server, next to the limits of the machine
    Bench(BenchArgs),
    /// Print shell completions
    Completions {
        /// Shell to print completions for
        #[arg(value_enum)]
        shell: Shell,
    },
    /// Print the manual page
    Man {
        /// Write one page per command into this folder instead of printing the main page
        #[arg(long)]
        dir: Option<PathBuf>,
    },
}

#[derive(Subcommand)]
pub(crate) enum IntakeCommand {
    /// Create table, functions and role in the database of an application
    Install {
        /// Database of the application; its user must be allowed to create a schema
        #[arg(long, env = "TENURE_DATABASE_URL", hide_env_values = true, value_name = "URL")]
        database_url: Option<String>,
        /// Schema of the functions
        #[arg(long, env = "TENURE_DATABASE_SCHEMA", value_name = "NAME", default_value = tenure_store::SCHEMA_DEFAULT)]
        database_schema: String,
        /// Print the SQL for an administrator instead
        #[arg(long)]
        print: bool,
    },
}

#[derive(Subcommand)]
pub(crate) enum ConfigCommand {
    /// Check a configuration and the files that it names, without starting a server
    Check,
}
