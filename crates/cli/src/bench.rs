//! `tenure bench`: load on a server, or on a server and a store of its own. Everything that is compared is measured in
//! one run on one machine: the disk alone, the runtime without HTTP, the server that answers nothing but `/healthz`.

mod disk;
mod embedded;
mod engines;
mod halves;
mod load;
mod own_server;
mod pages;
mod report;

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result};

use crate::args::{Bench, Form, Server};
use crate::output::Exit;
use embedded::Embedded;
use halves::Halves;
use load::Load;
use own_server::OwnServer;
use report::Report;

pub(crate) fn run(bench: &Bench, form: Form, server: &Server) -> Result<Exit> {
    let folder = tempfile::tempdir().context("no room for a store")?;
    let report = if bench.running {
        let load = Load::on(&server.server, server.key.as_deref());
        let mut report = Report::default();
        threads(half())?.block_on(against(bench, &load, &mut report, None))?;
        report
    } else if bench.pages > 0 {
        let taken = threads(half())?.block_on(pages::with_jobs(bench.pages, folder.path()))?;
        Report { pages: Some((bench.pages, taken)), ..Report::default() }
    } else {
        let mut report = threads(half())?.block_on(alone(bench, folder.path()))?;
        let halves = Halves::of_machine()?;
        halves.take_load()?;
        threads(halves.load_threads())?.block_on(served(bench, folder.path(), &halves, &mut report))?;
        report
    };
    report.print(form)?;
    Ok(Exit::Done)
}

fn threads(count: usize) -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread().worker_threads(count).enable_all().build()
}

fn half() -> usize {
    std::thread::available_parallelism().map_or(1, |cores| cores.get().div_ceil(2))
}

/// What needs no server: the disk, and the runtime.
async fn alone(bench: &Bench, folder: &Path) -> Result<Report> {
    let span = Duration::from_secs(bench.seconds);
    let disk = disk::syncs_per_second(folder, span.min(Duration::from_secs(2)))?;
    let embedded = Embedded::open(&folder.join("embedded")).await?;
    let singles = embedded.singles(bench.callers, span).await?;
    let batches = embedded.batches(bench.batch_callers, bench.batch, span).await?;
    embedded.close().await;
    let (embedded, embedded_batches) = (Some(singles), Some(batches));
    Ok(Report { disk: Some(disk), embedded, embedded_batches, ..Report::default() })
}

/// Everything that needs a server, on one of its own.
async fn served(bench: &Bench, folder: &Path, halves: &Halves, report: &mut Report) -> Result<()> {
    let own = OwnServer::start(&folder.join("served"), Some(halves)).await?;
    let load = Load::on(own.url(), None);
    against(bench, &load, report, Some(own.pid())).await?;
    own.stop().await
}

/// Everything that needs a server.
async fn against(bench: &Bench, load: &Load, report: &mut Report, pid: Option<u32>) -> Result<()> {
    let span = Duration::from_secs(bench.seconds);
    report.healthz = Some(load.healthz(bench.callers, span).await?);
    report.singles = Some(load.singles(bench.callers, span).await?);
    report.batches = Some(load.batches(bench.batch_callers, bench.batch, span).await?);
    report.latency = Some(load.latency(bench.samples).await?);
    if bench.engines > 0 {
        report.engines = Some((bench.engines, load.engines(bench.engines, span).await?));
    }
    if bench.idle > 0 {
        let before = pid.map(own_server::resident_bytes).transpose()?;
        let crowd = load.crowd(bench.idle).await?;
        report.idle = Some((bench.idle, load.singles(bench.callers, span).await?));
        let after = pid.map(own_server::resident_bytes).transpose()?;
        report.idle_bytes = before.zip(after).map(|(before, after)| after.saturating_sub(before));
        drop(crowd);
    }
    if bench.dashboards > 0 {
        // Measured around the dashboards, so that what the store has got by then counts for both.
        let before = load.singles(bench.callers, span).await?;
        let crowd = pages::open(&load.url, bench.dashboards).await?;
        let beside = load.singles(bench.callers, span).await?;
        drop(crowd);
        let after = load.singles(bench.callers, span).await?;
        report.dashboards = Some((bench.dashboards, beside, f64::midpoint(before, after)));
    }
    Ok(())
}
