//! `tenure queue …`: lists, pauses and resumes queues.

use anyhow::Result;
use serde_json::{Value, json};
use tenure_api::{CallId, PausedQueue, Queue};

use crate::args::{OutputFormat, QueueCommand};
use crate::client::{Answer, Server};
use crate::output::Exit;
use crate::show::{self, List, text, yes_or_no};

const QUEUES: List<Queue> = List {
    name: |queue| text(&queue.name),
    columns: &[
        ("QUEUE", |queue| text(&queue.name)),
        ("PAUSED", |queue| yes_or_no(queue.paused)),
        ("READY", |queue| text(&queue.ready)),
        ("RUNNING", |queue| text(&queue.running)),
        ("WAITING", |queue| text(&queue.waiting)),
    ],
    wide_columns: &[],
    pairs: |_| Vec::new(),
};

pub(crate) async fn run(command: QueueCommand, server: &Server, format: OutputFormat) -> Result<Exit> {
    let (queue, call) = match command {
        QueueCommand::List => {
            return QUEUES.print(format, &server.page(CallId::ListQueues, &[], &Value::Null).await?);
        }
        QueueCommand::Pause(args) => (args.queue, CallId::PauseQueue),
        QueueCommand::Resume(args) => (args.queue, CallId::ResumeQueue),
    };
    let queue: Answer<PausedQueue> = server.post(call, &[&queue], &json!({})).await?;
    show::one(format, &queue, &text(&queue.name), || {
        vec![("queue", text(&queue.name)), ("paused", yes_or_no(queue.paused))]
    })
}
