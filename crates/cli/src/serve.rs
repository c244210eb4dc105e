//! `tenure serve`: runs the server until a signal stops it. SIGHUP loads the configuration again.

mod reload;

use std::num::NonZero;

use anyhow::{Context as _, Result, anyhow};
use rustix::fs::Mode;
use tenure_config::{Config, Flags, StoreLocation};
use tenure_server::telemetry::{self, Telemetry};
use tenure_server::{ServeError, Server};
use tenure_store::StoreError;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::args::ServeArgs;
use crate::config;
use crate::output::{self, CliError, Exit};

pub(crate) fn run(args: ServeArgs) -> Result<Exit> {
    let ServeArgs { config, listen, data, database_url } = args;
    let flags = Flags { config, listen, data, database_url };
    let loaded = tenure_config::load(&flags, |name| std::env::var(name).ok())
        .map_err(|error| config::explain(&error))?;
    let telemetry =
        telemetry::start(&loaded.config.log, loaded.config.otel.as_ref()).map_err(|error| anyhow!(error))?;
    // Payloads and assets are for this user alone: files are created with mode 0600, folders with 0700.
    rustix::process::umask(Mode::RWXG | Mode::RWXO);
    let threads = threads(&loaded.config.store);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(threads).enable_all().build()?;
    let exit = runtime.block_on(serve(loaded.config, &flags, &telemetry));
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

/// SIGTERM and SIGINT.
struct StopSignals {
    terminate: Signal,
    interrupt: Signal,
}

impl StopSignals {
    async fn recv(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

async fn serve(config: Config, flags: &Flags, telemetry: &Telemetry) -> Result<Exit> {
    let (terminate, interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let mut stop = StopSignals { terminate, interrupt };
    let mut hangup = signal(SignalKind::hangup())?;
    let scheme = if config.tls.is_some() { "https" } else { "http" };
    let started = tokio::select! {
        started = Server::start(config, tenure_dashboard::pages) => started,
        // The database may not be available yet.
        () = stop.recv() => return Ok(Exit::Done),
    };
    let mut server = started.or_else(explain)?;
    let access =
        if server.is_open() { "no keys exist: open to callers on this machine" } else { "API keys required" };
    output::message(&format!(
        "tenure {} · {scheme}://{} · {access}",
        env!("CARGO_PKG_VERSION"),
        server.address()
    ));
    loop {
        tokio::select! {
            () = stop.recv() => break,
            _ = hangup.recv() => {}
        }
        tokio::select! {
            () = stop.recv() => break,
            () = reload::reload(&mut server, flags, telemetry) => {}
        }
    }
    tracing::info!("server draining");
    server.stop().await;
    Ok(Exit::Done)
}

/// Why the server does not start, with the exit code of the process.
pub(crate) fn explain(error: ServeError) -> Result<Server> {
    match error {
        ServeError::Open(_) | ServeError::Config(_) => {
            Err(CliError::new(Exit::Invalid, error.to_string()).into())
        }
        ServeError::Listen(..) => {
            let error = CliError::new(Exit::Failed, error.to_string());
            Err(error.help("choose another address with --listen").into())
        }
        ServeError::Store(StoreError::Unavailable(_) | StoreError::Denied(_)) => {
            Err(CliError::new(Exit::Unreachable, error.to_string()).into())
        }
        error => Err(error).context("cannot start the server"),
    }
}
