//! `tenure lifecycle …`.

use clap::{Args as ClapArgs, Subcommand, ValueEnum};

#[derive(Subcommand)]
#[command(before_help = "Examples:
  tenure lifecycle check lifecycles/*.toml
  tenure lifecycle show image
  tenure lifecycle diff image lifecycles/image.toml

These commands need no server.")]
pub(crate) enum LifecycleCommand {
    /// Check lifecycle files and report every flaw with its rule, its place and a suggestion
    #[command(before_help = "Examples:
  tenure lifecycle check lifecycles/engine.toml
  tenure lifecycle check lifecycles/*.toml -o json

Exits with 0 if all files pass, with 7 if one has a flaw, with 5 if one does not exist.")]
    Check(CheckArgs),
    /// Show a lifecycle: diagram, rules, ranks and longest possible duration
    #[command(before_help = "Examples:
  tenure lifecycle show engine
  tenure lifecycle show lifecycles/engine.toml -o json
  tenure lifecycle show engine --format svg > engine.svg")]
    Show(ShowArgs),
    /// List the built-in lifecycles
    #[command(before_help = "Examples:
  tenure lifecycle list
  tenure lifecycle list -o name")]
    List,
    /// Show what a new version adds, removes and changes, and whether live jobs could continue under it
    #[command(before_help = "Examples:
  tenure lifecycle diff engine lifecycles/engine.toml
  tenure lifecycle diff engine lifecycles/engine.toml -o json

Exits with 6 if live jobs of the old version could not continue under the new one.")]
    Diff(DiffArgs),
}

#[derive(ClapArgs)]
pub(crate) struct CheckArgs {
    /// Lifecycle files
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<String>,
}

#[derive(ClapArgs)]
pub(crate) struct ShowArgs {
    /// Built-in lifecycle or file
    #[arg(value_name = "NAME|FILE")]
    pub(crate) lifecycle: String,
    /// Print only the diagram, in this format
    #[arg(long, value_enum)]
    pub(crate) format: Option<DiagramFormat>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DiagramFormat {
    /// For a terminal
    Text,
    /// A Mermaid state diagram
    Mermaid,
    /// For Graphviz
    Dot,
    /// For a browser
    Svg,
}

#[derive(ClapArgs)]
pub(crate) struct DiffArgs {
    /// Old version: built-in lifecycle or file
    pub(crate) old: String,
    /// New version: built-in lifecycle or file
    pub(crate) new: String,
}
