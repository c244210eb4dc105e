//! `tenure top`.

use clap::{Args as ClapArgs, ValueEnum};

/// Examples of `tenure top`, and its keys.
pub(super) const HELP: &str = "Examples:
  tenure top
  tenure top jobs state:failed type:image
  tenure top dead since:1d

Keys: 1 to 5 or :map :jobs :dead :workers :log choose a view, / filters by the filters of `tenure job list`, enter opens,
e explains, l shows the log, h the history, space marks, c cancels, r retries, p pauses, ? shows every key, q quits.";

/// `tenure top`.
#[derive(ClapArgs)]
pub(crate) struct Top {
    /// What to show first
    #[arg(value_enum, default_value_t = View::Map, value_name = "VIEW")]
    pub(crate) view: View,
    /// Which rows, such as state:failed type:image
    #[arg(value_name = "FILTER")]
    pub(crate) filter: Vec<String>,
}

/// What can be looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum View {
    /// Lifecycles, with the number of jobs in each state
    Map,
    /// Jobs, newest first
    Jobs,
    /// Dead letters, newest first
    Dead,
    /// Workers that were heard
    Workers,
    /// The journal, newest first
    Log,
}
