//! `tenure bench`: load on a server, or on a server and a store of its own. Everything that is compared is measured in
//! one run on one machine: the disk alone, the runtime without HTTP, the server that answers nothing but `/healthz`.

mod disk;
mod embedded;
mod engines;
mod load;
mod own_server;
mod pages;
mod report;

use std::time::Duration;

use anyhow::{Context as _, Result};

use crate::args::{Bench, Form, Server};
use crate::output::Exit;
use load::Load;
use own_server::OwnServer;
use report::Report;

pub(crate) fn run(bench: &Bench, form: Form, server: &Server) -> Result<Exit> {
    // The load takes half of the machine, and leaves the other half to the server.
    let half = std::thread::available_parallelism().map_or(1, |cores| cores.get().div_ceil(2));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(half).enable_all().build()?;
    let report = runtime.block_on(measure(bench, server))?;
    report.print(form)?;
    Ok(Exit::Done)
}

async fn measure(bench: &Bench, server: &Server) -> Result<Report> {
    let span = Duration::from_secs(bench.seconds);
    let mut report = Report::default();
    if !bench.running {
        let folder = tempfile::tempdir().context("no room for a store")?;
        if bench.pages > 0 {
            report.pages = Some((bench.pages, pages::with_jobs(bench.pages, folder.path()).await?));
            return Ok(report);
        }
        report.disk = Some(disk::syncs_per_second(folder.path(), span.min(Duration::from_secs(2)))?);
        let embedded = embedded::Embedded::open(&folder.path().join("embedded")).await?;
        report.embedded = Some(embedded.singles(bench.callers, span).await?);
        report.embedded_batches = Some(embedded.batches(bench.batch_callers, bench.batch, span).await?);
        embedded.close().await;
        let own = OwnServer::start(&folder.path().join("served")).await?;
        let load = Load::on(own.url(), None);
        against(bench, &load, &mut report, Some(own.pid())).await?;
        own.stop().await?;
        return Ok(report);
    }
    let load = Load::on(&server.server, server.key.as_deref());
    against(bench, &load, &mut report, None).await?;
    Ok(report)
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
