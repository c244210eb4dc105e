//! `tenure serve`: runs the server until a signal stops it.

use std::num::NonZero;

use anyhow::{Context as _, Result, anyhow};
use rustix::fs::Mode;
use tenure_config::{Config, Flags, StoreLocation};
use tenure_server::telemetry;
use tenure_server::{ServeError, Server};
use tenure_store::StoreError;
use tokio::signal::unix::{SignalKind, signal};

use crate::args::ServeArgs;
use crate::output::{self, CliError, Exit};

pub(crate) fn run(args: ServeArgs) -> Result<Exit> {
    let ServeArgs { config, listen, data, database_url } = args;
    let flags = Flags { config, listen, data, database_url };
    let loaded = tenure_config::load(&flags, |name| std::env::var(name).ok())
        .map_err(|error| CliError::new(Exit::Invalid, error.to_string()))?;
    let telemetry =
        telemetry::start(&loaded.config.log, loaded.config.otel.as_ref()).map_err(|error| anyhow!(error))?;
    // Payloads and assets are for this user alone: files are created with mode 0600, folders with 0700.
    rustix::process::umask(Mode::RWXG | Mode::RWXO);
    let threads = threads(&loaded.config.store);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(threads).enable_all().build()?;
    let exit = runtime.block_on(serve(loaded.config));
    runtime.shutdown_timeout(std::time::Duration::from_secs(1));
    if let Err(error) = telemetry.shutdown() {
        output::message(&format!("tenure: the last traces were not sent: {error}"));
    }
    exit
}

/// Threads for requests: one per core, minus the core that the embedded store's writer keeps busy. With one thread
/// more, throughput on two cores is 10 % lower.
fn threads(store: &StoreLocation) -> usize {
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    match store {
        StoreLocation::Data(_) => (cores - 1).max(1),
        StoreLocation::Database(_) => cores,
    }
}

async fn serve(config: Config) -> Result<Exit> {
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let scheme = if config.tls.is_some() { "https" } else { "http" };
    let started = tokio::select! {
        started = Server::start(config, tenure_dashboard::pages) => started,
        // The database may not be available yet.
        _ = terminate.recv() => return Ok(Exit::Done),
        _ = interrupt.recv() => return Ok(Exit::Done),
    };
    let server = match started {
        Ok(server) => server,
        Err(error @ (ServeError::Open(_) | ServeError::Config(_))) => {
            return Err(CliError::new(Exit::Invalid, error.to_string()).into());
        }
        Err(error @ ServeError::Listen(..)) => {
            let error = CliError::new(Exit::Failed, error.to_string());
            return Err(error.help("choose another address with --listen").into());
        }
        Err(error @ ServeError::Store(StoreError::Unavailable(_) | StoreError::Denied(_))) => {
            return Err(CliError::new(Exit::Unreachable, error.to_string()).into());
        }
        Err(error) => return Err(error).context("cannot start the server"),
    };
    let access =
        if server.is_open() { "no keys exist: open to callers on this machine" } else { "API keys required" };
    output::message(&format!(
        "tenure {} · {scheme}://{} · {access}",
        env!("CARGO_PKG_VERSION"),
        server.address()
    ));
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    tracing::info!("server draining");
    server.stop().await;
    Ok(Exit::Done)
}
