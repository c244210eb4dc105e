//! `tenure mcp`.

use clap::Args as ClapArgs;

#[derive(ClapArgs)]
pub(crate) struct McpArgs {
    /// Also offer tools that redrive, retry and cancel jobs and that pause and resume queues
    #[arg(long)]
    pub(crate) allow_changes: bool,
}
