//! `tenure serve`: the server, until it is told to stop.

use std::num::NonZero;

use anyhow::{Context as _, Result, anyhow};
use tenure_server::config::{self, Config, Flags, LogFormat, StoreAt};
use tenure_server::telemetry::{self, Format, TelemetrySettings};
use tenure_server::{ServeError, Server};
use tenure_store::StoreError;
use tokio::signal::unix::{SignalKind, signal};

use crate::args::Serve;
use crate::output::{self, Exit};

pub(crate) fn run(serve: Serve) -> Result<Exit> {
    let Serve { config, listen, data, database_url } = serve;
    let flags = Flags { config, listen, data, database_url };
    let loaded = match config::load(&flags, |name| std::env::var(name).ok()) {
        Ok(loaded) => loaded,
        Err(error) => {
            output::words(&format!("tenure: {error}"));
            return Ok(Exit::Flawed);
        }
    };
    let telemetry = telemetry::start(&telemetry_of(&loaded.config)).map_err(|why| anyhow!(why))?;
    let threads = threads(&loaded.config.store);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(threads).enable_all().build()?;
    let exit = runtime.block_on(serve_until_told(loaded.config));
    runtime.shutdown_timeout(std::time::Duration::from_secs(1));
    if let Err(why) = telemetry.shutdown() {
        output::words(&format!("tenure: the last traces were not sent: {why}"));
    }
    exit
}

/// Threads for requests: one for each core, less the one that the embedded store's writer keeps busy. Another beside it
/// would only take turns with it: on two cores that costs a tenth of the rate.
fn threads(store: &StoreAt) -> usize {
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    match store {
        StoreAt::Data(_) => (cores - 1).max(1),
        StoreAt::Database(_) => cores,
    }
}

fn telemetry_of(config: &Config) -> TelemetrySettings {
    TelemetrySettings {
        format: match config.log.format {
            LogFormat::Text => Format::Text,
            LogFormat::Json => Format::Json,
        },
        filter: config.log.filter.clone(),
        otlp_endpoint: config.otel.as_ref().map(|otel| otel.endpoint.clone()),
    }
}

async fn serve_until_told(config: Config) -> Result<Exit> {
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let scheme = if config.tls.is_some() { "https" } else { "http" };
    let server = match Server::start(config).await {
        Ok(server) => server,
        Err(error @ (ServeError::Open(_) | ServeError::Config(_))) => {
            output::words(&format!("tenure: {error}"));
            return Ok(Exit::Flawed);
        }
        Err(error @ ServeError::Store(StoreError::Unavailable(_))) => {
            output::words(&format!("tenure: {error}"));
            return Ok(Exit::Unreachable);
        }
        Err(error) => return Err(error).context("the server does not start"),
    };
    let open = if server.is_open() { "open: no keys, this machine alone" } else { "closed: keys are needed" };
    output::words(&format!(
        "tenure {} · {scheme}://{} · {open}",
        env!("CARGO_PKG_VERSION"),
        server.address()
    ));
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    tracing::info!("stopping: open requests finish");
    server.stop().await;
    Ok(Exit::Done)
}
