//! Every flag of every command, in one place. The examples in the help are run by a test.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};

/// A durable job engine.
#[derive(Parser)]
#[command(
    name = "tenure",
    version,
    before_help = "Examples:
  tenure lifecycle list
  tenure lifecycle show engine
  tenure verify --data ./tenure-data"
)]
pub(crate) struct Args {
    /// How data is written to stdout
    #[arg(short, long, global = true, value_enum, default_value_t = Form::Table, value_name = "FORM")]
    pub(crate) output: Form,
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
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
    /// Fold every history of a store, check every law, report each difference
    #[command(before_help = "Examples:
  tenure verify
  tenure verify --data ./tenure-data -o jsonl

Works on a running system too. Exits with 0 if there is no difference, with 1 if there is one, with 5 if there is no
store, with 9 if the database cannot be reached.")]
    Verify(Verify),
}

/// `tenure serve`.
#[derive(ClapArgs)]
pub(crate) struct Serve {
    /// The configuration; `tenure.toml` in this folder, if it is there
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Where to listen [default: 127.0.0.1:7117]
    #[arg(long, value_name = "ADDR")]
    pub(crate) listen: Option<String>,
    /// The folder of the embedded store [default: ./tenure-data]
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// A PostgreSQL store instead
    #[arg(long, value_name = "URL", conflicts_with = "data")]
    pub(crate) database_url: Option<String>,
}

/// `tenure verify`.
#[derive(ClapArgs)]
pub(crate) struct Verify {
    /// The folder of an embedded store
    #[arg(long, env = "TENURE_DATA", value_name = "DIR", default_value = "./tenure-data")]
    pub(crate) data: PathBuf,
    /// A PostgreSQL store instead
    #[arg(long, env = "TENURE_DATABASE_URL", hide_env_values = true, value_name = "URL")]
    pub(crate) database_url: Option<String>,
}

/// `tenure lifecycle …`: works without a server.
#[derive(Subcommand)]
#[command(before_help = "Examples:
  tenure lifecycle check lifecycles/*.toml
  tenure lifecycle show image
  tenure lifecycle diff image lifecycles/image.toml")]
pub(crate) enum LifecycleCommand {
    /// Prove files: every flaw at once, each with its rule, its place and what would mend it
    #[command(before_help = "Examples:
  tenure lifecycle check lifecycles/engine.toml
  tenure lifecycle check lifecycles/*.toml -o json

Exits with 0 if all pass, with 7 if one does not, with 5 if one is not there.")]
    Check(Check),
    /// Print what a lifecycle is: a drawing, its rules, its ranks and its longest life
    #[command(before_help = "Examples:
  tenure lifecycle show engine
  tenure lifecycle show lifecycles/engine.toml -o json
  tenure lifecycle show engine --format svg > engine.svg")]
    Show(Show),
    /// List the lifecycles that are built in
    #[command(before_help = "Examples:
  tenure lifecycle list
  tenure lifecycle list -o name")]
    List,
    /// Say what a new version adds, removes and changes, and whether live jobs could go on under it
    #[command(before_help = "Examples:
  tenure lifecycle diff engine lifecycles/engine.toml
  tenure lifecycle diff engine lifecycles/engine.toml -o json

Exits with 6 if live jobs of the old one could not go on under the new.")]
    Diff(Diff),
}

/// `tenure lifecycle check`.
#[derive(ClapArgs)]
pub(crate) struct Check {
    /// Lifecycle files
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<String>,
}

/// `tenure lifecycle show`.
#[derive(ClapArgs)]
pub(crate) struct Show {
    /// A lifecycle that is built in, or a file
    #[arg(value_name = "NAME|FILE")]
    pub(crate) lifecycle: String,
    /// Only the drawing, in this format
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(crate) format: Option<Format>,
}

/// How a lifecycle is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For a terminal
    Text,
    /// A Mermaid state diagram
    Mermaid,
    /// For Graphviz
    Dot,
    /// For a browser
    Svg,
}

/// `tenure lifecycle diff`.
#[derive(ClapArgs)]
pub(crate) struct Diff {
    /// The old one: built in, or a file
    #[arg(value_name = "OLD")]
    pub(crate) old: String,
    /// The new one: built in, or a file
    #[arg(value_name = "NEW")]
    pub(crate) new: String,
}
