//! `tenure top`.

use clap::{Args as ClapArgs, ValueEnum};

pub(super) const HELP: &str = "Examples:
  tenure top
  tenure top jobs state:failed type:image
  tenure top dead since:1d

Keys: 1 to 5 or :map :jobs :dead :workers :log select a view, / filters with the flags of `tenure job list`, enter opens,
e explains, l shows the log, h the history, space marks, c cancels, r retries, p pauses, ? lists all keys, q quits.";

#[derive(ClapArgs)]
pub(crate) struct TopArgs {
    /// View to open first
    #[arg(value_enum, default_value_t = View::Map)]
    pub(crate) view: View,
    /// Filter for the rows, such as state:failed type:image
    pub(crate) filter: Vec<String>,
}

/// A view of `tenure top`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum View {
    /// Lifecycles with the number of jobs in each state
    Map,
    /// Jobs, newest first
    Jobs,
    /// Dead letters, newest first
    Dead,
    /// Workers
    Workers,
    /// The journal, newest first
    Log,
}
