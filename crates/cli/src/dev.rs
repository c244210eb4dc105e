//! `tenure dev`: a server on an embedded store in this folder, without configuration, with demo types and a worker.

mod browser;
mod demo;

use anyhow::Result;
use tenure_config::{Config, LogConfig, LogFormat, StoreLocation};
use tenure_server::telemetry;
use tenure_server::{ServeError, Server};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use crate::args::DevArgs;
use crate::output::{self, CliError, Exit};

pub(crate) fn run(dev: &DevArgs, key: Option<&str>) -> Result<Exit> {
    let log = LogConfig { format: LogFormat::Text, filter: "warn,tenure_runtime=error".to_owned() };
    let telemetry = telemetry::start(&log, None).map_err(anyhow::Error::msg)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let exit = runtime.block_on(develop(dev, log, key));
    runtime.shutdown_timeout(std::time::Duration::from_secs(1));
    telemetry.shutdown().map_err(anyhow::Error::msg)?;
    exit
}

async fn develop(dev: &DevArgs, log: LogConfig, key: Option<&str>) -> Result<Exit> {
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let listen = dev.listen.parse().map_err(|_| {
        CliError::new(Exit::Usage, format!("`{}` is not an address", dev.listen))
            .help("pass an address such as --listen 127.0.0.1:7117")
    })?;
    let store = StoreLocation::Data(dev.data.clone());
    let definitions = if dev.empty { tenure_runtime::Definitions::default() } else { demo::definitions() };
    let config = Config { listen, store, definitions, log, ..Config::default() };
    let server = match Server::start(config, tenure_dashboard::pages).await {
        Ok(server) => server,
        Err(error @ (ServeError::Open(_) | ServeError::Listen(..))) => {
            let error = CliError::new(Exit::Failed, error.to_string());
            return Err(error.help("choose another address with --listen").into());
        }
        Err(error) => return Err(error.into()),
    };
    let url = format!("http://{}", server.address());
    greet(dev, &server, &url);
    if !dev.no_open {
        browser::open(&format!("{url}/ui"));
    }
    let (stop, stopping) = watch::channel(false);
    let demo = (!dev.empty).then(|| tokio::spawn(demo::work(url, key.map(str::to_owned), stopping)));
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    // The worker stops before the server, so that its jobs are finished or released.
    let _ = stop.send(true);
    if let Some(demo) = demo {
        demo.await?;
    }
    server.stop().await;
    Ok(Exit::Done)
}

fn greet(dev: &DevArgs, server: &Server, url: &str) {
    let access = if server.is_open() { "no API key needed" } else { "API key required: set TENURE_KEY" };
    output::message(&format!("tenure {} · {url} · {access}", env!("CARGO_PKG_VERSION")));
    output::message(&format!("  dashboard  {url}/ui\n  API        {url}/docs"));
    output::message(&format!("  data       {}", dev.data.display()));
    if dev.empty {
        output::message("  start a worker for any type with `tenure work TYPE -- COMMAND`");
    } else {
        output::message(&format!("  demo jobs  {}", demo::NAMES.join(", ")));
        output::message("  try        tenure run flaky");
    }
}
