//! `tenure work`: a worker out of any program. Claims, leases and reports are the SDK's; here are the program, its
//! words, and the signals.

mod child;
mod lines;
mod log;

use std::path::Path;
use std::sync::Arc;

use anyhow::{Result, anyhow};
use serde_json::Value;
use tenure_client::{Job, Worker};
use tenure_server::telemetry::{self, TelemetrySettings};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use crate::args::Work;
use crate::client::Server;
use crate::output::{self, Exit, Trouble};
use child::Program;

/// What the signals have said so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Order {
    Work,
    /// No new jobs; those begun finish.
    Drain,
    /// Those begun are ended and released.
    Kill,
}

pub(crate) async fn run(args: Work, server: &Server) -> Result<Exit> {
    let Work { types, slots, queues, name, retry_on, command } = args;
    let settings = TelemetrySettings { filter: "warn".to_owned(), ..TelemetrySettings::default() };
    let _telemetry = telemetry::start(&settings).map_err(|why| anyhow!(why))?;
    if !is_there(&command[0]) {
        let sentence = format!("there is no program {}", command[0]);
        return Err(Trouble::new(Exit::NotFound, sentence).into());
    }
    let (orders, mut told) = watch::channel(Order::Work);
    tokio::spawn(listen(orders)?);
    let program = Arc::new(Program { command, retry_on, client: server.client.clone(), told: told.clone() });
    let mut worker = Worker::new(server.client.clone()).slots(slots.into()).queues(queues);
    if let Some(name) = name {
        worker = worker.name(name);
    }
    for job_type in &types {
        let program = program.clone();
        worker = worker.on(job_type, move |job: Job<Value>| program.clone().attempt(job));
    }
    let at = server.client.url();
    output::words(&format!("working on {} from {at}, {slots} at a time", types.join(", ")));
    let drain = async {
        // An error means that nobody listens any more, which is not a reason to stop.
        if told.wait_for(|order| *order >= Order::Drain).await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    worker.run_until(drain).await?;
    Ok(Exit::Done)
}

/// Hears SIGTERM and ctrl-c: the first drains, the second kills.
fn listen(orders: watch::Sender<Order>) -> Result<impl Future<Output = ()>> {
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    Ok(async move {
        for (order, words) in [
            (Order::Drain, "no new jobs; those begun finish (again to end and release them)"),
            (Order::Kill, "the jobs are ended and released"),
        ] {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            output::words(words);
            orders.send_replace(order);
        }
        // Whoever waits for an order must not take the end of this for one.
        orders.closed().await;
    })
}

/// Whether the shell would find it: jobs should not be the ones to learn that it is misspelt.
fn is_there(program: &str) -> bool {
    if program.contains('/') {
        return Path::new(program).is_file();
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}
