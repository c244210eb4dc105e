//! Every flag of every command, a file for each family. The examples in the help are run by a test.

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

pub(crate) use bench::Bench;
pub(crate) use dev::Dev;
pub(crate) use job::{
    Cancel, Events, Give, History, JobCommand, JobFilter, JobList, Logs, Moment, NewJob, One, Replay, Signal,
    Wait,
};
pub(crate) use lifecycle::{Check, Diff, Format, LifecycleCommand, Show};
pub(crate) use operators::{
    AccountCommand, DeadCommand, DeadFilter, DeadList, Dismiss, KeyCommand, KeyCreate, QueueCommand, Redrive,
    WorkerCommand,
};
pub(crate) use schedule::{ScheduleCommand, ScheduleCreate};
pub(crate) use server::{Completions, Config, Man, Serve, Verify};
pub(crate) use top::{Top, View};
pub(crate) use webhook::{WebhookCommand, WebhookCreate};
pub(crate) use work::Work;

/// A durable job engine.
#[derive(Parser)]
#[command(
    name = "tenure",
    version,
    before_help = "Examples:
  tenure lifecycle list
  tenure job list
  tenure run hello -p '{\"name\": \"Ada\"}'",
    after_help = "Exit codes: 0 done, 1 failed, 2 usage, 3 the job ended but not well, 4 not authenticated or not \
allowed, 5 not found, 6 refused, 7 a file or payload does not pass its check, 8 timed out waiting, 9 server \
unreachable, 130 interrupted."
)]
pub(crate) struct Args {
    /// How data is written to stdout
    #[arg(short, long, global = true, value_enum, default_value_t = Form::Table, value_name = "FORM")]
    pub(crate) output: Form,
    /// Which server.
    #[command(flatten)]
    pub(crate) server: Server,
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Which server is asked, and in whose name.
#[derive(Clone, ClapArgs)]
pub(crate) struct Server {
    /// The server's address
    #[arg(
        long,
        global = true,
        env = "TENURE_URL",
        value_name = "URL",
        default_value = tenure_client::DEFAULT_URL
    )]
    pub(crate) server: String,
    /// The caller's key, or a JWT
    #[arg(long, global = true, env = "TENURE_KEY", hide_env_values = true, value_name = "KEY")]
    pub(crate) key: Option<String>,
}

/// How data is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
    /// Columns for people
    Table,
    /// More columns
    Wide,
    /// One JSON document
    Json,
    /// One JSON document per line
    Jsonl,
    /// Names alone
    Name,
}

/// The nouns, and what people type all day.
#[derive(Subcommand)]
pub(crate) enum Command {
    /// Run everything on this machine, nothing configured, with demo types and a worker inside
    #[command(before_help = dev::HELP)]
    Dev(Dev),
    /// Create a job and follow it to its end
    #[command(before_help = "Examples:
  tenure run hello
  tenure run resize -p '{\"width\": 640}' --queue pictures --priority 5
  tenure run import -p @payload.json -o json

Transitions, progress and log lines go to stderr, the result to stdout. Exits with 0 if the job succeeded, with 3 if it
ended otherwise.")]
    Run(NewJob),
    /// Make a worker out of any program
    #[command(before_help = work::HELP)]
    Work(Work),
    /// Say why a job is where it is, and what can happen next
    #[command(before_help = "Examples:
  tenure explain 01990c3a-7d2e")]
    Explain(One),
    /// Watch it all in this terminal: lifecycles, jobs, dead letters, workers, the journal
    #[command(before_help = top::HELP)]
    Top(Top),
    /// Create, list, look at, stop and repeat jobs
    #[command(subcommand)]
    Job(JobCommand),
    /// Read the journal: every event of every job, in the order of their commits
    #[command(before_help = "Examples:
  tenure events --limit 5
  tenure events --type job_failed -o jsonl
  tenure events -f

Without -f it begins at the beginning, or after --after; with it, at the end as it is now, or after --after.")]
    Events(Events),
    /// Jobs that were given up: list, look, redrive, dismiss
    #[command(subcommand)]
    Dead(DeadCommand),
    /// Queues: list, pause, resume
    #[command(subcommand)]
    Queue(QueueCommand),
    /// Workers that were heard
    #[command(subcommand)]
    Worker(WorkerCommand),
    /// Credits of a user
    #[command(subcommand)]
    Account(AccountCommand),
    /// Schedules, which make jobs at their times: list, create, pause, resume, delete
    #[command(subcommand)]
    Schedule(ScheduleCommand),
    /// Webhooks, which send events to a URL: list, create, enable, delete
    #[command(subcommand)]
    Webhook(WebhookCommand),
    /// Keys of callers: create, list, revoke
    #[command(subcommand)]
    Key(KeyCommand),
    /// Check, show and compare lifecycle files
    #[command(subcommand)]
    Lifecycle(LifecycleCommand),
    /// Run the server
    #[command(before_help = "Examples:
  tenure serve
  tenure serve --listen 127.0.0.1:7117 --data ./tenure-data
  tenure serve --config tenure.toml --database-url postgres://localhost/tenure

SIGTERM drains: no new claims, open requests finish, then it exits with 0.")]
    Serve(Serve),
    /// Print every setting of the server, its value and where it came from
    #[command(before_help = "Examples:
  tenure config
  tenure config --config tenure.toml -o json

Exits with 7 if the file does not pass its check.")]
    Config(Config),
    /// Fold every history of a store, check every law, report each difference
    #[command(before_help = "Examples:
  tenure verify
  tenure verify --data ./tenure-data -o jsonl

Works on a running system too. Exits with 0 if there is no difference, with 1 if there is one, with 5 if there is no
store, with 9 if the database cannot be reached.")]
    Verify(Verify),
    /// Load a server, and say how fast it is beside the disk and the runtime alone
    #[command(before_help = bench::HELP)]
    Bench(Bench),
    /// Print completions for a shell
    #[command(before_help = "Examples:
  tenure completions bash > tenure.bash
  tenure completions zsh > _tenure")]
    Completions(Completions),
    /// Print the manual
    #[command(before_help = "Examples:
  tenure man > tenure.1
  tenure man --dir .")]
    Man(Man),
}
