//! `tenure lifecycle …`.

use clap::{Args as ClapArgs, Subcommand, ValueEnum};

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
