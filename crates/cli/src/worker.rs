//! `tenure worker …`: lists workers.

use anyhow::Result;
use serde_json::Value;
use tenure_api::{CallId, WorkerStatus};

use crate::args::{OutputFormat, WorkerCommand};
use crate::client::Server;
use crate::output::Exit;
use crate::show::{List, age, text};

pub(crate) const WORKERS: List<WorkerStatus> = List {
    name: |worker| text(&worker.name),
    columns: &[
        ("WORKER", |worker| text(&worker.name)),
        ("LAST SEEN", |worker| age(worker.seen_at.as_ref())),
        ("STATUS", |worker| text(&worker.status)),
        ("JOBS HELD", |worker| worker.holds.len().to_string()),
    ],
    wide_columns: &[
        ("JOBS", |worker| worker.holds.iter().map(|held| text(&held.job_id)).collect::<Vec<_>>().join(" ")),
        ("SLOTS", |worker| text(&worker.slots)),
        ("HOST", |worker| text(&worker.host)),
        ("VERSION", |worker| text(&worker.version)),
        ("TYPES", |worker| {
            worker
                .types
                .as_ref()
                .map_or_else(String::new, |types| types.iter().map(text).collect::<Vec<_>>().join(" "))
        }),
    ],
    pairs: |_| Vec::new(),
};

pub(crate) async fn run(command: WorkerCommand, server: &Server, format: OutputFormat) -> Result<Exit> {
    let WorkerCommand::List = command;
    WORKERS.print(format, &server.page(CallId::ListWorkers, &[], &Value::Null).await?)
}
