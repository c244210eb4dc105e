//! `tenure mcp`: the real binary, spoken to over pipes.

mod changes;
mod limits;
mod protocol;
mod reads;

use tenure_client::Client;
use tenure_e2e::cli::CliServer;
use tenure_e2e::mcp::McpSession;

const READING: &str = "list_jobs get_job explain_job job_history job_logs list_dead_letters error_summary list_queues list_workers \
                       list_lifecycles show_lifecycle check_lifecycle";
const CHANGING: &str = "redrive_dead_letters retry_job cancel_job pause_queue resume_queue";

/// A session with the server, initialized.
fn session(server: &CliServer, flags: &[&str]) -> McpSession {
    let mut command = server.command();
    command.arg("mcp").args(flags);
    McpSession::initialized(command)
}

/// The SDK with the key of the commands.
fn sdk(server: &CliServer) -> Client {
    let client = Client::new(server.url()).unwrap();
    match &server.key {
        Some(key) => client.with_key(key),
        None => client,
    }
}

/// A job in the dead letters.
fn dead_job(server: &CliServer) -> String {
    let id = server.create(&["idle"]);
    server.run_ok(&["job", "dead-letter", &id, "--reason-code", "policy_violation"]);
    id
}
