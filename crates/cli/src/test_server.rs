//! `tenure test-server`: a server in memory for the tests of an application. Its clock stands still; a line on standard input moves
//! it. The test kits of the SDKs use it.

use std::io::{self, BufRead as _};
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Result, anyhow};
use serde_json::{Value, json};
use tenure_config::Flags;
use tenure_core::time::{Millis, Timestamp};
use tenure_server::{Server, telemetry};
use tenure_store::{Backend as _, MemoryStore};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

use crate::config;
use crate::output::{self, Exit};
use crate::serve::explain;

/// The longest step of the clock: ten years.
const STEP_MAX: Millis = Millis(10 * 365 * 24 * 3_600_000);

pub(crate) fn run(config: Option<PathBuf>, listen: String) -> Result<Exit> {
    let flags = Flags { config, listen: Some(listen), data: None, database_url: None };
    let loaded = tenure_config::load(&flags, |name| std::env::var(name).ok())
        .map_err(|error| config::explain(&error))?;
    let telemetry = telemetry::start(&loaded.config.log, None).map_err(|error| anyhow!(error))?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let exit = runtime.block_on(async {
        let store = MemoryStore::with_manual_clock(start_of_clock());
        let started = Server::start_on(store.clone().into(), loaded.config, tenure_dashboard::pages).await;
        let server = started.or_else(explain)?;
        print(&json!({ "url": format!("http://{}", server.address()), "now": now(&store).await? }))?;
        let result = run_commands(&store).await;
        server.stop().await;
        result.map(|()| Exit::Done)
    });
    runtime.shutdown_timeout(std::time::Duration::from_secs(1));
    telemetry.shutdown().map_err(anyhow::Error::msg)?;
    exit
}

/// The clock starts with the machine's time, in whole seconds.
fn start_of_clock() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(since.as_secs() as i64 * 1000)
}

/// Executes the lines of standard input until it ends, or until a signal.
async fn run_commands(store: &MemoryStore) -> Result<()> {
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let mut lines = input();
    loop {
        let line = tokio::select! {
            line = lines.recv() => line,
            _ = terminate.recv() => None,
            _ = interrupt.recv() => None,
        };
        let Some(line) = line else { return Ok(()) };
        print(&answer(store, &line).await?)?;
    }
}

/// The lines of standard input. A thread reads them, because a read cannot be abandoned.
fn input() -> mpsc::UnboundedReceiver<String> {
    let (sender, lines) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        io::stdin().lock().lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
    });
    lines
}

async fn answer(store: &MemoryStore, line: &str) -> Result<Value> {
    let span = line.trim().strip_prefix("advance ").and_then(Millis::parse).filter(|span| *span <= STEP_MAX);
    let Some(span) = span else {
        return Ok(json!({ "error": "write `advance SPAN`, with a span such as 500ms or 1h 30m" }));
    };
    store.advance(span);
    Ok(json!({ "now": now(store).await? }))
}

async fn now(store: &MemoryStore) -> Result<String> {
    Ok(store.now().await?.at.to_string())
}

/// Writes a JSON object as one line to standard output.
fn print(line: &Value) -> Result<()> {
    Ok(output::data(&line.to_string())?)
}
