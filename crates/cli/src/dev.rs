//! `tenure dev`: the whole thing on this machine, nothing configured. A server on an embedded store in this folder, and,
//! unless it is to be empty, demo types with a worker inside, so that jobs move from the first second.

mod browser;
mod demo;

use anyhow::Result;
use tenure_client::Client;
use tenure_server::config::{Config, LogConfig, LogFormat, StoreAt};
use tenure_server::telemetry::{self, TelemetrySettings};
use tenure_server::{ServeError, Server};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use crate::args::Dev;
use crate::output::{self, Exit, Trouble};

pub(crate) fn run(dev: &Dev, key: Option<&str>) -> Result<Exit> {
    let log = LogConfig { format: LogFormat::Text, filter: "warn,tenure_runtime=error".to_owned() };
    let telemetry = TelemetrySettings { filter: log.filter.clone(), ..TelemetrySettings::default() };
    let telemetry = telemetry::start(&telemetry).map_err(anyhow::Error::msg)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let exit = runtime.block_on(develop(dev, log, key));
    runtime.shutdown_timeout(std::time::Duration::from_secs(1));
    telemetry.shutdown().map_err(anyhow::Error::msg)?;
    exit
}

async fn develop(dev: &Dev, log: LogConfig, key: Option<&str>) -> Result<Exit> {
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let listen = dev.listen.parse().map_err(|_| {
        Trouble::new(Exit::Usage, format!("`{}` is not an address", dev.listen))
            .help("say --listen 127.0.0.1:7117")
    })?;
    let store = StoreAt::Data(dev.data.clone());
    let definitions = if dev.empty { tenure_runtime::Definitions::default() } else { demo::definitions() };
    let config = Config { listen, store, definitions, log, ..Config::default() };
    let server = match Server::start(config).await {
        Ok(server) => server,
        Err(error @ (ServeError::Open(_) | ServeError::Listen(..))) => {
            return Err(Trouble::new(Exit::Failed, error.to_string()).help("say another --listen").into());
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
    // Whoever works in here ends first: what it holds is finished or given back.
    let _ = stop.send(true);
    if let Some(demo) = demo {
        demo.await?;
    }
    server.stop().await;
    Ok(Exit::Done)
}

fn greet(dev: &Dev, server: &Server, url: &str) {
    let open =
        if server.is_open() { "no keys needed on this machine" } else { "keys needed: set TENURE_KEY" };
    output::words(&format!("tenure {} · {url} · {open}", env!("CARGO_PKG_VERSION")));
    output::words(&format!("  look   {url}/ui    api   {url}/docs"));
    output::words(&format!("  data   {} (embedded)", dev.data.display()));
    if dev.empty {
        output::words("  empty: any type is taken; `tenure work TYPE -- COMMAND` is a worker");
    } else {
        output::words(&format!("  demo   {}, with a worker inside", demo::NAMES.join(", ")));
        output::words("  try    tenure run flaky");
    }
}

/// A client of the server inside.
fn client(url: &str, key: Option<&str>) -> tenure_client::Result<Client> {
    let client = Client::new(url)?;
    Ok(match key {
        Some(key) => client.with_key(key),
        None => client,
    })
}
