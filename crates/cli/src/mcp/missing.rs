//! `tenure mcp` in a binary that was built without the cargo feature `mcp`.

use anyhow::Result;

use crate::args::{McpArgs, ServerArgs};
use crate::output::{CliError, Exit};

pub(crate) fn run(args: &McpArgs, _: &ServerArgs) -> Result<Exit> {
    let McpArgs { allow_changes: _ } = args;
    let message = "this binary was built without the cargo feature `mcp`";
    let help = "use a release, or build it with `cargo install --path crates/cli --features full`";
    Err(CliError::new(Exit::Failed, message).help(help).into())
}
