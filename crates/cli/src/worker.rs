//! `tenure worker …`: who works.

use anyhow::Result;

use crate::args::{Form, WorkerCommand};
use crate::client::{Query, Server};
use crate::output::Exit;
use crate::show::{List, age, text};

/// Workers, for people.
pub(crate) const WORKERS: List = List {
    plural: "workers",
    name: "name",
    columns: &[
        ("WORKER", |worker| text(&worker["name"])),
        ("SEEN", |worker| age(&worker["seen_at"])),
        ("HOLDS", |worker| worker["holds"].as_array().map_or(0, Vec::len).to_string()),
    ],
    more: &[("JOBS", |worker| {
        let held = worker["holds"].as_array().into_iter().flatten();
        held.map(|held| text(&held["job_id"])).collect::<Vec<_>>().join(" ")
    })],
};

/// Runs one.
pub(crate) async fn run(command: WorkerCommand, server: &Server, form: Form) -> Result<Exit> {
    let WorkerCommand::List = command;
    WORKERS.print(form, &server.get("/api/workers", &Query::new()).await?)?;
    Ok(Exit::Done)
}
