//! `tenure mcp`: a server of the Model Context Protocol on stdin and stdout, with tools for coding agents.
//!
//! Every tool that needs a Tenure server calls it through the SDK, with the rights of its key. Tools that change something exist
//! only with `--allow-changes`. stdout has protocol messages only; log lines go to stderr.

mod answer;
mod arguments;
mod changes;
mod error;
mod handler;
mod reads;
mod shape;
mod tools;

use anyhow::{Result, anyhow};
use rmcp::ServiceExt as _;
use rmcp::service::ServerInitializeError;
use rmcp::transport::stdio;
use tenure_config::{LogConfig, LogFormat};
use tenure_server::telemetry;

use crate::args::{McpArgs, ServerArgs};
use crate::client::Server;
use crate::output::Exit;
use handler::Handler;

/// Without warnings of the protocol's library, which quote what the client sent.
const LOG_FILTER: &str = "warn,tenure::mcp=info,rmcp=error";

pub(crate) fn run(args: &McpArgs, server: &ServerArgs) -> Result<Exit> {
    let log = LogConfig { format: LogFormat::Text, filter: LOG_FILTER.to_owned() };
    let _telemetry = telemetry::start(&log, None).map_err(|error| anyhow!(error))?;
    crate::call(server, async |server| serve(server.clone(), args.allow_changes).await)
}

/// Serves one client until its input ends; calls in progress are answered first.
async fn serve(server: Server, allow_changes: bool) -> Result<Exit> {
    let handler = Handler::new(server, allow_changes);
    let (tools, changes) = (handler.tools().count(), allow_changes);
    tracing::info!(tools, changes, "mcp server started");
    match handler.serve(stdio()).await {
        Ok(running) => {
            running.waiting().await?;
            Ok(Exit::Done)
        }
        Err(ServerInitializeError::ConnectionClosed(_)) => Ok(Exit::Done),
        Err(error) => Err(error.into()),
    }
}
