//! `tenure bench`: throughput and latency of a server, measured next to the limits of the same machine in the same run:
//! the disk alone, the runtime without HTTP, a server that only answers `/healthz`.

mod cpu_split;
mod database;
mod disk;
mod embedded;
mod engines;
mod flow;
mod load;
mod machine;
mod pages;
mod report;
mod stores;

use std::io;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use tenure_launcher::ServerProcess;
use tokio::task::JoinSet;

use crate::args::{BenchArgs, OutputFormat, ServerArgs};
use crate::output::{self, CliError, Exit};
use cpu_split::CpuSplit;
use embedded::Embedded;
use load::Load;
use report::Report;

pub(crate) fn run(bench: &BenchArgs, format: OutputFormat, server: &ServerArgs) -> Result<Exit> {
    if let Some(store) = &bench.open {
        let opened = threads(1)?.block_on(stores::open_and_verify(store, bench.database_url.as_deref()))?;
        output::json(OutputFormat::Json, &json!(opened))?;
        return Ok(Exit::Done);
    }
    let folder = tempfile::tempdir().context("no temporary folder for the store")?;
    if !bench.stores.is_empty() {
        let comparison = threads(half())?.block_on(stores::measure(bench, folder.path()))?;
        report::print_stores(format, &comparison)?;
        return Ok(Exit::Done);
    }
    if let Some(jobs) = bench.flow {
        let measured = threads(machine::cores())?.block_on(flow::measure(bench, jobs, folder.path()))?;
        flow::print(format, &measured)?;
        return Ok(Exit::Done);
    }
    let callers = match bench.callers[..] {
        [] => 128,
        [callers] => callers,
        _ => return Err(CliError::new(Exit::Usage, "several numbers of --callers need --stores").into()),
    };
    if bench.pages > 0 {
        let pages = threads(half())?.block_on(pages::with_jobs(bench.pages, folder.path()))?;
        report::print_pages(format, bench.pages, &pages)?;
        return Ok(Exit::Done);
    }
    let mut report = Report::default();
    if bench.running {
        let load = Load { url: server.server.clone(), key: server.key()? };
        threads(half())?.block_on(measure_server(bench, callers, &load, &mut report, None))?;
    } else {
        threads(half())?.block_on(measure_alone(bench, callers, folder.path(), &mut report))?;
        let split = CpuSplit::of_machine()?;
        split.pin_load()?;
        threads(split.load_threads())?.block_on(async {
            let server = split.for_server(|| start_server(&folder.path().join("served")))?;
            let load = Load { url: server.url().to_owned(), key: None };
            let pid = Some(server.process().id());
            measure_server(bench, callers, &load, &mut report, pid).await?;
            stop_server(server)
        })?;
    }
    report.print(format)?;
    Ok(Exit::Done)
}

fn threads(count: usize) -> io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread().worker_threads(count).enable_all().build()
}

/// Starts this binary as a server on the store in this folder.
fn start_server(data: &Path) -> io::Result<ServerProcess> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(data);
    command.env_clear().env("TENURE_LOG_FILTER", "warn").current_dir(data.parent().unwrap_or(data));
    ServerProcess::start_with(command, |line| {
        if !line.starts_with("tenure ") {
            output::message(line);
        }
    })
}

fn stop_server(mut server: ServerProcess) -> Result<()> {
    let status = server.terminate()?;
    ensure!(status.success(), "the server exited with {status}");
    Ok(())
}

fn half() -> usize {
    machine::cores().div_ceil(2)
}

/// The payload of every job: 200 bytes.
fn payload() -> Value {
    json!({ "text": "x".repeat(189) })
}

/// Measures what needs no server: the disk and the runtime.
async fn measure_alone(bench: &BenchArgs, callers: usize, folder: &Path, report: &mut Report) -> Result<()> {
    let span = Duration::from_secs(bench.seconds);
    report.disk_syncs_per_second = Some(disk::syncs_per_second(folder, span.min(Duration::from_secs(2)))?);
    let embedded = Embedded::open(&folder.join("embedded")).await?;
    report.runtime_per_second = Some(embedded.drive(callers, 1, span).await?.per_second());
    report.runtime_batches_per_second =
        Some(embedded.drive(bench.batch_callers, bench.batch, span).await?.per_second());
    embedded.close().await;
    Ok(())
}

/// Measures everything that needs a server. `pid` is the server's, if its memory can be read.
async fn measure_server(
    bench: &BenchArgs,
    callers: usize,
    load: &Load,
    report: &mut Report,
    pid: Option<u32>,
) -> Result<()> {
    let span = Duration::from_secs(bench.seconds);
    report.healthz_per_second = Some(load.healthz(callers, span).await?);
    report.singles_per_second = Some(load.singles(callers, span).await?);
    report.batches_per_second = Some(load.batches(bench.batch_callers, bench.batch, span).await?);
    report.latency_us = Some(load.latency(bench.samples).await?);
    if bench.engines > 0 {
        report.engines = Some(bench.engines);
        report.engines_per_second = Some(load.engines(bench.engines, span).await?);
    }
    if bench.idle > 0 {
        let before = pid.map(machine::resident_bytes).transpose()?;
        let connections = load.open_idle(bench.idle).await?;
        report.idle_open = Some(bench.idle);
        report.idle_singles_per_second = Some(load.singles(callers, span).await?);
        let after = pid.map(machine::resident_bytes).transpose()?;
        report.idle_bytes = before.zip(after).map(|(before, after)| after.saturating_sub(before));
        drop(connections);
    }
    if bench.dashboards > 0 {
        // The rate without dashboards is the mean of one before and one after: the store grows meanwhile.
        let before = load.singles(callers, span).await?;
        let connections = pages::open(&load.url, bench.dashboards).await?;
        report.dashboards_open = Some(bench.dashboards);
        report.dashboards_singles_per_second = Some(load.singles(callers, span).await?);
        drop(connections);
        let after = load.singles(callers, span).await?;
        report.dashboards_without_per_second = Some(f64::midpoint(before, after));
    }
    Ok(())
}

/// How many operations were completed, and in what time.
struct Throughput {
    operations: usize,
    elapsed: Duration,
}

impl Throughput {
    fn per_second(&self) -> f64 {
        self.operations as f64 / self.elapsed.as_secs_f64()
    }
}

/// Runs a task for each caller that repeats `operation` for `span`; `operation` returns how many it completed.
async fn drive<C, O, F>(callers: Vec<C>, span: Duration, operation: O) -> Result<Throughput>
where
    C: Clone + Send + 'static,
    O: Fn(C) -> F + Clone + Send + 'static,
    F: Future<Output = Result<usize>> + Send,
{
    let start = Instant::now();
    let mut tasks = JoinSet::new();
    for caller in callers {
        let operation = operation.clone();
        tasks.spawn(async move {
            let mut operations = 0;
            while start.elapsed() < span {
                operations += operation(caller.clone()).await?;
            }
            anyhow::Ok(operations)
        });
    }
    let mut operations = 0;
    for completed in tasks.join_all().await {
        operations += completed?;
    }
    Ok(Throughput { operations, elapsed: start.elapsed() })
}
