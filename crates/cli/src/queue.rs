//! `tenure queue …`: what waits, and where.

use anyhow::Result;
use serde_json::{Value, json};

use crate::args::{Form, QueueCommand};
use crate::client::{Query, Server, escaped};
use crate::output::Exit;
use crate::show::{self, List, text};

const QUEUES: List = List {
    plural: "queues",
    name: "name",
    columns: &[
        ("QUEUE", |queue| text(&queue["name"])),
        ("PAUSED", |queue| yes(&queue["paused"])),
        ("READY", |queue| text(&queue["ready"])),
        ("RUNNING", |queue| text(&queue["running"])),
        ("WAITING", |queue| text(&queue["waiting"])),
    ],
    more: &[],
};

fn yes(value: &Value) -> String {
    if *value == json!(true) { "yes" } else { "no" }.to_owned()
}

/// Runs one.
pub(crate) async fn run(command: QueueCommand, server: &Server, form: Form) -> Result<Exit> {
    let (queue, verb) = match command {
        QueueCommand::List => {
            QUEUES.print(form, &server.get("/api/queues", &Query::new()).await?)?;
            return Ok(Exit::Done);
        }
        QueueCommand::Pause(args) => (args.queue, "pause"),
        QueueCommand::Resume(args) => (args.queue, "resume"),
    };
    let answer = server.post(&format!("/api/queues/{}/{verb}", escaped(&queue)), &json!({})).await?;
    show::one(form, &answer, "name", || {
        vec![("queue", text(&answer["name"])), ("paused", yes(&answer["paused"]))]
    })?;
    Ok(Exit::Done)
}
