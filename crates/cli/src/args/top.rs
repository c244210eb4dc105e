//! `tenure top`.

use clap::{Args as ClapArgs, ValueEnum};

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
    /// Queues with the number, age and rates of their ready jobs
    Queues,
}
