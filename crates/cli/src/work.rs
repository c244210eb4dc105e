//! `tenure work`: runs a program for each job. The SDK claims, renews leases and reports; this module starts the
//! program, reads its output and handles signals.

mod child;
mod commands;
mod folder;
mod lines;
mod log;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Result, anyhow};
use serde_json::Value;
use tenure_client::{Job, Worker};
use tenure_config::LogConfig;
use tenure_server::telemetry;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use crate::args::WorkArgs;
use crate::client::Server;
use crate::output::{self, CliError, Exit};
use child::Program;

/// What the worker does, as signals change it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Mode {
    Claim,
    /// Claims no more jobs; running jobs finish.
    Drain,
    /// Stops running jobs and releases them.
    Kill,
}

pub(crate) async fn run(args: WorkArgs, server: &Server) -> Result<Exit> {
    let WorkArgs { types, slots, queues, name, retry_on, cwd, commands_in_output, command } = args;
    let log = LogConfig { filter: "warn".to_owned(), ..LogConfig::default() };
    let _telemetry = telemetry::start(&log, None).map_err(|error| anyhow!(error))?;
    let Some(path) = find_program(&command[0]) else {
        return Err(CliError::new(Exit::NotFound, format!("there is no program {}", command[0]))
            .help("put the program and its arguments after --")
            .into());
    };
    let cwd = cwd.map(|folder| working_folder(&folder)).transpose()?;
    let (sender, mut mode) = watch::channel(Mode::Claim);
    tokio::spawn(handle_signals(sender)?);
    let (client, signals) = (server.client.clone(), mode.clone());
    let program =
        Arc::new(Program { path, command, cwd, commands_in_output, retry_on, client, mode: signals });
    let mut worker = Worker::new(server.client.clone()).slots(slots.into()).queues(queues);
    if let Some(name) = name {
        worker = worker.name(name);
    }
    for job_type in &types {
        let program = program.clone();
        worker = worker.on(job_type, move |job: Job<Value>| program.clone().attempt(job));
    }
    let url = without_password(server.client.url());
    output::message(&format!("working on {} from {url}, {slots} at a time", types.join(", ")));
    let drain = async {
        // An error means that signals are no longer handled, which is not a reason to stop.
        if mode.wait_for(|mode| *mode >= Mode::Drain).await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    worker.run_until(drain).await?;
    Ok(Exit::Done)
}

/// Handles SIGTERM and SIGINT: the first drains, the second kills.
fn handle_signals(mode: watch::Sender<Mode>) -> Result<impl Future<Output = ()>> {
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    Ok(async move {
        for (next, message) in [
            (Mode::Drain, "no new jobs; waiting for running jobs (repeat to stop and release them)"),
            (Mode::Kill, "stopping and releasing running jobs"),
        ] {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            output::message(message);
            mode.send_replace(next);
        }
        // Dropping the sender would wake its receivers.
        mode.closed().await;
    })
}

/// An address as it is shown.
fn without_password(url: &str) -> String {
    match url.split_once("://") {
        Some((scheme, rest)) => {
            format!("{scheme}://{}", rest.rsplit_once('@').map_or(rest, |(_, host)| host))
        }
        None => url.to_owned(),
    }
}

/// The program that the shell would run, as an absolute path: it runs in another folder. Looked up at the start, so that
/// a misspelt name fails no job.
fn find_program(program: &str) -> Option<PathBuf> {
    let absolute = |path: &Path| std::path::absolute(path).ok().filter(|path| path.is_file());
    if program.contains('/') {
        return absolute(Path::new(program));
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).find_map(|folder| absolute(&folder.join(program)))
}

fn working_folder(folder: &Path) -> Result<PathBuf> {
    if !folder.is_dir() {
        let error = CliError::new(Exit::NotFound, format!("there is no folder {}", folder.display()));
        return Err(error.help("choose a folder with --cwd, or run programs in the job's without it").into());
    }
    Ok(std::path::absolute(folder)?)
}
