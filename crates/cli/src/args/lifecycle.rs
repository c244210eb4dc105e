//! `tenure lifecycle …`.

use clap::{Subcommand, ValueEnum};

#[derive(Subcommand)]
pub(crate) enum LifecycleCommand {
    /// Check lifecycle files and report every flaw with its rule, its place and a suggestion
    Check {
        /// Lifecycle files
        #[arg(required = true, value_name = "FILE")]
        files: Vec<String>,
    },
    /// Show a lifecycle: diagram, rules, ranks and longest possible duration
    Show {
        /// Built-in lifecycle or file
        #[arg(value_name = "NAME|FILE")]
        lifecycle: String,
        /// Print only the diagram, in this format
        #[arg(long, value_enum)]
        format: Option<DiagramFormat>,
    },
    /// List the built-in lifecycles
    List,
    /// Show what a new version adds, removes and changes, and whether live jobs could continue under it
    Diff {
        /// Old version: built-in lifecycle or file
        old: String,
        /// New version: built-in lifecycle or file
        new: String,
    },
    /// Show which live jobs could follow a new version, and how finished ones would have ended under it
    WhatIf {
        /// New version of a lifecycle that the server has
        file: String,
        /// Replay jobs that finished in this time before now
        #[arg(long, value_name = "SPAN", default_value = "1d")]
        since: String,
    },
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
